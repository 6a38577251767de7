"""Prototypes of labels, the means of their points, on the features of a forest."""

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
    """Return the mean of the points of each label.

    Parameters
    ----------
    X, Y : csr_array
        Unit rows of the points, and their labels.
    labels : ndarray of int32
        Labels with points.
    max_entries : int
        Number of largest entries to keep in each mean; 0 for all.
    n_threads : int
        Number of threads.
    """
    by_label = sparse.csr_array(Y.T)[labels].astype(np.float32)
    counts = np.diff(by_label.indptr)
    by_label.data = np.repeat((1.0 / counts).astype(np.float32), counts)
    return _native.multiply(by_label, X, max_entries=max_entries, n_threads=n_threads)


def with_prototypes(forest: Forest, means: Csr, label_weights: Floats) -> tuple[Forest, Prototypes]:
    """Return a forest extended by the features of its prototypes, and the prototypes.

    Parameters
    ----------
    forest : Forest
        The forest.
    means : csr_array, shape (n_outputs, n_features)
        The means of the labels of the forest.
    label_weights : ndarray of float32, shape (n_outputs,)
        Weights of these labels, between 0 and 1.
    """
    features = np.union1d(forest.features, means.indices).astype(np.int32)
    slot_of = np.zeros(means.shape[1], dtype=np.int32)
    slot_of[features] = np.arange(len(features), dtype=np.int32)
    slots = slot_of[forest.features][forest.slots]
    forest = replace(forest, features=features, slots=_native.narrow(slots, len(features)))
    prototypes = Prototypes.of(
        means.indptr.astype(np.int64),
        _native.narrow(slot_of[means.indices], len(features)),
        means.data,
        label_weights,
    )
    return forest, prototypes
