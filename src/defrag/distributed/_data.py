"""Training data of plans and parts: validation, vectorisation and checksums."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import clone

from defrag._validation import Labels, check_features, check_labels
from defrag.classifiers._base import Classifier
from defrag.persistence import pack, unpack
from defrag.text import TextClassifier
from defrag.text._texts import check_label_names, check_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.classifiers._division import Arrays
    from defrag.typing import Csr

__all__ = ["Data", "Trainable", "check_data", "checksum", "classifier_of", "crc32", "with_texts"]

Trainable: TypeAlias = Classifier | TextClassifier
"""Estimators that a plan can be made for."""


@dataclass(frozen=True)
class Data:
    """Checked points and labels.

    Attributes
    ----------
    X : csr_array
        The points; for texts, the rows of the vectoriser.
    labels : Labels
        Their labels.
    feature_names : ndarray or None
        Names of the features, if X was a data frame.
    vectorizer : dict of arrays
        The packed vectoriser, for texts.
    """

    X: Csr
    labels: Labels
    feature_names: NDArray[Any] | None = None
    vectorizer: Arrays = field(default_factory=dict)


def check_data(estimator: Trainable, X: Any, Y: Any, vectorizer: Arrays | None = None) -> Data:
    """Return checked data; texts are vectorised, by a newly fitted vectoriser if none is given."""
    if not isinstance(estimator, TextClassifier):
        points = check_features(estimator, X, reset=True)
        labels = check_labels(Y, n_rows=points.shape[0], names=True)
        return Data(points, labels, getattr(estimator, "feature_names_in_", None))
    texts = check_texts(X)
    named = check_label_names(Y, len(texts))
    if vectorizer is None:
        fitted = estimator.unfitted_vectorizer()
        points = fitted.fit_transform(texts)
        vectorizer = pack(fitted)
    else:
        points = unpack(vectorizer, "plan").set_params(n_jobs=estimator.n_jobs).transform(texts)
    labels = Labels(named.matrix, np.array(named.names, dtype=object))
    return Data(points, labels, None, vectorizer)


def classifier_of(estimator: Trainable, seed: int) -> Classifier:
    """Return an unfitted copy of the classifier whose units are trained."""
    if isinstance(estimator, TextClassifier):
        return estimator.unfitted_base(seed)
    model: Classifier = clone(estimator)
    return model


def with_texts(
    estimator: TextClassifier, base: Classifier, vectorizer: Arrays, names: NDArray[Any] | None
) -> TextClassifier:
    """Return a fitted text classifier, assembled from its parts."""
    if names is None:
        raise ValueError("a plan of texts must have the names of the labels, got none")
    model: TextClassifier = clone(estimator)
    fitted = unpack(vectorizer, "plan").set_params(n_jobs=estimator.n_jobs)
    model.vectorizer_, model.base_, model.n_extra_ = fitted, base, 0
    model.classes_ = names
    return model


def checksum(data: Data) -> int:
    """Return a checksum of points and labels, to detect other data."""
    X, labels = data.X, data.labels
    classes = None if labels.classes is None else labels.classes.tolist()
    value = zlib.crc32(repr((X.shape, labels.matrix.shape, classes)).encode())
    for matrix in (X, labels.matrix):
        # scipy uses 32-bit or 64-bit pointers.
        pointers = matrix.indptr.astype(np.int64, copy=False)
        for array in (pointers, matrix.indices, matrix.data):
            value = crc32(array, value)
    return value


def crc32(array: NDArray[Any], value: int) -> int:
    """Return the checksum of an array that follows bytes with the checksum ``value``."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, value)
