"""Training of forests over points, and their arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defrag import _core
from defrag._native.rows import named
from defrag.typing import Csr, Floats, Ids, Offsets

_MAX_NARROW_IDS = 2**16

FULL_HASH = 65536
"""The ``n_kept`` of a hash that keeps all features."""


@dataclass(frozen=True)
class FeatureHash:
    """Hash functions from features to buckets, one per tree; see ``cpp/core/forest/forest.hpp``.

    Tree ``t`` has the key ``keys[t]``; about ``n_kept`` of every ``FULL_HASH`` features are kept.
    """

    keys: NDArray[np.uint64]
    n_buckets: int
    n_kept: int


@dataclass(frozen=True)
class Forest:
    """Trees over points as flat arrays; see ``cpp/core/forest/forest.hpp``.

    Tree ``t`` has the nodes ``tree_ptr[t]`` to ``tree_ptr[t + 1] - 1``, breadth first; the
    ``n_children[v]`` children of an inner node begin at ``first_child[v]``. An inner node has the
    entries ``entry_ptr[v]`` to ``entry_ptr[v + 1] - 1``: a separator with a ``bias``, or, with a
    ``hash``, centroids of its ``children``. The ``slots`` of entries are positions in
    ``features``, or buckets. A leaf has the entries ``leaf_ptr[v]`` to ``leaf_ptr[v + 1] - 1``,
    whose ``outputs`` are positions in ``labels``.
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


@dataclass(frozen=True)
class Prototypes:
    """Prototypes of the labels of a forest; see ``cpp/core/forest/search.hpp``.

    The prototype of output ``o`` has the entries ``prototype_ptr[o]`` to ``prototype_ptr[o + 1] -
    1`` of ``slots``, which are positions in the ``features`` of the forest, and of ``values``;
    ``norms`` are squared.
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


def train_craftml(
    X: Csr,
    Y: Csr,
    label_weights: Floats,
    keys: NDArray[np.uint64],
    options: _core.CraftmlOptions,
    **running: Any,
) -> Forest:
    """Return a forest with one CRAFTML tree per key; label weights rank the labels of leaves."""
    arrays = _core.train_craftml(X, Y, label_weights, keys, options, **running)
    return _narrowed(*arrays, FeatureHash(keys, options.n_buckets, options.n_kept))


def _narrowed(*fields: Any) -> Forest:
    """Return a forest whose slots and outputs have 16 bits if these suffice."""
    wide = Forest(*fields)
    n_slots = len(wide.features) if wide.hash is None else wide.hash.n_buckets
    outputs = narrow(wide.outputs, len(wide.labels))
    return replace(wide, slots=narrow(wide.slots, n_slots), outputs=outputs)


def narrow(ids: NDArray[Any], n_ids: int) -> NDArray[np.uint16] | Ids:
    """Return ids below ``n_ids`` as uint16 if these suffice, otherwise as int32."""
    if n_ids <= _MAX_NARROW_IDS:
        return ids.astype(np.uint16, copy=False)
    return ids.astype(np.int32, copy=False)


train_fastxml = named(_core.train_fastxml, _narrowed)
"""Return a forest with one FastXML tree per key, trained with label weights."""
