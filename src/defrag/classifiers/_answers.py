"""What becomes of the scores of a classifier: label names, probabilities, explanations.

:class:`Classifier` and :class:`TextClassifier` call these; none of them depends on the method that
gave the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from defrag._names import Names
from defrag._parameters import Int
from defrag._validation import Labels
from defrag.explain import Explanation, Explanations, LabelFeatures
from defrag.explain.explainers import Explainer
from defrag.explain.explanation import explain_row, rank_features
from defrag.persistence.fields import Array, Part, State
from defrag.typing import Csr, Floats, Ids

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier

# --- Labels by name: names for ids, and labels of other data as columns of a model.


def label_names(model: Classifier) -> Names:
    """Return the names of the labels of a model, or its classes if they are strings.

    - Raises ValueError if it has none.
    """
    names: Any = model.label_names_ if model.label_names_ is not None else model.class_names_
    if isinstance(names, Names):
        return names
    if names is None or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"this {type(model).__name__} has no label names: fit it with lists of names, or set "
            "label_names_"
        )
    return Names.of(names)


def labels_of_model(model: Classifier, labels: Labels) -> Csr:
    """Return labels of other data with the columns of a model.

    Names that are unknown to the model get additional columns, which it never predicts.

    - Raises ValueError if they are names or classes, but the labels of the model are ids; or if a
      class is unknown to the model.
    """
    if labels.classes is None:
        return labels.matrix
    classes = model.class_names_
    if classes is None:
        what = "names" if labels.multilabel else "classes"
        raise ValueError(f"Y must contain labels of the model, got {what}")
    if not model.multilabel_:
        for unknown in np.setdiff1d(labels.classes, classes).tolist():
            raise ValueError(f"Y must contain labels of the model, got {unknown!r}")
    return labels.in_columns_of(classes)


def names_by_score(scores: Csr, names: NDArray[Any]) -> list[list[str]]:
    """Return the names of the columns of each row, by decreasing score, then by column."""
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    found = names[scores.indices[order]].tolist()
    return [found[begin:end] for begin, end in pairwise(scores.indptr.tolist())]


# --- Calibration of scores by isotonic regression on held-out points.


@dataclass(frozen=True)
class Calibration:
    """An increasing, piecewise linear function from scores to probabilities."""

    # Shape (n_knots,): scores in increasing order.
    scores: NDArray[np.float64]
    # Shape (n_knots,): the probability that a label with that score is true; constant beyond the
    # ends.
    probabilities: NDArray[np.float64]

    @classmethod
    def of_ranking(cls, labels: Ids, scores: Floats, Y: Csr) -> Calibration:
        """Fit the function to ranked labels of points whose true labels are Y."""
        rows, places = np.nonzero((labels >= 0) & (labels < Y.shape[1]))
        found = labels[rows, places]
        hits = np.asarray(Y[rows, found]).ravel() > 0
        given = scores[rows, places].astype(np.float64)
        if not len(given):
            raise ValueError("calibrate needs at least one label with a score, got none")
        from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415 - rarely needed

        model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(given, hits)
        knots, values = model.X_thresholds_, model.y_thresholds_
        return cls(np.asarray(knots, np.float64), np.asarray(values, np.float64))

    def __call__(self, scores: Floats) -> Floats:
        """Return the probabilities for scores."""
        return np.interp(scores, self.scores, self.probabilities).astype(np.float32)


def _check_calibration(part: Part) -> None:
    part.check_length("probabilities", len(part.arrays["scores"]))
    for name, values in part.arrays.items():
        if not len(values):
            part.fail(f"{part.name(name)} must have at least one item, got none")
        part.check_finite(name)
        if values.min() < 0 or values.max() > 1 or (np.diff(values) < 0).any():
            part.fail(f"{part.name(name)} must increase within [0, 1]")


CALIBRATION = State(
    Array("scores", "float64"),
    Array("probabilities", "float64"),
    make=Calibration,
    check=_check_calibration,
)


def has_probabilities(model: Any) -> bool:
    """Raise AttributeError unless ``predict_proba`` of a model can answer; an unfitted one will.

    Examples
    --------
    >>> from defrag import LabelTree
    >>> LabelTree().fit([[1.0, 0.0], [0.0, 1.0]], [[0], [1]]).predict_proba
    Traceback (most recent call last):
        ...
    AttributeError: predict_proba of this LabelTree, whose points may have several labels, needs \
