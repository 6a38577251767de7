"""What the solver and label tree benchmarks share: a parser, a simple tree, precision."""

from __future__ import annotations

import lzma
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag._native import LabelTreeArrays

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DEFRAG_DATA", ROOT.parent / "shared" / "data"))
LEAF_SIZE = 16
WIDE_ROOT = 256


def read(name: str, part: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Read one file of a data set; keeps no copy."""
    features: list[str] = []
    labels: list[str] = []
    with lzma.open(DATA / name / f"{part}.txt.xz", "rt") as file:
        n, d, n_labels = map(int, file.readline().split())
        for line in file:
            head, _, tail = line.rstrip("\n").partition(" ")
            labels.append(head)
            features.append(tail)
    sizes = np.array([tail.count(":") for tail in features])
    flat = np.array(" ".join(features).replace(":", " ").split(), dtype=np.float64)
    X = sparse.csr_array(
        (flat[1::2].astype(np.float32), flat[::2].astype(np.int32), np.append(0, sizes.cumsum())),
        shape=(n, d),
    )
    sizes = np.array([head.count(",") + 1 if head else 0 for head in labels])
    ids = np.array(",".join(head for head in labels if head).split(","), dtype=np.int32)
    Y = sparse.csr_array(
        (np.ones(len(ids), np.float32), ids, np.append(0, sizes.cumsum())), shape=(n, n_labels)
    )
    for matrix in (X, Y):
        matrix.sum_duplicates()
    return X, Y


def unit(X: sparse.csr_array) -> sparse.csr_array:
    """Scale rows to length one."""
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    scale = np.repeat(1.0 / np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
    result = X.copy()
    result.data = (X.data * scale).astype(np.float32)
    return result


def split(vectors: sparse.csr_array, n_left: int, draw: np.random.Generator) -> np.ndarray:
    """Cut vectors in two by balanced spherical 2-means; True is the left side."""
    n = vectors.shape[0]
    first, second = draw.choice(n, 2, replace=False)
    gap = (vectors[[first]] - vectors[[second]]).toarray()[0]
    before = -np.inf
    for _ in range(50):
        order = np.argsort(-(vectors @ gap), kind="stable")
        left = np.zeros(n, dtype=bool)
        left[order[:n_left]] = True
        centres = [np.asarray(vectors[side].sum(axis=0)).ravel() for side in (left, ~left)]
        norms = [np.linalg.norm(centre) for centre in centres]
        value = sum(norms) / n
        if value - before <= 1e-4:
            break
        before = value
        gap = centres[0] / max(norms[0], 1e-12) - centres[1] / max(norms[1], 1e-12)
    return left


def build_tree(X: sparse.csr_array, Y: sparse.csr_array, seed: int = 0) -> LabelTreeArrays:
    """Build leaves of at most 16 labels under 16-ary nodes and a root of up to 256 children."""
    draw = np.random.default_rng(seed)
    vectors = unit(sparse.csr_array(Y.T @ X).astype(np.float32))
    seen = np.flatnonzero(np.diff(sparse.csr_array(Y.T).indptr))
    leaves: list[np.ndarray] = []

    def divide(labels: np.ndarray, n_leaves: int) -> None:
        if n_leaves == 1:
            leaves.append(labels)
            return
        n_first = (n_leaves + 1) // 2
        left = split(vectors[labels], round(len(labels) * n_first / n_leaves), draw)
        divide(labels[left], n_first)
        divide(labels[~left], n_leaves - n_first)

    divide(seen, -(-len(seen) // LEAF_SIZE))
    return collapse(leaves)


def collapse(leaves: list[np.ndarray]) -> LabelTreeArrays:
    """Put consecutive leaves under 16-ary nodes, in breadth-first order."""
    bounds = np.append(0, np.cumsum([len(leaf) for leaf in leaves])).astype(np.int32)
    ranges = [(0, len(leaves))]
    first_child, n_children = [], []
    for first, last in ranges:  # grows while it is walked: that is breadth-first
        count = last - first
        arity = 0 if count == 1 else min(count, WIDE_ROOT if not first_child else 16)
        first_child.append(len(ranges) if arity else 0)
        n_children.append(arity)
        if arity:
            cuts = first + (np.arange(arity + 1) * count) // arity
            ranges += [(int(a), int(b)) for a, b in pairwise(cuts)]
    begin, end = (bounds[[r[i] for r in ranges]] for i in (0, 1))
    as_ids = [np.array(a, dtype=np.int32) for a in (first_child, n_children, begin, end)]
    return LabelTreeArrays(*as_ids, order=np.concatenate(leaves).astype(np.int32))


def precision(labels: np.ndarray, Y: sparse.csr_array) -> str:
    """Give P@1/3/5 of an array of ranked labels."""
    hits = np.zeros(labels.shape)
    for row in range(len(labels)):
        hits[row] = np.isin(labels[row], Y.indices[Y.indptr[row] : Y.indptr[row + 1]])
    return "/".join(f"{100 * hits[:, :k].mean():.2f}" for k in (1, 3, 5))
