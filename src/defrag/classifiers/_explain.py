"""Explanations of scores, for all classifiers."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from defrag._estimator import Estimator, on_snapshot, snapshot
from defrag._parameters import Int, fitted
from defrag._validation import check_features
from defrag.explain.explainers import Explainer
from defrag.explain.explanation import explain_row, rank_features

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from defrag.classifiers._base import Ranker
    from defrag.explain import Explanation, Explanations, LabelFeatures
    from defrag.typing import Csr, Floats, Ids, MatrixLike

__all__ = ["Explainable", "best_labels", "check_count", "explain_point", "features_of_label"]

_COUNT_RULE = Int(1)
# Number of labels to search for if the caller does not choose it.
_DEFAULT_K = 5


class Explainable(Estimator):
    """Mixin of classifiers that explains scores.

    A classifier whose scores can be decomposed overrides :meth:`_explainer`.
    """

    n_labels_: int = fitted()
    n_features_in_: int = fitted()
    class_names_: NDArray[Any] | None = fitted()
    label_names_: Sequence[str] | None = fitted()
    vocabulary_: Sequence[str] | None = fitted()

    @abstractmethod
    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        """Return the k best labels of each row of a canonical matrix, and their scores."""

    @abstractmethod
    def _restricted(self, labels: Ids) -> Ranker:
        """Return a ranker of some labels."""

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:  # noqa: ARG002 - for searches
        """Return an explainer of the scores of some labels.

        By default, contributions are found by leaving features out.

        Parameters
        ----------
        row : csr_array, shape (1, n_features), optional
            The row whose search result is held fixed; None scores all labels in all members.
        labels : ndarray of int32
            The labels.
        k : int
            Number of labels to search for.
        """
        return RankedExplainer(self, labels)

    def _explain_best(self, row: Csr, n: int, k: int) -> tuple[Ids, Explainer]:
        """Return the best n labels of a row, and their scores in a form that can be taken apart.

        A method whose :meth:`_explainer` searches overrides it, so that the row is searched once.

        Parameters
        ----------
        row : csr_array, shape (1, n_features)
            The row.
        n : int
            The number of labels, at most k.
        k : int
            The number of labels that the search is asked for.
        """
        labels = best_labels(self._rank(row, k, exhaustive=False)[0], n)
        return labels, self._explainer(row, labels, k)

    @overload
    def explain(self, X: MatrixLike, label: Any = None, *, k: None = None) -> Explanation: ...

    @overload
    def explain(self, X: MatrixLike, label: None = None, *, k: int) -> Explanations: ...

    def explain(self, X: MatrixLike, label: Any = None, *, k: int | None = None) -> Any:
        """Explain the score of a label, or those of the best labels, for one point.

        Parameters
        ----------
        X : sparse or dense matrix, shape (1, n_features), or array, shape (n_features,)
            The point.
        label : int, str or class, optional
            The id or the name of a label, or a class; default: the best label.
        k : int, optional
            Explain the best k labels.

        Returns
        -------
        explanation : Explanation, or Explanations if k is given
            The contribution of each feature to the score of ``predict_topk``, and the score
            without the feature.
        """
        return snapshot(self)._explain(X, label, k)  # noqa: SLF001 - of the same class

    def _explain(self, X: MatrixLike, label: Any, k: int | None) -> Explanation | Explanations:
        if not hasattr(self, "n_labels_"):  # check_is_fitted is slow for a single row
            check_is_fitted(self)
        row = self._check_row(X)
        number = None if label is None else self._find_label(label)
        return explain_point(self, row, number, k, label_of=self._label, names=self.vocabulary_)

    @on_snapshot
    def label_features(self, label: Any, n: int = 50) -> LabelFeatures:
        """Return the features that, each on its own, give a label the highest scores.

        Parameters
        ----------
        label : int, str or class
            The id or the name of a label, or a class.
        n : int, default=50
            Number of features.

        Returns
        -------
        features : LabelFeatures
            Features that raise the score above that of a point without features, and the score
            of a point that has only this feature.
        """
        check_is_fitted(self)
        number = self._find_label(label)
        return features_of_label(self, (number, self._label(number)), self.vocabulary_, n)

    def _find_label(self, label: Any) -> int:
        """Return the id of a label, given its id, name or class.

        Raises
        ------
        ValueError
            If there is no such label.
        """
        if self.class_names_ is not None:
            found = np.flatnonzero(self.class_names_ == label)
            if len(found):
                return int(found[0])
            raise ValueError(f"label must be a class of the model, got {label!r}")
        if isinstance(label, str):
            if self.label_names_ is None:
                raise ValueError(f"label must be an id: the labels have no names, got {label!r}")
            for number, name in enumerate(self.label_names_):
                if name == label:
                    return number
            raise ValueError(f"label must be a label of the model, got {label!r}")
        if not Int(0, self.n_labels_ - 1).accepts(label):
            raise ValueError(f"label must be an id below {self.n_labels_}, got {label!r}")
        return int(label)

    def _label(self, number: int) -> Any:
        if self.class_names_ is not None:
            return self.class_names_[number]
        return number if self.label_names_ is None else self.label_names_[number]

    def _check_row(self, X: MatrixLike) -> Csr:
        if getattr(X, "ndim", 2) == 1:
            X = X.reshape(1, -1)
        row = check_features(self, X, reset=False)
        if row.shape[0] != 1:
            raise ValueError(f"X must be one point, got {row.shape[0]}")
        return row


class RankedExplainer(Explainer):
    """Explainer of some labels whose scores are read from rankings.

    Parameters
    ----------
    model : Explainable
        The classifier.
    labels : ndarray of int32
        The labels.
    """

    def __init__(self, model: Explainable, labels: Ids) -> None:
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
    model: Explainable,
    row: Csr,
    label: int | None,
    k: int | None,
    *,
    label_of: Callable[[int], Any],
    names: Sequence[str] | None,
) -> Explanation | Explanations:
    """Explain the score of a label, or those of the best labels, for a canonical row.

    Parameters
    ----------
    model : Explainable
        The fitted classifier.
    row : csr_array, shape (1, n_features)
        The row.
    label : int, optional
        The id of the label; default: the best one.
    k : int, optional
        Explain the best k labels.
    label_of : callable
        Maps the id of a label to its name, class or id.
    names : sequence of str, optional
        Feature names.
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
    model: Explainable, label: tuple[int, Any], names: Sequence[str] | None, n: int
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