held-out points first: call calibrate with them
    """
    answering = getattr(model, "base_", model) if hasattr(model, "vectorizer_") else model
    if getattr(answering, "calibration_", 0) is None and answering.multilabel_:
        raise AttributeError(
            f"predict_proba of this {type(model).__name__}, whose points may have several labels, "
            "needs held-out points first: call calibrate with them"
            + (" or set calibration=0.2" if "calibration" in vars(model) else "")
        )
    return True


# --- Explanations, for all classifiers.

_COUNT_RULE = Int(1)
# Number of labels to search for if the caller does not choose it.
_DEFAULT_K = 5


class RankedExplainer(Explainer):
    """Explainer of some labels whose scores are read from rankings."""

    def __init__(self, model: Classifier, labels: Ids) -> None:
        self._wanted, self._columns = np.unique(labels, return_inverse=True)
        self._ranker = model._restricted(self._wanted)

    def scores(self, X: Csr) -> NDArray[np.float64]:
        """Return the scores of the labels for the rows of a canonical matrix."""
        ranked, given = self._ranker._rank(X, len(self._wanted), exhaustive=True)
        rows, places = np.nonzero(ranked >= 0)
        scores = np.zeros((X.shape[0], len(self._wanted)))
        scores[rows, np.searchsorted(self._wanted, ranked[rows, places])] = given[rows, places]
        return scores[:, self._columns]


def explain_point(
    model: Classifier,
    row: Csr,
    label: int | None,
    k: int | None,
    *,
    label_of: Callable[[int], Any],
    names: Sequence[str] | None,
) -> Explanation | Explanations:
    """Explain the score of a label, or those of the best labels, for a canonical row.

    - ``label`` (optional): the id of the label; default: the best one.
    - ``k`` (optional): explain the best k labels.
    - ``label_of``: maps the id of a label to its name, class or id.
    """
    n_ranked = min(check_count("k", _DEFAULT_K if k is None else k), model.n_labels_)
    if label is not None and k is not None:
        raise ValueError(f"give label or k, got label={label_of(label)!r} and k={k!r}")
    if label is not None:
        labels = np.array([label], dtype=np.int32)
        explainer = model._explainer(row, labels, n_ranked)
    else:
        labels, explainer = model._explain_best(row, 1 if k is None else n_ranked, n_ranked)
    if not len(labels) and k is None:
        raise ValueError("no label is predicted for X: give the label to explain")
    named = [(number, label_of(number)) for number in labels.tolist()]
    found = explain_row(explainer, row, named, names)
    return found[0] if k is None else found


def best_labels(ranked: Ids, n: int) -> Ids:
    """Return the first n labels of a ranking of one row, without padding."""
    best: Ids = ranked[0]
    return best[best >= 0][:n]


def features_of_label(
    model: Classifier, label: tuple[int, Any], names: Sequence[str] | None, n: int
) -> LabelFeatures:
    """Return the best features of a label, which is given as a pair of id and name."""
    n = check_count("n", n)
    explainer = model._explainer(None, np.array([label[0]], dtype=np.int32), _DEFAULT_K)
    return rank_features(explainer, model.n_features_in_, label=label, names=names, n=n)


def check_count(name: str, value: Any) -> int:
    """Return a count as an int; raise ValueError unless it is an int >= 1."""
    if not _COUNT_RULE.accepts(value):
        raise ValueError(f"{name} must be {_COUNT_RULE.describe()}, got {value!r}")
    return int(value)
