"""Checks: a fit that fails, in whatever way, leaves the estimator as it was."""

import contextlib
import inspect
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import defrag
from tests.contract.subject import TextSubject, answer_bits, file_bytes, small_data
from tests.helpers.bits import bits
from tests.helpers.processes import run_in_child

SOURCES = str(Path(defrag.__file__).parent)


class Remembered:
    """A fitted estimator as it is now, to be compared with what it is later."""

    def __init__(self, model, folder):
        self.model, self.folder = model, folder
        self.state = self.look()

    def look(self):
        answers = answer_bits(self.model)  # first: they may fill what is kept for the next ones
        found = answers, file_bytes(self.model, self.folder)
        if not hasattr(self.model, "n_features_in_"):  # texts: the file holds all there is
            return found
        visible = {name: one for name, one in vars(self.model).items() if not name.startswith("_")}
        return *found, bits(visible), self.model.n_features_in_

    def check(self, what):
        assert self.look() == self.state, f"{what} changed the estimator"
        narrow = small_data()[0][:, :8]
        for ask in ("predict_topk", "predict", "decision_function", "transform"):
            if hasattr(self.model, ask) and hasattr(self.model, "n_features_in_"):
                with pytest.raises(ValueError, match="features"):
                    getattr(self.model, ask)(narrow)


def refused_data(subject):
    """Yield training data that fit refuses, narrower than what the model was fitted on."""
    if isinstance(subject, TextSubject):
        for texts in ("text", [3], ["\ud800"], [], [""]):
            yield repr(texts), texts, [["x"]] * len(texts)
        return
    X, Y = small_data()
    narrow = X[:, :8]
    broken = narrow.copy()
    broken.data = broken.data.copy()
    broken.data[0] = np.nan
    yield "NaN", broken, Y
    yield "one dimension", np.ones(8), Y
    yield "no points", narrow[:0], Y[:0]
    if subject.classifies:
        yield "labels one row short", narrow, Y[:-1]
        yield "no labels at all", narrow, None
        yield "no label for any point", narrow, sparse.csr_array(Y.shape, dtype=np.float32)
        yield "labels that are no labels", narrow, Y * 2.0


def a_refused_refit_changes_nothing(subject, folder):
    model = subject.fitted()
    before = Remembered(model, folder)
    for name, X, Y in refused_data(subject):
        with pytest.raises(ValueError, match=r"^\S.*"):
            model.fit(X, Y)
        before.check(name)
    model.set_params(n_jobs="many")
    with pytest.raises(ValueError, match="n_jobs"):
        model.fit(*subject.other)
    model.set_params(n_jobs=1)
    before.check("a bad parameter")


@contextlib.contextmanager
def failing_at(n_calls, error):
    """Raise an error at the n-th call of a function of the package, or after one in C."""
    seen = 0

    def watch(frame, event, _argument):
        nonlocal seen
        code = frame.f_code
        # An error in a generator that is being closed would be lost.
        if code.co_flags & inspect.CO_GENERATOR or not code.co_filename.startswith(SOURCES):
            return
        if event in {"call", "c_return"}:
            seen += 1
            if seen == n_calls:
                raise error

    sys.setprofile(watch)
    try:
        yield lambda: seen
    finally:
        sys.setprofile(None)


def a_refit_that_fails_midway_changes_nothing(subject, folder):
    model = subject.fitted()
    before = Remembered(model, folder)
    learner = subject.fitted()
    with failing_at(0, KeyboardInterrupt) as n_seen:
        learner.fit(*subject.other)
    total = n_seen()
    assert total > 10
    moments = sorted({*np.linspace(1, total - 2, 10).astype(int), 2, total - 3, total - 4})
    for moment in moments:
        error = (KeyboardInterrupt, MemoryError)[moment % 2]
        with failing_at(moment, error), pytest.raises(error):
            model.fit(*subject.other)
        before.check(f"{error.__name__} at call {moment} of {total}")


def an_interrupt_changes_nothing(subject, folder):
    """Check a SIGINT that comes while kernels run, and how soon it is answered."""
    subject.large(1)  # once for all children
    run_in_child(_interrupt, subject, folder)


def _interrupt(step, subject, folder):
    before = Remembered(subject.fitted(), folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    seconds = 0.3
    for n_points in (1_000, 10_000, 100_000, 100_000, 100_000, 100_000):
        step(f"{n_points} points, after {seconds} s")
        X, Y = subject.large(n_points)
        sent, done, finished = [], False, threading.Event()
        before.model = subject.fitted()
        arguments = (seconds, sent, finished)
        interrupter = threading.Thread(target=_interrupt_after, args=arguments, daemon=True)
        start = time.process_time()
        interrupter.start()
        try:
            before.model.fit(X, Y)
            done = True  # before the interrupt
            finished.set()
            interrupter.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            took = time.process_time() - sent[0]
        if not done:
            before.check("an interrupt")
            # Half a second of the processor is the promise; on a busy machine, whose caches others
            # fill, the same work takes twice as long.
            assert took < 1.0, took
            return
        if n_points == 100_000:  # no more points: sooner
            seconds = min(seconds, time.process_time() - start) / 2
    raise AssertionError("every fit was done before it could be interrupted")


def _interrupt_after(seconds, sent, finished):
    """Send a SIGINT once the process has worked for a while, unless it has finished."""
    end, latest = time.process_time() + seconds, time.monotonic() + 10.0
    while time.process_time() < end and time.monotonic() < latest:
        if finished.wait(min(0.01, seconds / 10)):
            return
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
