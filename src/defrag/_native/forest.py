"""Trees over points: training, and the search through them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag import _core
from defrag._native.arrays import KernelRows, csr_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids, Offsets, Progress

__all__ = [
    "FULL_HASH",
    "CraftmlOptions",
    "FastxmlOptions",
    "FeatureHash",
    "Forest",
    "Prototypes",
    "forest_search",
    "narrow",
    "train_craftml",
    "train_fastxml",
]

_NARROW = 2**16

FULL_HASH = 65536
"""The ``n_kept`` of a hash that keeps all features."""


@dataclass(frozen=True)
class FastxmlOptions:
    """How FastXML trees are grown; see ``cpp/core/fastxml.hpp``."""

    max_leaf_size: int = 10
    leaf_labels: int = 100
    normalized: bool = True
    cost: float = 1.0
    bias: float = 1.0
    max_rounds: int = 10
    tolerance: float = 0.01


@dataclass(frozen=True)
class CraftmlOptions:
    """How CRAFTML trees are grown; see ``cpp/core/craftml.hpp``."""

    n_clusters: int = 10
    max_leaf_size: int = 10
    leaf_labels: int = 100
    max_depth: int = 1000
    label_buckets: int = 10_000
    max_rounds: int = 3
    sample: int = 20_000
    n_buckets: int = 10_000
    n_kept: int = FULL_HASH // 2
    kept_share: float = 0.1
    kept_least: int = 10


@dataclass(frozen=True)
class FeatureHash:
    """How the features of hashed trees become buckets; see ``cpp/core/feature_hash.hpp``.

    Tree ``t`` has the key ``keys[t]``; of ``FULL_HASH`` features about ``n_kept`` are kept.
    """

    keys: NDArray[np.uint64]
    n_buckets: int
    n_kept: int


@dataclass(frozen=True)
class Forest:
    """Trees over points as flat arrays; see ``cpp/core/forest.hpp``.

    Tree ``t`` has the nodes ``tree_ptr[t]`` to ``tree_ptr[t + 1] - 1``, breadth first; the
    ``n_children[v]`` children of an inner node begin at ``first_child[v]``. It has the entries
    ``entry_ptr[v]`` to ``entry_ptr[v + 1] - 1``: a separator with a ``bias``, or, where there is
    a ``hash``, centroids of ``children``. Entries name features by their place in ``features``,
    or buckets; those of a leaf name labels by their place in ``labels``.
    """

    tree_ptr: Offsets
    first_child: Ids
    n_children: Ids
    entry_ptr: Offsets
    features: Ids
    slots: NDArray[np.uint16] | Ids
    children: NDArray[np.uint8]
    weights: Floats
    bias: Floats
    leaf_ptr: Offsets
    labels: Ids
    outputs: NDArray[np.uint16] | Ids
    values: Floats
    hash: FeatureHash | None = None

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.tree_ptr) - 1

    def parts(self) -> Any:
        """Return the arrays in the order in which the kernels take them."""
        return (
            (self.tree_ptr, self.first_child, self.n_children),
            (self.entry_ptr, self.features, self.slots, self.children, self.weights, self.bias),
            (self.leaf_ptr, self.labels, self.outputs, self.values),
            None if self.hash is None else (self.hash.keys, self.hash.n_buckets, self.hash.n_kept),
        )


@dataclass(frozen=True)
class Prototypes:
    """Prototypes of the labels of a forest; see ``cpp/core/forest_search.hpp``.

    That of output ``o`` has the entries ``prototype_ptr[o]`` to ``prototype_ptr[o + 1] - 1`` of
    ``slots``, places in the ``features`` of the forest, and ``values``; ``norms`` are squared.
    """

    prototype_ptr: Offsets
    slots: NDArray[np.uint16] | Ids
    values: Floats
    norms: Floats
    label_weights: Floats

    @classmethod
    def of(
        cls,
        prototype_ptr: Offsets,
        slots: NDArray[np.uint16] | Ids,
        values: Floats,
        label_weights: Floats,
    ) -> Prototypes:
        """Return prototypes with their norms."""
        sums = np.append(0.0, np.cumsum(np.square(values, dtype=np.float64)))
        norms = np.diff(sums[prototype_ptr]).astype(np.float32)
        return cls(prototype_ptr, slots, values, norms, label_weights)

    def parts(self) -> Any:
        """Return the arrays in the order in which the kernel takes them."""
        return (self.prototype_ptr, self.slots, self.values, self.norms, self.label_weights)


def train_fastxml(
    X: Csr,
    Y: Csr,
    label_weights: Floats,
    keys: NDArray[np.uint64],
    options: FastxmlOptions,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Forest:
    """Grow a tree of FastXML per key; a point's label counts as much as its weight."""
    core = _core_options(_core.FastxmlOptions(), options)
    parts = _core.train_fastxml(
        csr_parts(X), csr_parts(Y), label_weights, keys,
        options=core, n_features=X.shape[1], n_threads=n_threads, progress=progress,
    )  # fmt: skip
    return _forest(parts)


def train_craftml(
    X: Csr,
    Y: Csr,
    label_weights: Floats,
    keys: NDArray[np.uint64],
    options: CraftmlOptions,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Forest:
    """Grow a tree of CRAFTML per key; label weights rank the labels of leaves."""
    core = _core_options(_core.CraftmlOptions(), options)
    parts = _core.train_craftml(
        csr_parts(X), csr_parts(Y), label_weights, keys,
        options=core, n_features=X.shape[1], n_threads=n_threads, progress=progress,
    )  # fmt: skip
    return _forest(parts, FeatureHash(keys, options.n_buckets, options.n_kept))


def forest_search(
    forest: Forest,
    X: Csr | KernelRows,
    *,
    k: int,
    prototypes: Prototypes | None = None,
    alpha: float = 1.0,
    gamma: float = 0.0,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Ids, Floats]:
    """Find the best labels of every row of X, scaled as in training, and their scores.

    The score is the mean over the trees of the value in the leaf that the row reaches, or what
    prototypes make of it. Both arrays are ``(n, k)``, by decreasing score and increasing label;
    -1 with score 0 where there are fewer.
    """
    shape, routing, leaves, hashed = forest.parts()
    reranking = None if prototypes is None else prototypes.parts()
    labels, scores = _core.forest_search(
        shape, routing, leaves, hashed, reranking, csr_parts(X),
        alpha=alpha, gamma=gamma, n_features=X.shape[1], k=k, n_threads=n_threads,
        progress=progress,
    )  # fmt: skip
    return labels.reshape(-1, k), scores.reshape(-1, k)


def _core_options(core: Any, options: Any) -> Any:
    for name, value in asdict(options).items():
        setattr(core, name, value)
    return core


def _forest(parts: Any, feature_hash: FeatureHash | None = None) -> Forest:
    (tree_ptr, first_child, n_children), routing, (leaf_ptr, labels, outputs, values) = parts
    entry_ptr, features, slots, children, weights, bias = routing
    n_slots = len(features) if feature_hash is None else feature_hash.n_buckets
    return Forest(
        tree_ptr, first_child, n_children, entry_ptr, features,
        narrow(slots, n_slots), children, weights, bias, leaf_ptr,
        labels, narrow(outputs, len(labels)), values, feature_hash,
    )  # fmt: skip


def narrow(ids: NDArray[Any], n_ids: int) -> NDArray[np.uint16] | Ids:
    """Return ids below a number in the smallest type that the kernels take."""
    if n_ids <= _NARROW:
        return ids.astype(np.uint16, copy=False)
    return ids.astype(np.int32, copy=False)
