"""What training will cost, guessed from the size of the data before it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag import _native
from defrag.classifiers import PLT, Bonsai, DiSMEC, LabelTree, Parabel, PPDSparse, ProXML
from defrag.classifiers.label_trees._base import TreeClassifier
from defrag.classifiers.one_vs_rest._base import OneVsRest
from defrag.imputation import Imputed
from defrag.reranking import Refrag

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.typing import Csr

__all__ = ["Estimate", "estimate"]

# The rule is one number per method: the seconds of a step, which is a non-zero of a point that
# meets sixteen labels or children, over all passes of the solver. Fitted to parts of EURLex-4K
# (2,000 to 15,539 points) and of the bundled data (2,000 to 20,000), one machine, and within a
# factor of two on all of them; other data, machines and settings may differ by more.
_SECONDS_PER_STEP: dict[type[Any], float] = {
    LabelTree: 2.2e-8,
    Parabel: 1.4e-8,
    Bonsai: 2.7e-8,
    PLT: 3.5e-8,
    TreeClassifier: 2.5e-8,  # any other
    DiSMEC: 5.3e-9,
    PPDSparse: 6.5e-9,
    ProXML: 1.1e-8,
    OneVsRest: 6.5e-9,  # any other
}

_SECONDS_PER_POOLED = 8e-8
"""A non-zero that is put into groups, the finding of the groups included."""

_STEPS_PER_POINT = 40
"""What a point costs a one-vs-rest model on top of its non-zeros: it is far away in memory."""

_WEIGHTS_PER_NON_ZERO, _BYTES_PER_FLAT_WEIGHT = 9, 24
"""Weights of a label's flat classifier for each non-zero of an average point, and their bytes
while batches are joined."""

_BYTES_PER_NON_ZERO = 24
"""The points as they were read, their copy of length 1, and a node's share of them."""

_BYTES_PER_PATH, _BYTES_PER_PATH_AND_TREE = 8, 5
"""A non-zero of a point, for each label of the point: label vectors, and weights."""

_BYTES_OF_PROGRAM = 150e6
"""Python and its libraries."""

_LANES = 16


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes, roughly."""

    seconds: float
    bytes: float

    def shown(self) -> str:
        """Say it as one would: about 3 s, 120 MB."""
        if self.seconds < 90:
            span = f"{max(1, round(self.seconds))} s"
        elif self.seconds < 5400:
            span = f"{self.seconds / 60:.0f} min"
        else:
            span = f"{self.seconds / 3600:.1f} h"
        megabytes = max(1.0, self.bytes / 1e6)
        size = f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"
        return f"about {span}, {size}"


def estimate(estimator: Any, X: Csr, Y: Csr) -> Estimate:
    """Guess what fitting an estimator to points X and labels Y costs."""
    work = _work(estimator, X, Y)
    memory = work.bytes + _BYTES_OF_PROGRAM + X.nnz * _BYTES_PER_NON_ZERO
    return Estimate(work.seconds / _native.n_threads(estimator.n_jobs), memory)


def _work(estimator: Any, X: Csr, Y: Csr) -> Estimate:
    """Guess the seconds of one thread, and the bytes on top of points and program."""
    if isinstance(estimator, OneVsRest):
        return _flat(estimator, X, Y)
    if isinstance(estimator, TreeClassifier):
        return _trees(estimator, X, Y)
    base = LabelTree() if estimator.base is None else estimator.base
    inner = _work(base, X, Y)
    if isinstance(estimator, (Imputed, Refrag)):
        return Estimate(inner.seconds * _trainings(estimator, X.shape[0]), inner.bytes)
    n_members = getattr(base, "n_trees", 1) if estimator.per_member else 1
    return Estimate(inner.seconds + n_members * X.nnz * _SECONDS_PER_POOLED, inner.bytes)


def _seconds(estimator: Classifier, n_steps: float) -> float:
    """Turn steps into the seconds of a method, or of what it is a kind of."""
    kind = next(one for one in type(estimator).mro() if one in _SECONDS_PER_STEP)
    return n_steps * _SECONDS_PER_STEP[kind]


def _flat(model: OneVsRest, X: Csr, Y: Csr) -> Estimate:
    """Count the points that meet every block of sixteen labels, and the weights that come out."""
    n_points = max(1, X.shape[0])
    n_blocks = math.ceil(Y.shape[1] / _LANES)
    seconds = _seconds(model, n_blocks * (X.nnz + _STEPS_PER_POINT * n_points))
    n_weights = Y.shape[1] * min(X.shape[1], _WEIGHTS_PER_NON_ZERO * X.nnz / n_points)
    return Estimate(seconds, n_weights * _BYTES_PER_FLAT_WEIGHT)


def _trees(model: TreeClassifier, X: Csr, Y: Csr) -> Estimate:
    """Count what the points meet on their way down the trees.

    The points of a node are those of its labels, so that a point walks down as many paths as
    it has labels; at the root it stands once. On every level it meets the children of a node,
    sixteen at a time.
    """
    n_trees = getattr(model, "n_trees", 1)
    paths = float(np.diff(X.indptr).astype(np.float64) @ np.diff(Y.indptr))
    arity = getattr(model, "arity", 2)
    root_arity = getattr(model, "root_arity", arity)
    leaf = getattr(model, "max_leaf_size", arity)
    n_leaves = max(1, Y.shape[1] / leaf)
    levels = max(0, math.ceil(math.log(max(1.0, n_leaves / root_arity), arity)))
    root = X.nnz * math.ceil(min(root_arity, n_leaves) / _LANES)
    below = paths * (levels * math.ceil(arity / _LANES) + math.ceil(leaf / _LANES))
    kept = getattr(model, "label_entries", 0) or X.shape[1]
    memory = (
        min(paths, Y.shape[1] * kept) * _BYTES_PER_PATH + paths * n_trees * _BYTES_PER_PATH_AND_TREE
    )
    return Estimate(_seconds(model, n_trees * (root + below)), memory)


def _trainings(estimator: Imputed | Refrag, n_rows: int) -> float:
    """Guess how many times over the base is trained."""
    settings = [getattr(estimator, name, 0.0) for name in ("alpha", "gamma", "propensity_weight")]
    if "auto" not in settings:
        return 1.1
    held_out = estimator.held_out
    rounds = min(math.floor(1 / held_out), math.ceil(estimator.held_out_rows / (held_out * n_rows)))
    return 1.1 + rounds * (1.0 - held_out)
