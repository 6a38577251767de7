"""Checks: threads that answer while another one fits."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from defrag import load
from tests.helpers.bits import bits
from tests.helpers.processes import run_in_child

SECONDS = 0.5
N_THREADS = 4


def sixteen_threads_answer_as_one_does(subject, folder):
    """Check that threads that share a mapped model, and switch all the time, get the same bits."""
    X = subject.data[0]
    subject.fitted().save(folder / "model")
    model, parts = load(folder / "model"), [X[:1], X[5:25], X]
    model.set_params(n_jobs=2)
    wanted = [_ask(subject.fitted(), part) for part in parts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda i: _ask(model, parts[i % 3]), range(48)))
    finally:
        sys.setswitchinterval(interval)
    assert found == wanted * 16


def refitting_while_others_answer(subject, _folder):
    """Check that an answer is of the old or of the new model, or a refusal of the width."""
    run_in_child(_refit_while_answering, subject)


def _refit_while_answering(step, subject):
    wide, narrow = subject.data, subject.other
    model = subject.fit(*wide)
    rows = [data[0][:20] for data in (wide, narrow)]
    models = [subject.fit(*data) for data in (wide, narrow)]
    wanted = [[_ask(one, asked) for one in models] for asked in rows]
    end = time.monotonic() + SECONDS
    failures, n_answers = [], [0] * N_THREADS

    def ask_all_the_time(number):
        while time.monotonic() < end:
            found = _ask(model, rows[number % 2])
            if isinstance(found, ValueError) and "features" in str(found):
                continue
            if found in wanted[number % 2]:
                n_answers[number] += 1
            else:
                failures.append(found)

    step("answering")
    threads = [threading.Thread(target=ask_all_the_time, args=(i,)) for i in range(N_THREADS)]
    for thread in threads:
        thread.start()
    n_fits = 0
    while time.monotonic() < end or n_fits < 4:
        model.fit(*(narrow, wide)[n_fits % 2])
        n_fits += 1
    for thread in threads:
        thread.join()
    assert not failures, repr(failures[0])[:2000]
    assert sum(n_answers) > 0


def _ask(model, X):
    """Return the bits of an answer, which is of one model, or the error in its place."""
    try:
        found = model.predict_topk(X, k=4) if hasattr(model, "predict_topk") else model.transform(X)
    except Exception as error:  # noqa: BLE001 - judged by the caller
        return error
    return bits(found)
