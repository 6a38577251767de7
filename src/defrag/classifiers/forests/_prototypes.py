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
    from defrag.typing import Csr, Floats, Ids

__all__ = ["label_means", "with_prototypes"]


def label_means(X: Csr, Y: Csr, labels: Ids, *, max_entries: int, n_threads: int) -> Csr:
    """Return the means of the points of labels, one row each.

    Parameters
    ----------
    X, Y : csr_array
        Points, unit rows, and their labels.
    labels : ndarray of int32
        Labels with points.
    max_entries : int
        Largest entries of a mean that are kept; 0 for all.
    n_threads : int
        Threads.
    """
    by_label = sparse.csr_array(Y.T)[labels].astype(np.float32)
    counts = np.diff(by_label.indptr)
    by_label.data = np.repeat((1.0 / counts).astype(np.float32), counts)
    return _native.multiply(by_label, X, max_entries=max_entries, n_threads=n_threads)


def with_prototypes(forest: Forest, means: Csr, label_weights: Floats) -> tuple[Forest, Prototypes]:
    """Return a forest on the features of its prototypes too, and the prototypes.

    Parameters
    ----------
    forest : Forest
        Trees on the points.
    means : csr_array, shape (n_outputs, n_features)
        The means of the labels of the forest.
    label_weights : ndarray of float32, shape (n_outputs,)
        Their weights between 0 and 1, which are passed on.
    """
    features = np.union1d(forest.features, means.indices).astype(np.int32)
    place = np.zeros(means.shape[1], dtype=np.int32)
    place[features] = np.arange(len(features), dtype=np.int32)
    slots = place[forest.features][forest.slots]
    forest = replace(forest, features=features, slots=_native.narrow(slots, len(features)))
    prototypes = Prototypes.of(
        means.indptr.astype(np.int64),
        _native.narrow(place[means.indices], len(features)),
        means.data,
        label_weights,
    )
    return forest, prototypes
