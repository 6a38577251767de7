"""Random data and models that several tests share."""

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._native import LabelTreeWeights, Loss, SolverOptions
from defrag._validation import canonical_csr
from defrag.io import read_points
from defrag.io.files import open_input
from defrag.io.npz import parse_npz
from defrag.io.predictions import parse_predictions
from tests.oracles.label_trees import flat_tree, random_tree


def read_data(path, **how):
    """Return points and labels of a file of any format."""
    points = read_points(path, **how)
    return points.X, points.Y


def read_npz(path, limits=None):
    with open_input(path, limits) as stream:
        return parse_npz(stream)


def read_predictions(path, limits=None, **how):
    with open_input(path, limits) as stream:
        return parse_predictions(stream, **how)


def make_data(n=240, d=90, n_labels=40, seed=0):
    """Make points that share words with their labels; some of all kinds are empty."""
    rng = np.random.default_rng(seed)
    owner = rng.integers(0, n_labels - 3, d)
    Y = (rng.random((n, n_labels)) < 0.06).astype(np.float32)
    Y[:, -3:] = 0.0
    Y[::17] = 0.0
    X = (Y[:, owner] * (rng.random((n, d)) < 0.6) + (rng.random((n, d)) < 0.03)).astype(np.float32)
    X *= rng.random((n, d)).astype(np.float32) + 0.2
    X[::23] = 0.0
    return sparse.csr_array(X), sparse.csr_array(Y)


def random_csr(n_rows, n_cols, *, density, seed=0):
    """Return a canonical matrix of random entries in (0, 1)."""
    draw = np.random.default_rng(seed)
    rows = sparse.random_array((n_rows, n_cols), density=density, rng=draw, format="csr")
    return canonical_csr(rows, name="X")


def random_problem(seed, *, n_rows=80, n_features=30, n_labels=12, per_row=2):
    draw = np.random.default_rng(seed)
    X = draw.random((n_rows, n_features)) * (draw.random((n_rows, n_features)) < 0.3)
    Y = np.zeros((n_rows, n_labels), dtype=np.float32)
    for row in range(n_rows):
        n_own = draw.integers(0, min(per_row, n_labels) + 1)
        Y[row, draw.choice(n_labels, n_own, replace=False)] = 1.0
    return canonical_csr(X.astype(np.float32), name="X"), canonical_csr(Y, name="Y")


def unit_items(seed, *, n=60, n_coords=25, density=0.3, signed=False):
    draw = np.random.default_rng(seed)
    items = draw.random((n, n_coords)) - (0.5 if signed else 0.0)
    items *= draw.random((n, n_coords)) < density
    lengths = np.linalg.norm(items, axis=1, keepdims=True)
    items = items / np.where(lengths > 0, lengths, 1.0)
    return canonical_csr(items.astype(np.float32), name="items")


def trained_tree(seed, *, n_labels=30, loss="squared_hinge", **shape):
    X, Y = random_problem(seed, n_labels=n_labels, per_row=3, **shape)
    draw = np.random.default_rng(seed)
    tree = flat_tree(random_tree(draw.permutation(n_labels), draw))
    options = SolverOptions(threshold=0.05, loss=Loss[loss])
    return tree, _native.train_label_tree(X, sparse.csr_array(Y.T), tree, options, n_threads=1), X


def zero_weights(tree, bias):
    n = len(tree.n_children)
    outputs = [c or e - b for c, b, e in zip(tree.n_children, tree.begin, tree.end, strict=True)]
    return LabelTreeWeights(
        feature_ptr=np.zeros(n + 1, dtype=np.int64),
        features=np.zeros(0, dtype=np.int32),
        entry_ptr=np.zeros(1, dtype=np.int64),
        outputs=np.zeros(0, dtype=np.uint16),
        weights=np.zeros(0, dtype=np.float32),
        bias_ptr=np.append(0, np.cumsum(outputs)).astype(np.int64),
        bias=np.full(sum(outputs), bias, dtype=np.float32),
    )
