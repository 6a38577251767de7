"""Let every allocation of native kernels fail: ``python -m tests.helpers.failing_allocations``.

A process of its own, into which ``tests/cpp/preload/failing_new.cpp`` is preloaded. All
estimators are fitted on a few points while calls of kernels are recorded; each call is then
repeated with its first allocation failing, its second, and so on until none fails. Prints the
number of failures of each kernel as JSON.
"""

import ctypes
import functools
import json
import sys
import tempfile
import warnings
from inspect import isclass
from pathlib import Path

import numpy as np

from defrag import Defrag, Fiat, LabelTree, Refrag, TextClassifier, _core, _native, load
from defrag.baselines import ProXML
from defrag.io import read_xmc, write_xmc
from tests.contract.subject import answers, small_data, subjects
from tests.helpers.bits import bits

CALLS_PER_KERNEL = 2
MOST_ALLOCATIONS = 20_000
TEXTS = ["a red fox", "a blue fox", "a red hen", "a blue hen"]


def failing(allocator, call):
    """Repeat a call until no allocation fails; return how many did."""
    expected = bits(call())
    for n in range(MOST_ALLOCATIONS):
        allocator.fail_after(n)
        try:
            found = call()
        except BaseException as error:  # noqa: BLE001 - looked at below
            found = error
        n_failed = allocator.stop_failing()
        if type(found) is not MemoryError:
            assert bits(found) == expected, f"{found!r} after failure {n}"
        if not n_failed:
            assert type(found) is not MemoryError
            return n
    raise AssertionError("the allocations do not end")


def record(calls):
    """Replace the functions of the native module by ones that remember their arguments."""
    for name in dir(_core):
        kernel = getattr(_core, name)
        if name.startswith("_") or isclass(kernel):
            continue

        def remember(*arguments, name=name, kernel=kernel, **options):
            known = calls.setdefault(name, [])
            if len(known) < CALLS_PER_KERNEL:
                several = {"n_threads": 3} if "n_threads" in options else {}
                known.append(functools.partial(kernel, *arguments, **{**options, **several}))
            return kernel(*arguments, **options)

        for module in (_core, _native):
            if getattr(module, name, None) is kernel:
                setattr(module, name, remember)
        for function in vars(_native).values():  # those that give results names hold the kernel
            for cell in getattr(function, "__closure__", None) or ():
                if cell.cell_contents is kernel:
                    cell.cell_contents = remember


def call_all(folder):
    """Train and ask every estimator, so that every kernel is called; yield other calls."""
    X, Y = small_data()
    for subject in subjects():
        answers(subject.fit(), X[:6])
    Refrag(LabelTree(), gamma=4.0, propensity_weight=0.0, widen=3, random_state=0).fit(X, Y)
    Fiat(agglomeration=Defrag(), random_state=0).fit(X, Y).transform(X[:6])
    model = TextClassifier(random_state=0).fit(TEXTS * 3, [["fox"], ["fox"], ["hen"], ["hen"]] * 3)
    model.predict_topk(["a red hen"])
    model.vectorizer_.spans("a red hen")
    tree = LabelTree(random_state=0).fit(X, Y)
    tree.predict_topk(X[np.arange(65) % X.shape[0]])  # few rows are searched by TreeSearch
    tree.explain(X[[0]], 0)
    member = tree.trees_[0]
    weights = member.weights
    _native.label_paths(member.tree, weights, member.tree.begin[:1], np.arange(3, dtype=np.int32))
    sizes = np.diff(weights.entry_ptr).astype(np.uint16)
    _native.inspect_entries(weights.feature_ptr, np.diff(weights.bias_ptr), sizes, weights.outputs)
    ProXML(solution="minimum", random_state=0).fit(X, Y)
    _native.parse_values(b"1 2.5 -3")
    _native.join_columns([X, X], n_threads=1)
    side = np.arange(X.shape[0], dtype=np.uint8) % 2
    _core.label_sides(Y, np.ones(Y.shape[1], np.float32), key=1, normalized=True)
    _core.label_clusters(Y, key=1, n_clusters=3, n_buckets=50, max_rounds=3)
    _core.sparse_logistic(X, side, positive_cost=1.0,
                          negative_cost=1.0, bias=1.0, max_rounds=9, tolerance=0.1)  # fmt: skip
    path = folder / "some.txt"
    tree.save(path, weights="int4")
    load(path)
    write_xmc(path, X, Y)
    yield "TextParser", lambda: read_xmc(path)
    yield "FeatureIndex", lambda: bool(_native.FeatureIndex(weights))
    options = {"discount": 0.5, "leaf_discount": 0.5, "power": 2, "n_threads": 1}
    yield "TreeSearch", lambda: member.search_few(X, loss=tree._loss(), beam_size=3, k=4, **options)
    yield "TextFeatures", model.vectorizer_._prepare
    yield "TextFeatures.count", lambda: model.vectorizer_.transform(TEXTS)


def main():
    warnings.simplefilter("ignore")
    allocator = ctypes.CDLL(None)
    allocator.stop_failing.restype = ctypes.c_int64
    allocator.fail_after.argtypes = [ctypes.c_int64]
    # The growth of nanobind's table of objects is no allocation of a kernel, and ends the process.
    del [_core.StringList([]) for _ in range(10_000)][:]
    calls = {}
    record(calls)
    with tempfile.TemporaryDirectory() as folder:
        for name, call in call_all(Path(folder)):
            calls[name] = [call]
        counts = {}
        for name, known in sorted(calls.items()):
            sys.stderr.write(f"{name}\n")
            counts[name] = sum(failing(allocator, call) for call in known)
    json.dump(counts, sys.stdout)


if __name__ == "__main__":
    main()
