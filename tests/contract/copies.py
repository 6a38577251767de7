"""Checks: the same bits again, from threads, files and copies."""

import copy
import pickle

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from defrag import load
from tests.contract.subject import answer_bits, answers, file_bytes
from tests.helpers.bits import bits


def check_threads(model, X, Y, folder, numbers=(1, 2, 3, 8)):
    """Fit with several numbers of threads: file and answers have the same bits. Return a model."""
    wanted = None
    for n_jobs in numbers:
        fitted = clone(model).set_params(n_jobs=n_jobs).fit(X, Y)
        found = file_bytes(fitted, folder), answer_bits(fitted, X)
        assert wanted is None or found == wanted, n_jobs
        wanted = found
        if hasattr(fitted, "_fitted_parts"):
            parts = fitted.set_params(n_jobs=2)._fitted_parts()
            assert all(part.n_jobs == 2 for part in parts)
    return fitted


def same_bits_for_any_number_of_threads(subject, folder):
    wanted, stored = answer_bits(subject.fitted()), file_bytes(subject.fitted(), folder)
    for n_jobs in (1, 2, 5, None, -1):
        model = subject.fit(n_jobs=n_jobs)
        assert answer_bits(model) == wanted, n_jobs
        assert file_bytes(model, folder) == stored, n_jobs
        assert answer_bits(model.set_params(n_jobs=3)) == wanted, n_jobs
    assert answer_bits(model.set_params(n_jobs=2**40)) == wanted


def a_loaded_model_answers_with_the_same_bits(subject, folder):
    model = subject.fitted()
    wanted, stored = answer_bits(model), file_bytes(model, folder)
    path = folder / "model.safetensors"
    path.write_bytes(stored)
    for mmap in (True, False):
        loaded = load(path, mmap=mmap)
        assert type(loaded) is type(model)
        assert answer_bits(loaded) == wanted
        assert file_bytes(loaded, folder) == stored
        assert vars(loaded).get("n_features_in_") == vars(model).get("n_features_in_")
        loaded.fit(*subject.data)  # a loaded model is an estimator like any other
        assert answer_bits(loaded) == wanted


def copies_answer_with_the_same_bits(subject, folder):
    model = subject.fitted()
    fresh = pickle.dumps(model)
    wanted, stored = answer_bits(model), file_bytes(model, folder)
    answers(model, subject.data[0][:1])
    assert pickle.dumps(model) == fresh  # an index that the first answers build is no part of it
    pickled = pickle.loads(fresh)  # noqa: S301 - made here
    for again in (pickled, copy.deepcopy(model), copy.copy(model)):
        assert answer_bits(again) == wanted
        assert file_bytes(again, folder) == stored
        assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def a_clone_is_unfitted_and_learns_the_same(subject, folder):
    model = subject.fitted()
    again = clone(model)
    assert bits(again.get_params()) == bits(model.get_params())
    with pytest.raises(NotFittedError, match=type(model).__name__):
        answers(again)
    with pytest.raises(NotFittedError, match=type(model).__name__):
        again.save(folder / "unfitted")
    again.fit(*subject.data)
    assert answer_bits(again) == answer_bits(model)


def fitting_twice_is_fitting_once(subject, folder):
    model = subject.fitted()
    wanted, stored = answer_bits(model), file_bytes(model, folder)
    X, Y = subject.other
    assert model.fit(X, Y) is model
    assert answer_bits(model, X[:12]) == answer_bits(subject.fit(X, Y), X[:12])
    model.fit(*subject.data)
    assert answer_bits(model) == wanted
    assert file_bytes(model, folder) == stored
