"""Prototypes of labels: the means of their points, on the features of a forest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._native import Prototypes

if TYPE_CHECKING:
    from defrag._native import Forest
    from defrag.typing import Csr, Floats

__all__ = ["find_prototypes"]


def find_prototypes(
    forest: Forest, X: Csr, Y: Csr, label_weights: Floats, *, max_entries: int, n_threads: int
) -> tuple[Forest, Prototypes]:
    """Return the prototypes of the labels of a forest, and the forest on their features too.

    Parameters
    ----------
    forest : Forest
        Trees on the points.
    X, Y : csr_array
        Points, unit rows, and their labels.
    label_weights : ndarray of float32, shape (n_labels,)
        Weights between 0 and 1, which are passed on.
    max_entries : int
        Largest entries of a prototype that are kept; 0 for all.
    n_threads : int
        Threads.
    """
    by_label = sparse.csr_array(Y.T)[forest.labels].astype(np.float32)
    counts = np.diff(by_label.indptr)
    by_label.data = np.repeat((1.0 / counts).astype(np.float32), counts)
    means = _native.multiply(by_label, X, max_entries=max_entries, n_threads=n_threads)
    features = np.union1d(forest.features, means.indices).astype(np.int32)
    place = np.zeros(X.shape[1], dtype=np.int32)
    place[features] = np.arange(len(features), dtype=np.int32)
    slots = place[forest.features][forest.slots]
    forest = replace(forest, features=features, slots=_native.narrow(slots, len(features)))
    prototypes = Prototypes.of(
        means.indptr.astype(np.int64),
        _native.narrow(place[means.indices], len(features)),
        means.data,
        label_weights[forest.labels],
    )
    return forest, prototypes
