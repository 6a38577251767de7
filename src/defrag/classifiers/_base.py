"""The contract of all classifiers: what users call, and what a method must provide for it.

A method trains in ``_train`` and ranks in ``_rank``; everything a user calls is defined here, once:
``fit`` checks its input, ``predict_topk`` and the others rank, name, calibrate and explain.
Composites ask their parts for the underscore methods, with matrices that are already checked.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot, save_model, snapshot
from defrag._names import Names
from defrag._parameters import SEED_KIND, Choice, Float, Int, fitted, param
from defrag._progress import logger
from defrag._scikit import ClassifierMixin, available_if, check_is_fitted, clone
from defrag._validation import (
    check_features,
    check_labels,
    check_rows,
    check_seed,
    look_swapped,
    require_labels,
)
from defrag.classifiers._answers import (
    CALIBRATION,
    Calibration,
    RankedExplainer,
    best_labels,
    explain_point,
    features_of_label,
    has_probabilities,
    label_names,
    labels_of_model,
    names_by_score,
)
from defrag.classifiers._following import Shapes, match_labels, previous_model
from defrag.classifiers._support import (
    LANES,
    SCORES_AT_A_TIME,
    Cost,
    FilteredRanker,
    Ranker,
    check_names,
    warn_about_data,
    warn_data,
)
from defrag.classifiers._weights import check_sample_weight, with_class_weight
from defrag.explain import Explanation, Explanations, LabelFeatures
from defrag.explain.explainers import Explainer
from defrag.io.files import PathLike
from defrag.persistence.fields import COUNT, Classes, Number, Object, Part, State, Strings
from defrag.persistence.fields import feature_names as names_of_features
from defrag.thesaurus import Thesaurus, unknown_label
from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike, Seed

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import Self

# Number of points that are ranked at a time when a matrix of scores is computed.
_ROWS_AT_A_TIME = 20_000
# A label is predicted if its score is above this.
_DEFAULT_THRESHOLD = 0.5
_K_RULE = Int(1)
WEIGHTS_RULE = Choice(("float32", "float16", "int8", "int4"))
"""Types of weights in a model file."""
_EMPTY_RULE = Choice(("bias", "nothing"))
_THRESHOLD_RULE = Float(0.0, 1.0, none=True)


def _given_names(model: Classifier) -> Sequence[str] | None:
    """Return the label names, unless they came with the training labels, as its classes."""
    given, classes = model.label_names_, model.class_names_
    if classes is None or not model.multilabel_ or not isinstance(given, Names):
        return given
    return None if given == Names.of(classes) else given


def _name_labels(part: Part, model: Classifier) -> None:  # noqa: ARG001 - of a declaration
    if model.label_names_ is None and model.multilabel_ and model.class_names_ is not None:
        model.label_names_ = Names.of(model.class_names_)


class Classifier(ClassifierMixin, Estimator):
    """Base class of classifiers.

    A subclass trains in :meth:`_train` and ranks in :meth:`_rank`, both on canonical matrices;
    scores are between 0 and 1, higher is better.

    ``fit`` sets ``label_names_`` and ``vocabulary_`` to None. They can be set afterwards or
    passed to :meth:`save`; a loaded model has those of its file.
    """

    _labels_per_member: ClassVar[int] = 50
    """Number of labels that each member of an ensemble contributes to the average."""

    _member_noun: ClassVar[str] = "member"
    """Name of a member in progress bars."""

    _seconds_per_step: ClassVar[float] = 1e-8
    """Seconds per step of :meth:`training_cost` on one thread."""

    random_state: Seed = param(
        doc="Seed; an int gives the same model for any ``n_jobs``.", kind=SEED_KIND, default=None
    )

    n_labels_: int = fitted("int", "Number of labels.")
    n_features_in_: int = fitted("int", "Number of features.")
    multilabel_: bool = fitted()
    dense_answers_: bool = fitted()
    class_names_: NDArray[Any] | None = fitted()
    label_names_: Sequence[str] | None = fitted()
    vocabulary_: Sequence[str] | None = fitted()
    calibration_: Calibration | None = fitted()

    _state = State(
        Number("n_labels_", COUNT),
        Number("n_features_in_", COUNT, name="n_features"),
        Number("dense_answers_"),
        Classes(),
        Strings("label_names_", "n_labels", optional=True, get=_given_names),
        Strings("vocabulary_", "n_features", optional=True),
        names_of_features("n_features"),
        Object("calibration_", CALIBRATION, prefix="calibration/", optional=True),
        finish=_name_labels,
        sizes={"features": "n_features", "labels": "n_labels"},
    )

    def _takes_weights(self) -> bool:
        """Return whether points may have weights; :meth:`_train` then takes ``weights``."""
        return False

    @abstractmethod
    def _train(self, X: Csr, Y: Csr, seed: int, shapes: Shapes | None = None) -> None:
        """Train on validated points X and labels Y; label trees take the given shapes."""

    @abstractmethod
    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        """Return the k best labels of each row of a canonical matrix, and their scores.

        - ``k``: number of labels, at most ``n_labels_``.
        - ``exhaustive``: whether to score all labels instead of searching.
        - Returns ``labels``, shape (n_points, k): label ids by decreasing score, then increasing
          id, padded with -1.
        - Returns ``scores``, shape (n_points, k): their scores between 0 and 1, padded with 0.
        """

    @property
    def _ranks_kernel_rows(self) -> bool:
        """Whether :meth:`_rank` accepts ``KernelRows`` in addition to matrices."""
        return False

    def _restricted(self, labels: Ids) -> Ranker:
        """Return a ranker of some labels with the scores of this classifier.

        By default, all labels are ranked and the others are dropped.

        - ``labels``: label ids in increasing order.
        """
        return FilteredRanker(self, labels)

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:  # noqa: ARG002 - for searches
        """Return an explainer of the scores of some labels.

        By default, contributions are found by leaving features out.

        - ``row``, shape (1, n_features): the row whose search result is held fixed; None scores all
          labels in all members.
        """
        return RankedExplainer(self, labels)

    def _explain_best(self, row: Csr, n: int, k: int) -> tuple[Ids, Explainer]:
        """Return the best n labels of a row, and their scores in a form that can be taken apart.

        A method whose :meth:`_explainer` searches overrides it, so that the row is searched once.

        - ``n``: the number of labels, at most k.
        - ``k``: the number of labels that the search is asked for.
        """
        labels = best_labels(self._rank(row, k, exhaustive=False)[0], n)
        return labels, self._explainer(row, labels, k)

    def _max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`_rank` can find for a point."""
        return self.n_labels_

    @property
    def _n_members(self) -> int:
        """Number of models that are averaged."""
        return 1

    def _as_member(self) -> Classifier:
        """Return an unfitted copy that is one member of the ensemble."""
        member: Classifier = clone(self)
        return member

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the estimated seconds on one thread and the memory of ``fit``."""
        n_steps = X.nnz * math.ceil(Y.shape[1] / LANES)
        return Cost(n_steps * self._seconds_per_step, 8.0 * X.nnz)

    @all_or_nothing
    def fit(
        self,
        /,
        X: MatrixLike,
        Y: LabelsLike,
        *,
        sample_weight: Any = None,
        shape: Classifier | PathLike | None = None,
    ) -> Classifier:
        """Train on labelled points.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.
        Y : indicator matrix, label lists or classes
            Their labels: a sparse or dense 0/1 matrix or data frame, a sequence or series of
            lists of label ids or of label names, or one class per point. The sorted names
            become ``classes_``.
        sample_weight : array-like of float, shape (n_points,), optional
            Weights of the points; only some methods can weigh points, the others refuse them.
        shape : classifier or path, optional
            A model that was trained on similar data, or its file, whose label trees are kept:
            labels keep their places in the trees, new labels join the leaf with the most
            similar labels, and all weights are learnt from X and Y. Half as many predictions
            change as with new trees. Labels are matched by id, or by name if Y has names.

        Returns
        -------
        self : Classifier
            The fitted classifier. It is unchanged if ``fit`` raises an exception.
        """
        self._check_parameters()
        require_labels(self, Y)
        X = check_features(self, X, reset=True)
        try:
            labels = check_labels(Y, n_rows=X.shape[0], names=True)
        except ValueError as error:
            if look_swapped(X, Y):
                raise ValueError(f"{error}: are X and Y swapped?") from None
            raise
        warn_about_data(X, labels)
        shapes = None
        if shape is not None:
            previous = previous_model(shape, type(self))
            known = previous.class_names_, previous.n_labels_
            found = match_labels(*known, labels.classes, labels.matrix.shape[1])
            shapes = Shapes(previous, found)
        weights = check_sample_weight(self, sample_weight, X.shape[0])
        self._learn(X, labels.matrix, shapes, weights, labels.classes)
        if shapes is not None:
            shapes.check_all_taken()
        # scikit-learn requires dense predictions for dense labels.
        self._set_labels(labels.matrix.shape[1], labels.classes, dense_answers=labels.dense,
                        multilabel=labels.multilabel)  # fmt: skip
        return self

    @all_or_nothing
    def _fit_canonical(
        self, X: Csr, Y: Csr, shapes: Shapes | None = None, weights: Floats | None = None
    ) -> Classifier:
        """Train on validated matrices, as part of a composite.

        - ``shapes``: the label trees of a previous model.
        """
        self._check_parameters()
        self.n_features_in_ = X.shape[1]
        self._learn(X, Y, shapes, weights)
        self._set_labels(Y.shape[1])
        return self

    def _learn(
        self,
        X: Csr,
        Y: Csr,
        shapes: Shapes | None,
        weights: Floats | None = None,
        classes: NDArray[Any] | None = None,
    ) -> None:
        seed = check_seed(self.random_state)
        weights = with_class_weight(getattr(self, "class_weight", None), weights, Y, classes)
        weighing: dict[str, Any] = {}
        if weights is not None:  # points of weight 0 do not exist
            kept = np.flatnonzero(weights)
            X, Y = (X, Y) if len(kept) == len(weights) else (X[kept], Y[kept])
            weighing["weights"] = weights[kept]
        if Y.nnz == 0:
            raise ValueError("Y must have at least one label, got none for any point")
        begin = time.perf_counter()
        self._train(X, Y, seed, shapes, **weighing)
        logger.info("%s: fitted %d points, %d features, %d labels in %.2f s", type(self).__name__,
                    *X.shape, Y.shape[1], time.perf_counter() - begin)  # fmt: skip

    def _set_labels(
        self,
        n_labels: int,
        classes: NDArray[Any] | None = None,
        *,
        dense_answers: bool = False,
        multilabel: bool = True,
    ) -> None:
        """Set the number of labels and their classes; names and calibration are discarded."""
        self.n_labels_ = n_labels
        self.dense_answers_ = dense_answers
        self.multilabel_ = multilabel
        self.class_names_ = classes
        self.label_names_ = Names.of(classes) if multilabel and classes is not None else None
        self.vocabulary_ = None
        self.calibration_ = None

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes, label names or label ids."""
        if not hasattr(self, "n_labels_"):
            raise AttributeError(f"{type(self).__name__} is not fitted: it has no classes_ yet")
        # Computed on access: millions of ids are rarely needed.
        return np.arange(self.n_labels_) if self.class_names_ is None else self.class_names_

    def save(
        self,
        path: PathLike,
        *,
        weights: str = "float32",
        label_names: Sequence[str] | None = None,
        vocabulary: Sequence[str] | None = None,
    ) -> None:
        """Write the fitted model to one file; :func:`defrag.load` reads it.

        Parameters
        ----------
        path : path
            The file, usually ``*.safetensors``. It is written atomically, and equal models give
            equal bytes. ``n_jobs`` and ``verbose`` are not stored.
        weights : {"float32", "float16", "int8", "int4"}, default="float32"
            Type of the weights in the file; smaller types round the weights. "int4", for label
            trees, drops the smallest ones, too.
        label_names : sequence of str, optional
            Names of the labels, which the loaded model has as ``label_names_``; default: the
            ``label_names_`` of this model.
        vocabulary : sequence of str, optional
            Names of the features; default: the ``vocabulary_`` of this model.
        """
        check_is_fitted(self)
        if not WEIGHTS_RULE.accepts(weights):
            raise ValueError(f"weights must be {WEIGHTS_RULE.describe()}, got {weights!r}")
        named = copy(self)  # given names are stored in the file only, not in this model
        for name, given, own, length in (
            ("label_names", label_names, self.label_names_, self.n_labels_),
            ("vocabulary", vocabulary, self.vocabulary_, self.n_features_in_),
        ):
            names = own if given is None else given
            if names is not None:
                check_names(name, names, length)
            setattr(named, f"{name}_", names)
        save_model(named, path, weights=weights)

    @on_snapshot
    def predict_topk(
        self, X: MatrixLike, k: int = 5, *, empty: str = "bias", names: bool = False
    ) -> tuple[Any, Floats]:
        """Return the best labels of each point.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.
        k : int, default=5
            Number of labels; at most ``n_labels_`` are returned.
        empty : {"bias", "nothing"}, default="bias"
            Points without features, such as texts of unknown words, get the labels with the
            largest biases, with a :class:`defrag.exceptions.DataWarning`, or no labels.
        names : bool, default=False
            Whether to return label names instead of label ids.

        Returns
        -------
        labels : ndarray of int32, shape (n_points, min(k, ``n_labels_``))
            Label ids by decreasing score, then increasing id, padded with -1. With ``names``,
            an array of strings, padded with "".
        scores : ndarray of float32, of the same shape
            Their scores between 0 and 1, padded with 0.
        """
        if not hasattr(self, "n_labels_"):  # check_is_fitted is slow for a single row
            check_is_fitted(self)
        if not _K_RULE.accepts(k):
            raise ValueError(f"k must be {_K_RULE.describe()}, got {k!r}")
        if empty != "bias" and not _EMPTY_RULE.accepts(empty):
            raise ValueError(f"empty must be {_EMPTY_RULE.describe()}, got {empty!r}")
        known = label_names(self) if names else None
        X = check_rows(self, X, few=self._ranks_kernel_rows)
        labels, scores = self._rank(X, min(int(k), self.n_labels_), exhaustive=False)
        n_without = _native.count_empty_rows(X)
        if n_without:
            if empty == "nothing":
                none = (X.indptr[1:] == X.indptr[:-1])[:, None]
                labels, scores = np.where(none, -1, labels), np.where(none, 0, scores)
            else:
                warn_data(
                    f"{n_without:,} of {len(labels):,} points have no features: "
                    "they get the labels with the largest biases (empty='nothing' returns none)"
                )
        return (labels if known is None else known[labels]), scores

    @on_snapshot
    def decision_function(self, X: MatrixLike, k: int | None = None) -> Any:
        """Return a matrix of scores.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.
        k : int, optional
            Maximum number of labels per point; default: all that the search finds.

        Returns
        -------
        scores : csr_array, shape (n_points, n_labels)
            Scores between 0 and 1 of the labels that were found. After ``fit`` with a dense Y,
            the dense array that scikit-learn requires, in which positive values are predicted
            labels: scores minus one half, or for two classes one column, the score of the
            second class minus that of the first, divided by their sum.
        """
        check_is_fitted(self)
        rule = Int(1, none=True)
        if not rule.accepts(k):
            raise ValueError(f"k must be {rule.describe()}, got {k!r}")
        X = check_features(self, X, reset=False)
        return self._decisions(self._score_matrix(X, k))

    def _decisions(self, scores: Csr) -> Any:
        """Return scores in the form of :meth:`decision_function`."""
        if not self.dense_answers_:
            return scores
        dense = scores.toarray()
        if self.multilabel_:
            return dense - np.float32(_DEFAULT_THRESHOLD)
        if self.n_labels_ != 2:
            return dense
        # Divided by their sum, so that points are in the order of predict_proba.
        first, second = dense.T.astype(np.float64)
        total = first + second
        return np.where(total > 0, (second - first) / np.where(total > 0, total, 1), 0.0)

    @on_snapshot
    def predict(self, X: MatrixLike, *, threshold: float | None = None) -> Any:
        """Return predicted labels.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.
        threshold : float in [0, 1], default=0.5
            A label is predicted if its score is above this. Not allowed after ``fit`` with
            classes: the best class is predicted.

        Returns
        -------
        Y : csr_array, shape (n_points, n_labels)
            1 for labels whose score is above the threshold; dense after ``fit`` with a dense Y.
            After ``fit`` with classes: the best class of each point. After ``fit`` with lists of
            names: a list of lists of names, by decreasing score.
        """
        check_is_fitted(self)
        if not _THRESHOLD_RULE.accepts(threshold):
            rule = _THRESHOLD_RULE.describe()
            raise ValueError(f"threshold must be {rule}, got {threshold!r}")
        if not self.multilabel_ and threshold is not None:
            raise ValueError(f"threshold cannot be used with classes, got {threshold!r}")
        X = check_features(self, X, reset=False)
        if not self.multilabel_:
            # Not exhaustive: scoring every class of a large tree would take minutes.
            labels, _ = self._rank(X, 1, exhaustive=False)
            return self.classes_[np.maximum(labels[:, 0], 0)]
        above = _DEFAULT_THRESHOLD if threshold is None else float(threshold)
        scores = self._score_matrix(X, None, above=above)
        if self.class_names_ is not None:
            return names_by_score(scores, self.class_names_)
        scores.data = np.ones_like(scores.data)
        return scores.toarray().astype(np.int64) if self.dense_answers_ else scores

    def calibrate(self, X: MatrixLike, Y: LabelsLike, *, k: int = 50) -> Self:
        """Fit the map from scores to probabilities that ``predict_proba`` uses.

        The map is an isotonic regression, over the best k labels of each point, of whether a
        label is true on its score. All labels share one map. It is part of the saved model,
        and ``fit`` discards it.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Points that the classifier was not trained on: on training points the
            probabilities would be too high.
        Y : labels
            Their true labels, in any form that ``fit`` accepts.
        k : int, default=50
            Number of labels per point to learn from.

        Returns
        -------
        self : classifier
            The classifier; its rankings do not change.
        """
        labels, scores = self.predict_topk(X, k)
        truth = labels_of_model(self, check_labels(Y, n_rows=len(labels), names=True))
        calibrated = copy(self)
        calibrated.calibration_ = Calibration.of_ranking(labels, scores, truth)
        self.__dict__ = calibrated.__dict__
        return self

    @available_if(has_probabilities)  # type: ignore[untyped-decorator] # of scikit-learn
    @on_snapshot
    def predict_proba(self, X: MatrixLike) -> Any:
        """Return probabilities of labels; requires :meth:`calibrate`, except for classes.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.

        Returns
        -------
        probabilities : csr_array, shape (n_points, n_labels)
            The probability that a label is true, for the labels that the search finds. After
            ``fit`` with a dense Y, a dense array; for classes, the probabilities of a point
            are divided by their sum, and before calibration they are scores divided by theirs.
        """
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        return self._probabilities(self._score_matrix(X, None))

    def _probabilities(self, scores: Csr) -> Any:
        """Return the probabilities of labels that have these scores."""
        if self.calibration_ is not None:
            scores.data = self.calibration_(scores.data)
        if not self.dense_answers_:
            return scores
        dense = scores.toarray()
        if self.multilabel_:
            return dense
        sums = dense.sum(axis=1, keepdims=True)
        return np.where(sums > 0, dense / np.where(sums > 0, sums, 1), 1 / self.n_labels_)

    def score(self, X: MatrixLike, y: LabelsLike, sample_weight: Any = None) -> float:
        """Return P@1 as a fraction.

        Points without true labels count as zero. For classes this is the accuracy.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.
        y : labels
            True labels, in any form that ``fit`` accepts.
        sample_weight : array-like of float, shape (n_points,), optional
            Weights of the points.

        Returns
        -------
        score : float
            A number between 0 and 1.
        """
        check_is_fitted(self)
        if not self.multilabel_:
            return float(super().score(X, y, sample_weight))
        best = self.predict_topk(X, k=1)[0][:, 0]
        truth = labels_of_model(self, check_labels(y, n_rows=len(best), names=True))
        # Labels that are not in y, and padding, are wrong.
        known = np.flatnonzero((best >= 0) & (best < truth.shape[1]))
        hits = np.zeros(len(best))
        if len(known):  # for no entries, scipy does not return an array
            hits[known] = np.asarray(truth[known, best[known]]).ravel() > 0
        return float(np.average(hits, weights=sample_weight))

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

        Raises ValueError if there is no such label.
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
            raise unknown_label(label, Thesaurus.of_names(self.label_names_).search(label, 3))
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

    def _score_matrix(self, X: Csr, k: int | None, *, above: float = -1.0) -> Csr:
        """Return the scores above a threshold of the best k labels, or of all that are found."""
        k = self.n_labels_ if k is None else min(k, self.n_labels_)
        k = min(k, self._max_ranked()) if not self.dense_answers_ else k
        parts = []
        step = min(_ROWS_AT_A_TIME, 1 + SCORES_AT_A_TIME // k)
        for start in range(0, max(1, X.shape[0]), step):
            rows = X[start : start + step]
            labels, scores = self._rank(rows, k, exhaustive=self.dense_answers_)
            found = (labels >= 0) & (scores > above)
            indptr = np.append(0, np.cumsum(found.sum(axis=1)))
            shape = (rows.shape[0], self.n_labels_)
            part = sparse.csr_array((scores[found], labels[found], indptr), shape=shape)
            part.sort_indices()
            parts.append(part)
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
