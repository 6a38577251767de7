"""What forests over points share: trees grown in parallel, leaves that are averaged."""

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

# Trees that share a clustering of the features where a forest is agglomerated: with one per
# tree, finding and applying the clusterings would take longer than the trees.
_TREES_PER_MEMBER = 10
# An entry of a tree's weights or leaves while the forest is put together.
_BYTES_PER_ENTRY = 16


@dataclass(frozen=True)
class ForestData:
    """Points that have labels, as unit rows, their labels, and the weights of all labels."""

    X: Csr
    Y: Csr
    label_weights: Floats


class ForestClassifier(Divisible):
    """Forests whose trees partition the points; a subclass says how they are grown."""

    n_trees: int
    max_leaf_size: int
    leaf_labels: int
    verbose: int
    forest_: Forest

    train_trees: ClassVar[Callable[..., Forest]]
    """The kernel that grows a tree per key."""

    @abstractmethod
    def _options(self, X: Csr) -> FastxmlOptions | CraftmlOptions:
        """Return the options of the kernel for points X, unit rows that have labels."""

    def _label_weights(self, Y: Csr) -> Floats:
        """Return the weight of each label when labels are ranked."""
        return np.ones(Y.shape[1], dtype=np.float32)

    def prepare(self, X: Csr, Y: Csr) -> ForestData:
        """Return the points that have labels, as unit rows, and the weights of the labels."""
        X = unit_rows(X, _native.n_threads(self.n_jobs))
        label_weights = self._label_weights(Y)
        labelled = np.diff(Y.indptr) > 0
        if not labelled.all():
            # A point without labels has no side to be on, and would only dilute a leaf.
            X, Y = X[labelled], Y[labelled]
        return ForestData(X, Y, label_weights)

    def divide(self, data: ForestData, seed: int) -> Division:
        """Return one unit per tree."""
        keys = np.array(member_seeds(seed, self.n_trees), dtype=np.uint64)
        outline = {"keys": keys, **self._hash_arrays(data.X)}
        return Division(outline, np.ones(self.n_trees))

    def _hash_arrays(self, X: Csr) -> Arrays:  # noqa: ARG002 - trees on the features themselves
        """Return what a forest on hashed features needs to know, from the points with labels."""
        return {}

    def _hash(self, outline: Arrays) -> FeatureHash | None:  # noqa: ARG002 - see above
        """Return the hash of the features."""
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
        """Put the trees together; see :meth:`Divisible.assemble`."""
        self.forest_ = join_forests([piece.arrays for piece in pieces], self._hash(outline))

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always is
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
        """How many models are averaged: groups of about ten trees."""
        return math.ceil(self.n_trees / _TREES_PER_MEMBER)

    def as_member(self) -> ForestClassifier:
        """Return an unfitted copy that is one member of the ensemble."""
        member: ForestClassifier = clone(self)
        member.n_trees = math.ceil(self.n_trees / self.n_members)
        return member

    def training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Estimate the cost from the levels of the trees, each of which visits every point.

        A step is a non-zero of a point at a node.
        """
        levels = self._levels(max(1.0, X.shape[0] / self.max_leaf_size))
        n_entries = min(Y.nnz, X.shape[0] / self.max_leaf_size * self.leaf_labels)
        memory = self.n_trees * n_entries * _BYTES_PER_ENTRY
        return Cost(self.n_trees * levels * X.nnz * self.seconds_per_step, memory)

    @abstractmethod
    def _levels(self, n_leaves: float) -> float:
        """Return the depth of a tree with that many leaves."""
