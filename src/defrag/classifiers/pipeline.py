"""A scikit-learn pipeline that ends in a classifier with ``predict_topk``."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline

from defrag.typing import Floats, Ids

if TYPE_CHECKING:
    from defrag.explain import LabelFeatures


def predict_topk(model: Any, X: Any, k: int = 5, **options: Any) -> tuple[Ids, Floats]:
    """Return the best labels of each point by a fitted classifier, or a pipeline that ends in one.

    ``X`` is the input of the classifier or of the first step; ``options`` are further arguments of
    ``predict_topk`` of the classifier.
    """
    if isinstance(model, Pipeline):
        for step in _transformers(model):
            X = step.transform(X)
        model = model.steps[-1][1]
    labels, scores = model.predict_topk(X, k=k, **options)
    return labels, scores


def _transformers(pipeline: Pipeline) -> list[Any]:
    """Return the steps before the last one that are not skipped."""
    return [step for _, step in pipeline.steps[:-1] if step not in (None, "passthrough")]


class TopKPipeline(Pipeline):
    """A pipeline with the methods ``predict_topk`` and ``explain`` of its last step.

    The parameters are those of :class:`sklearn.pipeline.Pipeline`.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from defrag import LabelTree
    >>> from defrag.classifiers.pipeline import TopKPipeline
    >>> texts = ["red apple", "green apple", "red car", "green car"]
    >>> model = TopKPipeline([("words", TfidfVectorizer()), ("labels", LabelTree(random_state=0))])
    >>> model.fit(texts, [[0], [0], [1], [1]]).predict_topk(["blue car"], k=1)[0].tolist()
    [[1]]
    """

    def predict_topk(self, X: Any, k: int = 5, **options: Any) -> tuple[Ids, Floats]:
        """Return the best labels of each point.

        Parameters
        ----------
        X : data
            Input of the first step, such as texts.
        k : int, default=5
            Number of labels.
        **options : dict
            Further arguments of the last step's ``predict_topk``.

        Returns
        -------
        labels, scores : ndarray
            The result of ``predict_topk`` of the last step.
        """
        return predict_topk(self, X, k, **options)

    def explain(self, X: Any, label: Any = None, *, k: int | None = None) -> Any:
        """Explain the score of a label, or those of the best labels, for one point.

        Parameters
        ----------
        X : data
            Input of the first step for one point: a text, or one row.
        label : int, str or class, optional
            The label; default: the best one.
        k : int, optional
            Explain the best k labels.

        Returns
        -------
        explanation : Explanation, or Explanations if k is given
            The contributions of the features of the last step, with the names that the
            previous steps give them.
        """
        rows = [X] if isinstance(X, str) else X
        for step in _transformers(self):
            rows = step.transform(rows)
        return self._named_classifier().explain(rows, label, k=k)

    def label_features(self, label: Any, n: int = 50) -> LabelFeatures:
        """Return the features that, each on its own, give a label the highest scores.

        Parameters
        ----------
        label : int, str or class
            The label.
        n : int, default=50
            Number of features.

        Returns
        -------
        features : LabelFeatures
            Features of the last step.
        """
        found: LabelFeatures = self._named_classifier().label_features(label, n)
        return found

    def _named_classifier(self) -> Any:
        """Return the last step with the feature names that the previous steps give."""
        model = copy(self.steps[-1][1])
        transformers = _transformers(self)
        if transformers and all(hasattr(step, "get_feature_names_out") for step in transformers):
            model.vocabulary_ = self[:-1].get_feature_names_out().tolist()
        return model
