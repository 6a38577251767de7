"""Kernels give the same bits with any threads and instructions, for rows alone, by an index."""

import functools

import numpy as np
import pytest
from scipy import sparse

from defrag import _native
from defrag._native import (
    CraftmlOptions,
    FastxmlOptions,
    Instructions,
    Loss,
    PpdSparseOptions,
    SolverOptions,
)
from tests.data import make_data, random_problem, trained_tree, unit_items
from tests.helpers.bits import bits
from tests.oracles.label_trees import flat_tree


def search_of(kernel, loss):
    tree, weights, X = trained_tree(2, n_labels=60, loss=loss, n_rows=2000)
    return functools.partial(kernel, tree, weights, X, loss=Loss[loss])


def learner(train, options, seed, **shape):
    X, Y = random_problem(seed, **shape)
    positives = sparse.csr_array(Y.T)
    return lambda *, n_threads=1, **chosen: train(
        X, positives, options.replace(**chosen), n_threads=n_threads
    )


def solver(loss):
    options = SolverOptions(loss=Loss[loss], threshold=0.01, cost=2.0)
    shape = {"n_rows": 300, "n_features": 80, "n_labels": 100, "per_row": 5}
    return learner(_native.solve_blocks, options, 5, **shape)


def ppd_sparse():
    options = PpdSparseOptions(seed=3)
    return learner(_native.train_ppd_sparse, options, 7, n_rows=200, n_labels=40, per_row=3)


def label_tree():
    X, Y = random_problem(6, n_rows=200, n_labels=120)
    tree = flat_tree([list(range(i, i + 3)) for i in range(0, 120, 3)])  # a root of three blocks
    arguments = X, sparse.csr_array(Y.T), tree, SolverOptions(threshold=0.01)
    return functools.partial(_native.train_label_tree, *arguments)


def forest(train, options):
    X, Y = make_data(seed=2)
    kept = np.diff(Y.indptr) > 0
    weights, keys = np.ones(Y.shape[1], dtype=np.float32), np.array([3, 5, 7], dtype=np.uint64)
    rows = _native.scale_rows(X[kept], n_threads=1)
    return functools.partial(train, rows, Y[kept], weights, keys, options)


def kmeans(**options):
    items = unit_items(7, n=1000, n_coords=60)
    return functools.partial(_native.spherical_kmeans, items, n_clusters=70, seed=1, **options)


INSTRUCTED = {
    "beam search": lambda: search_of(_native.beam_search, "squared_hinge"),
    "best first": lambda: search_of(_native.best_first_search, "logistic"),
    "solver of hinges": lambda: solver("squared_hinge"),
    "solver of logistic losses": lambda: solver("logistic"),
    "PPDSparse": ppd_sparse,
    "k-means": kmeans,
}
KERNELS = INSTRUCTED | {
    "k-means in parts": lambda: kmeans(panel_bytes=1),
    "label tree": label_tree,
    "FastXML": lambda: forest(_native.train_fastxml, FastxmlOptions(cost=3.0)),
    "CRAFTML": lambda: forest(
        _native.train_craftml, CraftmlOptions(n_clusters=4, n_buckets=50, kept_share=0.5)
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_threads_give_the_same_bits(name):
    run = KERNELS[name]()
    wanted = bits(run(n_threads=1))
    for n_threads in (2, 3, 8):
        assert bits(run(n_threads=n_threads)) == wanted, n_threads


@pytest.mark.parametrize("name", INSTRUCTED)
@pytest.mark.parametrize("instructions", list(Instructions)[1:])
def test_instruction_sets_give_the_same_bits(name, instructions):
    run = INSTRUCTED[name]()
    assert _native.can_run(Instructions.baseline)
    assert _native.can_run(Instructions.best)
    if not _native.can_run(instructions):
        with pytest.raises(ValueError, match="instructions"):
            run(instructions=instructions)
        return
    for n_threads in (1, 3):
        assert bits(run(instructions=instructions, n_threads=n_threads)) == bits(run())


@pytest.mark.parametrize("kernel", [_native.beam_search, _native.best_first_search])
@pytest.mark.parametrize(("seed", "loss"), [(1, "squared_hinge"), (2, "logistic"), (3, "logistic")])
def test_rows_alone_and_by_index_give_the_same_bits(kernel, seed, loss):
    tree, weights, X = trained_tree(seed, n_labels=60, loss=loss, n_rows=300)
    index = _native.FeatureIndex(weights)
    labels, scores = kernel(tree, weights, X)
    for rows in (*([row] for row in range(0, 300, 10)), list(range(5)), list(range(300))):
        wanted = bits((labels[rows], scores[rows]))
        assert bits(kernel(tree, weights, X[rows])) == wanted
        assert bits(kernel(tree, weights, X[rows], index=index)) == wanted
