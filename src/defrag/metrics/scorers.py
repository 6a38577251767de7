"""Ranking metrics as scorers for scikit-learn's model selection.

>>> from sklearn.model_selection import cross_val_score
>>> from defrag import LabelTree, load_dataset
>>> from defrag.metrics.scorers import label_lists, scorer
>>> data = load_dataset("debian").train
>>> X, Y = data.X[:600], label_lists(data.Y[:600])
>>> scores = cross_val_score(LabelTree(random_state=0), X, Y, cv=3, scoring=scorer("P@3"))
>>> scores.shape
(3,)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from defrag._validation import check_labels, refuse_broken
from defrag.classifiers.pipeline import predict_topk
from defrag.metrics.ranking import evaluate
from defrag.typing import Csr, LabelsLike

__all__ = ["RankingScorer", "label_lists", "scorer", "scorers"]

_NAMES = ("P", "nDCG", "R", "coverage", "PSP", "PSnDCG")


@dataclass(frozen=True)
class RankingScorer:
    """A metric of :func:`defrag.metrics.evaluate` of a fitted model, in percent."""

    # The metric, such as ``"P@3"``.
    name: str
    # Labels from which propensities are estimated, for PSP and PSnDCG.
    train_labels: LabelsLike | None = None

    def __call__(self, model: Any, X: Any, Y: LabelsLike, **_: Any) -> float:
        """Return the metric of a model on points X with true labels Y."""
        k = int(self.name.split("@")[1])
        labels, _scores = predict_topk(model, X, k)
        refuse_broken(Y, name="Y")
        Y = Y if sparse.issparse(Y) else _in_columns_of(model, Y, len(labels))
        # Labels that a fold lacks are columns of zeros.
        seen = self.train_labels
        train = None if seen is None else _in_columns_of(model, seen, _n_rows(seen))
        width = max(Y.shape[1], int(labels.max(initial=-1)) + 1, 0 if train is None else
                    train.shape[1])  # fmt: skip
        train = None if train is None else _widen(train, width)
        return evaluate(_widen(sparse.csr_array(Y), width), labels, train, k=(k,))[self.name]


def scorer(name: str, train_labels: LabelsLike | None = None) -> RankingScorer:
    """Return the scorer of a metric, to be passed as ``scoring``.

    Parameters
    ----------
    name : str
        ``"P@1"``, ``"nDCG@5"``, ``"R@3"``, ``"coverage@1"``, ``"PSP@3"``, ``"PSnDCG@5"``, with
        any number after the ``@``.
    train_labels : labels, optional
        Labels from which propensities are estimated, required by PSP and PSnDCG.

    Returns
    -------
    scorer : RankingScorer
        A callable with the arguments model, X and Y. Y may be sparse or label lists.
    """
    found = re.fullmatch(r"(\w+)@([1-9]\d*)", name) if isinstance(name, str) else None
    if found is None or found[1] not in _NAMES:
        raise ValueError(f"name must be one of {', '.join(_NAMES)} with @k, got {name!r}")
    if found[1].startswith("PS") and train_labels is None:
        raise ValueError(f"{name} requires train_labels, got None")
    return RankingScorer(name, train_labels)


def scorers(*names: str, train_labels: LabelsLike | None = None) -> dict[str, RankingScorer]:
    """Return several scorers by name, for ``cross_validate`` and ``GridSearchCV``.

    Parameters
    ----------
    *names : str
        As in :func:`scorer`.
    train_labels : labels, optional
        As in :func:`scorer`.
    """
    return {name: scorer(name, train_labels) for name in names}


def label_lists(Y: LabelsLike) -> NDArray[np.object_]:
    """Return labels as a 1-D array of arrays of label ids or names.

    scikit-learn's model selection refuses sparse Y and lists of lists; it accepts this form and
    can split it, and so does ``fit``.

    Parameters
    ----------
    Y : indicator matrix or label lists
        The labels.

    Returns
    -------
    lists : ndarray of object, shape (n_points,)
        The label ids of each point, as arrays of int32, or its label names, as arrays of str
        objects.

    Examples
    --------
    >>> from defrag.metrics.scorers import label_lists
    >>> [ids.tolist() for ids in label_lists([[0, 2], [1]])]
    [[0, 2], [1]]
    """
    labels = check_labels(Y, n_rows=_n_rows(Y), names=True)
    matrix = labels.matrix
    values = matrix.indices
    if labels.multilabel and labels.classes is not None:
        values = labels.classes[values]
    result = np.empty(matrix.shape[0], dtype=object)
    for row, (begin, end) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
        result[row] = values[begin:end]
    return result


def _in_columns_of(model: Any, Y: LabelsLike, n_rows: int) -> Csr:
    """Return true labels with the columns of the labels of a model."""
    labels = check_labels(Y, n_rows=n_rows, names=True)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    names = last.class_names_ if labels.multilabel and labels.classes is not None else None
    return labels.matrix if names is None else labels.in_columns_of(names)


def _n_rows(Y: LabelsLike) -> int:
    return int(Y.shape[0]) if hasattr(Y, "shape") else len(Y)


def _widen(Y: Csr, width: int) -> Csr:
    return sparse.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], width))
