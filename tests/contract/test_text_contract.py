"""What every estimator that takes texts does."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from defrag import load
from tests.contract.refits import failing_at
from tests.contract.subject import file_bytes
from tests.contract.text_subject import (
    OTHER,
    STRANGE,
    answer_bits,
    answers,
    ask,
    small_corpus,
    text_subjects,
)
from tests.helpers.bits import bits
from tests.helpers.processes import run_in_child

EVERY = pytest.mark.parametrize("subject", text_subjects(), ids=str)


def state(model, folder):
    """Return all that can be seen of a fitted model."""
    return answer_bits(model), file_bytes(model, folder)


@EVERY
def test_same_bits_for_any_number_of_threads(subject, tmp_path):
    texts, labels = small_corpus()
    many = texts * 30, labels * 30  # more than one block of texts
    wanted = state(subject.fit(many), tmp_path)
    for n_jobs in (2, 5, None, -1):
        model = subject.fit(many, n_jobs=n_jobs)
        assert state(model, tmp_path) == wanted, n_jobs
        assert answer_bits(model.set_params(n_jobs=3)) == wanted[0]


@EVERY
def test_one_text_or_many(subject):
    model = subject.fitted()
    texts = small_corpus()[0]
    many = ask(model, texts * 3)
    for number, text in enumerate(texts):
        for alone, all_of_them in zip(ask(model, [text]), many, strict=True):
            assert bits(alone) == bits(all_of_them[[number]])


@EVERY
def test_copies_answer_with_the_same_bits(subject, tmp_path):
    model = subject.fitted()
    wanted = state(model, tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(wanted[1])
    pickled = pickle.loads(pickle.dumps(model))  # noqa: S301 - made here
    loaded = [load(path, mmap=mmap) for mmap in (True, False)]
    for again in (pickled, copy.deepcopy(model), copy.copy(model), *loaded):
        assert type(again) is type(model)
        assert state(again, tmp_path) == wanted
    again = loaded[0].fit(*OTHER)  # a loaded model is an estimator like any other
    assert answer_bits(again) == answer_bits(subject.fit(OTHER))


@EVERY
def test_a_clone_is_unfitted_and_learns_the_same(subject, tmp_path):
    model = subject.fitted()
    again = clone(model)
    with pytest.raises(NotFittedError, match=type(model).__name__):
        answers(again)
    with pytest.raises(NotFittedError, match=type(model).__name__):
        again.save(tmp_path / "x")
    assert state(again.fit(*small_corpus()), tmp_path) == state(model, tmp_path)


@EVERY
def test_a_refit_forgets_the_first_fit(subject, tmp_path):
    model = subject.fitted()
    wanted = state(model, tmp_path)
    assert model.fit(*OTHER) is model
    assert answer_bits(model) == answer_bits(subject.fit(OTHER))
    assert state(model.fit(*small_corpus()), tmp_path) == wanted


@EVERY
def test_failed_refit_keeps_model(subject, tmp_path):
    model = subject.fitted()
    wanted = state(model, tmp_path)
    refused = [("text", ["x"]), ([3], [["x"]]), (["\ud800"], [["x"]]), ([], []), ([""], [["x"]])]
    for texts, labels in refused:
        with pytest.raises(ValueError, match="text"):
            model.fit(texts, labels)
        assert state(model, tmp_path) == wanted
    model.set_params(n_jobs="many")
    with pytest.raises(ValueError, match="n_jobs"):
        model.fit(*OTHER)
    model.set_params(n_jobs=1)
    assert state(model, tmp_path) == wanted
    learner = subject.fitted()
    with failing_at(0, KeyboardInterrupt) as n_seen:
        learner.fit(*OTHER)
    total = n_seen()
    assert total > 10
    for moment in sorted({*np.linspace(1, total - 2, 8).astype(int), 2, total - 3}):
        error = (KeyboardInterrupt, MemoryError)[moment % 2]
        with failing_at(moment, error), pytest.raises(error):
            model.fit(*OTHER)
        assert state(model, tmp_path) == wanted, (moment, total)


@EVERY
def test_unusual_texts_have_answers(subject):
    model = subject.fitted()
    found = answers(model, STRANGE)
    if subject.entry.role == "vectorizer":
        rows = found[0]
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
        np.testing.assert_allclose(lengths[np.diff(rows.indptr) > 0], 1.0, rtol=1e-5)
        assert not lengths[:2].any()
        return
    names, scores, _, _ = found
    assert np.isfinite(scores).all()
    assert (names[:2] == "").all()


@EVERY
def test_refitting_while_others_answer(subject):
    run_in_child(_refit_while_answering, subject)


def _refit_while_answering(step, subject):
    corpora = [small_corpus(), OTHER]
    texts = small_corpus()[0][:3] + OTHER[0][:1]
    wanted = [bits(ask(subject.fit(corpus), texts)) for corpus in corpora]
    assert wanted[0] != wanted[1]
    model = subject.fit()
    end = time.monotonic() + 0.5
    failures, n_answers = [], [0, 0, 0]

    def ask_all_the_time(number):
        while time.monotonic() < end:
            found = bits(ask(model, texts))
            if found in wanted:
                n_answers[number] += 1
            else:
                failures.append(found)

    step("answering")
    threads = [threading.Thread(target=ask_all_the_time, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    n_fits = 0
    while time.monotonic() < end or n_fits < 4:
        model.fit(*corpora[(n_fits + 1) % 2])
        n_fits += 1
    for thread in threads:
        thread.join()
    assert not failures, repr(failures[0])[:2000]
    assert sum(n_answers) > 0


@pytest.mark.slow
@EVERY
def test_interrupt_keeps_model(subject, tmp_path):
    run_in_child(_interrupt, subject, tmp_path)


def _interrupt(step, subject, folder):
    """Interrupt fits in the middle, of ever more texts, until one had begun and not ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = subject.fitted()
    wanted = state(model, folder)
    for n_times in (100, 1000, 10_000):
        step(f"{n_times} times")
        corpus = [part[:80] * n_times for part in small_corpus()]
        begin = time.monotonic()
        subject.fit(corpus)
        middle = (time.monotonic() - begin) / 2
        timer = threading.Timer(middle, os.kill, (os.getpid(), signal.SIGINT))
        ended = False
        try:
            timer.start()
            model.fit(*corpus)
            ended = True
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            if not ended:
                assert state(model, folder) == wanted
                return
        model = subject.fitted()
    raise AssertionError("no fit was interrupted")
