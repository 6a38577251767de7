"""Base class of forests over points: trees grown in parallel, and averaged leaves."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import clone

from defrag import _native
from defrag._progress import progress_bar
from defrag.classifiers._base import unit_rows
from defrag.classifiers._cost import Cost
from defrag.classifiers._division import Divisible, Division
from defrag.classifiers.forests._joining import forest_arrays, join_forests
from defrag.trees.seeds import member_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from defrag._native import CraftmlOptions, FastxmlOptions, FeatureHash, Forest
    from defrag.classifiers._division import Arrays, Piece
    from defrag.typing import Csr, Floats, Ids

__all__ = ["ForestClassifier", "ForestData"]

# Number of trees of an agglomerated forest that share a clustering of the features. Computing and
# applying one clustering per tree would take longer than growing the trees.
_TREES_PER_MEMBER = 10
# Memory per entry of weights or leaves while trees are joined.
_BYTES_PER_ENTRY = 16


@dataclass(frozen=True)
class ForestData:
    """Unit rows of the points with labels, their labels, and the weights of all labels."""

    X: Csr
    Y: Csr
    label_weights: Floats


class ForestClassifier(Divisible):
    """Base class of forests whose trees partition the points."""

    n_trees: int
    max_leaf_size: int
    leaf_labels: int
    verbose: int
    forest_: Forest

    train_trees: ClassVar[Callable[..., Forest]]
    """The kernel that grows one tree per key."""

    @abstractmethod
    def _options(self, X: Csr) -> FastxmlOptions | CraftmlOptions:
        """Return the options of the kernel; X are the unit rows of the points with labels."""

    def _label_weights(self, Y: Csr) -> Floats:
        """Return the weights of the labels in rankings."""
        return np.ones(Y.shape[1], dtype=np.float32)

    def prepare(self, X: Csr, Y: Csr) -> ForestData:
        """Return the unit rows of the points with labels, and the weights of the labels."""
        X = unit_rows(X, _native.n_threads(self.n_jobs))
        label_weights = self._label_weights(Y)
        labelled = np.diff(Y.indptr) > 0
        if not labelled.all():
            # Points without labels have no preferred side of a split and would dilute leaves.
            X, Y = X[labelled], Y[labelled]
        return ForestData(X, Y, label_weights)

    def divide(self, data: ForestData, seed: int) -> Division:
        """Return one unit per tree."""
        keys = np.array(member_seeds(seed, self.n_trees), dtype=np.uint64)
        outline = {"keys": keys, **self._hash_arrays(data.X)}
        return Division(outline, np.ones(self.n_trees))

    def _hash_arrays(self, X: Csr) -> Arrays:  # noqa: ARG002 - of subclasses
        """Return the arrays that define the hash of the features, if there is one."""
        return {}

    def _hash(self, outline: Arrays) -> FeatureHash | None:  # noqa: ARG002 - of subclasses
        """Return the hash of the features, or None."""
        return None

    def train_units(
        self,
        data: ForestData,
        seed: int,  # noqa: ARG002 - the outline has the keys
        outline: Arrays,
        first: int,
        last: int,
    ) -> Arrays:
        """Grow a range of trees; see :meth:`Divisible.train_units`."""
        with progress_bar("growing trees", enabled=self.verbose > 0) as progress:
            forest = type(self).train_trees(
                data.X,
                data.Y,
                data.label_weights,
                np.ascontiguousarray(outline["keys"][first:last]),
                self._options(data.X),
                n_threads=_native.n_threads(self.n_jobs),
                progress=progress,
            )
        return forest_arrays(forest)

    def assemble(self, outline: Arrays, pieces: Sequence[Piece]) -> None:
        """Set the forest; see :meth:`Divisible.assemble`."""
        self.forest_ = join_forests([piece.arrays for piece in pieces], self._hash(outline))

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        threads = _native.n_threads(self.n_jobs)
        rows = _native.unit_rows(X, n_threads=threads)
        return _native.forest_search(self.forest_, rows, k=k, n_threads=threads)

    def max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`rank` can find for a point."""
        sizes = np.diff(self.forest_.leaf_ptr)
        largest = np.maximum.reduceat(sizes, self.forest_.tree_ptr[:-1])
        return min(len(self.forest_.labels), int(largest.sum()))

    @property
    def n_members(self) -> int:
        """Number of models that are averaged, each of about ten trees."""
        return math.ceil(self.n_trees / _TREES_PER_MEMBER)

    def as_member(self) -> ForestClassifier:
        """Return an unfitted copy that is one member of the ensemble."""
        member: ForestClassifier = clone(self)
        member.n_trees = math.ceil(self.n_trees / self.n_members)
        return member

    def training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost, estimated from the levels of the trees, which all process every point.

        A step processes a non-zero of a point at one level.
        """
        levels = self._levels(max(1.0, X.shape[0] / self.max_leaf_size))
        n_entries = min(Y.nnz, X.shape[0] / self.max_leaf_size * self.leaf_labels)
        memory = self.n_trees * n_entries * _BYTES_PER_ENTRY
        return Cost(self.n_trees * levels * X.nnz * self.seconds_per_step, memory)

    @abstractmethod
    def _levels(self, n_leaves: float) -> float:
        """Return the depth of a tree with ``n_leaves`` leaves."""
