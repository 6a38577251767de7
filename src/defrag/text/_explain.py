"""Explanations of the labels of texts by their words."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from defrag._estimator import Estimator, on_snapshot, snapshot
from defrag.classifiers._explain import check_count, explain_point, features_of_label
from defrag.explain import Explanations
from defrag.explain._highlight import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.classifiers._base import Classifier
    from defrag.explain import Explanation, LabelFeatures
    from defrag.text.vectorizer import TextVectorizer
    from defrag.typing import Csr

__all__ = ["ExplainableTexts"]

_UNKNOWN = "the text has no known word, so no label is predicted"


class ExplainableTexts(Estimator):
    """Mixin of text classifiers that explains scores."""

    base_: Classifier
    vectorizer_: TextVectorizer
    classes_: NDArray[Any]

    @abstractmethod
    def rows(self, texts: Sequence[str]) -> Csr:
        """Return texts as the rows that the classifier ranks labels for."""

    @overload
    def explain(self, text: str, label: str | None = None, *, k: None = None) -> Explanation: ...

    @overload
    def explain(self, text: str, label: None = None, *, k: int) -> Explanations: ...

    def explain(self, text: str, label: str | None = None, *, k: int | None = None) -> Any:
        """Explain the score of a label, or those of the best labels, for one text.

        Parameters
        ----------
        text : str
            The text.
        label : str, optional
            The name of a label; default: the best label.
        k : int, optional
            Explain the best k labels.

        Returns
        -------
        explanation : Explanation, or Explanations if k is given
            What each word contributes to the score, which is that of ``predict_topk``, and the
            score without it; shown with the words marked in the text.
        """
        return snapshot(self)._explain(text, label, k)  # noqa: SLF001 - of the same class

    def _explain(self, text: str, label: str | None, k: int | None) -> Any:
        check_is_fitted(self)
        if not isinstance(text, str):
            raise ValueError(f"text must be one string, got {text!r:.60}")  # noqa: TRY004 - as every other bad value
        row = self.rows([text])
        number = None if label is None else self._number(label)
        if not row.nnz and number is None:
            if k is None:
                raise ValueError(_UNKNOWN)
            check_count("k", k)
            return Explanations()
        found = explain_point(
            self.base_, row, number, k, label_of=self.classes_.__getitem__, names=self._names()
        )
        features, begins, ends = self.vectorizer_.spans(text)
        places = zip(features.tolist(), begins.tolist(), ends.tolist(), strict=True)
        spans = [Span(*place) for place in places]
        if isinstance(found, Explanations):
            return Explanations(one.in_text(text, spans) for one in found)
        return found.in_text(text, spans)

    @on_snapshot
    def label_features(self, label: str, n: int = 50) -> LabelFeatures:
        """Return the words that raise the score of a label most on their own.

        Parameters
        ----------
        label : str
            The name of a label.
        n : int, default=50
            The number of words.

        Returns
        -------
        features : LabelFeatures
            Words that raise the score of an empty text, each with the score of a text that
            contains only this word.
        """
        check_is_fitted(self)
        number = self._number(label)
        return features_of_label(self.base_, (number, label), self._names(), n)

    def _number(self, label: str) -> int:
        found = np.flatnonzero(self.classes_ == label) if isinstance(label, str) else ()
        if not len(found):
            raise ValueError(f"label must be a label of the model, got {label!r}")
        return int(found[0])

    def _names(self) -> Sequence[str]:
        names: Sequence[str] = self.vectorizer_.names_  # type: ignore[assignment] # indexed only
        return names
