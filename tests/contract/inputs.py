"""Checks: the same points in any form, and unusual sizes."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from defrag._parameters import rules_of
from tests.contract.subject import answer_bits, answers, check_answers, small_data
from tests.helpers.bits import bits


def wide_indices(X):
    """Return the same matrix with indices of 64 bits."""
    wide = sparse.csr_array(X.copy())
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide


def unsorted(X):
    """Return the same matrix with falling columns, and an explicit zero in every row."""
    data, indices = [], []
    for row in X:
        free = np.setdiff1d(np.arange(X.shape[1]), row.indices)[:1]
        data.append([*row.data[::-1], 0.0])
        indices.append([*row.indices[::-1], *free])
    indptr = np.cumsum([0, *map(len, indices)])
    return sparse.csr_array(
        (np.float32(np.concatenate(data)), np.int32(np.concatenate(indices)), indptr), X.shape
    )


def locked(array):
    array.flags.writeable = False
    return array


def read_only(X):
    """Return the same matrix on arrays that may not be written."""
    parts = (locked(part.copy()) for part in (X.data, X.indices, X.indptr))
    return sparse.csr_array(tuple(parts), shape=X.shape)


FORMS = {
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "lil_array": sparse.lil_array,
    "indices of 64 bits": wide_indices,
    "unsorted, with zeros": unsorted,
    "read-only": read_only,
    "double precision": lambda X: X.astype(np.float64),
}
DENSE_FORMS = {
    "dense": lambda X: X.toarray(),
    "dense by columns": lambda X: np.asfortranarray(X.toarray()),
    "dense, every second": lambda X: np.repeat(X.toarray(), 2, axis=1)[:, ::2],
    "dense, read-only": lambda X: locked(X.toarray()),
    "lists": lambda X: X.toarray().tolist(),
}


def parts(matrix):
    """Return what of a matrix must stay as it was."""
    return bits(vars(matrix)) if sparse.issparse(matrix) else bits(matrix)


def every_form_of_points_gives_the_same_answers(subject, _folder):
    X = small_data()[0][:20]
    model = subject.fitted()
    wanted = answer_bits(model)
    dense_wanted = answer_bits(model, X.toarray())
    for name, convert in {**FORMS, **DENSE_FORMS}.items():
        given = convert(X)
        before = parts(given)
        found = answer_bits(model, given)
        if sparse.issparse(given) and "transformed" in found:
            found["transformed"] = (wanted["transformed"][0], *found["transformed"][1:])
        assert found == (wanted if sparse.issparse(given) else dense_wanted), name
        assert parts(given) == before, f"{name} was changed"


def every_form_of_training_data_gives_the_same_model(subject, _folder):
    X, Y = small_data()
    wanted = answer_bits(subject.fitted())
    for name, convert in {**FORMS, "dense, read-only": DENSE_FORMS["dense, read-only"]}.items():
        given = convert(X), Y if name.startswith("dense") else convert(Y)
        before = [parts(one) for one in given]
        assert answer_bits(subject.fit(*given)) == wanted, name
        assert [parts(one) for one in given] == before, f"{name} was changed"
    lists = [row.indices.tolist() for row in Y]
    lists[0] = sorted({*lists[0], Y.shape[1] - 1})  # or the last label would not be known
    full = Y.tolil()
    full[0, Y.shape[1] - 1] = 1.0
    assert answer_bits(subject.fit(X, lists)) == answer_bits(subject.fit(X, full.tocsr()))
    if subject.classifies:
        dense = subject.fit(X, Y.toarray())
        assert isinstance(dense.predict(X), np.ndarray)
        assert isinstance(dense.decision_function(X), np.ndarray)
        assert bits(dense.predict_topk(X)) == bits(subject.fitted().predict_topk(X))


def empty_rows_have_finite_answers(subject, _folder):
    X, Y = small_data()
    model = subject.fitted()
    check_answers(model, sparse.csr_array((3, X.shape[1]), dtype=np.float32))
    kept = np.repeat([1.0, 0.0], 32)[:, None]
    sparser = sparse.csr_array(X.multiply(kept).astype(np.float32))
    check_answers(subject.fit(sparser, Y), sparser)


def unusual_sizes_are_learnt_or_refused(subject, _folder):
    shapes = ((1, 31, 14), (64, 1, 14), (2, 2, 1), (64, 31, 1), (1, 1, 1))
    for n_points, n_features, n_labels in shapes:
        draw = np.random.default_rng(n_points)
        X = sparse.csr_array(draw.random((n_points, n_features), dtype=np.float32))
        Y = sparse.csr_array(np.ones((n_points, n_labels), dtype=np.float32))
        try:
            model = subject.fit(X, Y)
        except ValueError as error:
            message = str(error)
            assert message
            assert "\n" not in message
        else:
            check_answers(model, X)


def bad_parameters_are_refused_by_name(subject, _folder):
    X, Y = small_data()
    model = subject.new()
    name_of_class, rules = type(model).__name__, rules_of(type(model))
    cases = [
        (name, value, f"{name} of {name_of_class} must be {rule.describe()}, got")
        for name, rule in rules.items()
        for value in (-7, "no such word", 2.5, float("nan"), object())
        if not rule.accepts(value)
    ]
    assert {name for name, *_ in cases} == {*rules}
    cases.append(("random_state", -5, "random_state must be in"))
    parts = model.get_params(deep=False).keys() & {"base", "focus", "imputation"}
    cases += [(name, 3, f"{name} of {name_of_class} must be a") for name in parts]
    wanted = answer_bits(subject.fitted())
    for name, value, message in cases:
        model = subject.new(**{name: value})
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            model.fit(X, Y)
        with pytest.raises(NotFittedError, match=name_of_class):
            answers(model)
        refusal, model = "", subject.fitted().set_params(**{name: value})
        try:
            found = answer_bits(model)
        except ValueError as error:
            refusal = str(error)
        # Answers read a parameter and refuse it, or do not read it.
        assert refusal.startswith(f"{name} ") or (not refusal and found == wanted), refusal
