"""Models that are served: texts or feature maps in, names and scores out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag.explain import Explanations
from defrag.serving.requests import RequestError
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.classifiers._base import Classifier
    from defrag.explain import Explanation
    from defrag.typing import Csr

__all__ = ["ServedModel"]

_LARGEST = float(np.finfo(np.float32).max)


class ServedModel:
    """A classifier with the names of its features and labels at hand.

    Parameters
    ----------
    name : str
        What requests call it.
    classifier : Classifier or TextClassifier
        The model, fitted.
    """

    def __init__(self, name: str, classifier: Classifier | TextClassifier) -> None:
        self.name = name
        self.classifier = classifier
        self.takes_texts = isinstance(classifier, TextClassifier)
        vocabulary = None if isinstance(classifier, TextClassifier) else classifier.vocabulary_
        self._features = {word: j for j, word in enumerate(vocabulary or ())}

    def describe(self) -> dict[str, Any]:
        """Return what a client should know."""
        return {
            "name": self.name,
            "takes": "texts" if self.takes_texts else "rows",
            "labels": len(self.classifier.classes_),
        }

    def suggest(
        self, inputs: Sequence[Any], k: int, threshold: float
    ) -> list[list[dict[str, Any]]]:
        """Return the best labels of each input, with their scores."""
        if not inputs:
            return []
        k = min(k, len(self.classifier.classes_))
        if isinstance(self.classifier, TextClassifier):
            names, scores = self.classifier.predict_topk(self._texts(inputs), k=k)
            rows = [[name or None for name in row] for row in names.tolist()]
        else:
            X = self._rows(inputs)
            ids, scores = self.classifier.predict_topk(X, k=k, empty="nothing")
            rows = [[None if i < 0 else self._label(i) for i in row] for row in ids.tolist()]
        return [
            [
                {"label": label, "score": score}
                for label, score in zip(labels, values, strict=True)
                if label is not None and score >= threshold
            ]
            for labels, values in zip(rows, scores.tolist(), strict=True)
        ]

    def explain(self, given: Any, label: Any, k: int) -> tuple[Explanation, ...]:
        """Return explanations of a label, or of the best k."""
        if isinstance(self.classifier, TextClassifier):
            point: Any = self._texts([given])[0]
        else:
            point = self._rows([given])
        if label is None:
            k = min(k, len(self.classifier.classes_))
            return self.classifier.explain(point, k=k)
        try:
            return Explanations([self.classifier.explain(point, label)])
        except ValueError as error:
            raise RequestError(404, str(error)) from error

    def _texts(self, inputs: Sequence[Any]) -> list[str]:
        for text in inputs:
            if not isinstance(text, str):
                raise RequestError(422, f"model {self.name!r} takes texts, not rows")
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise RequestError(422, "a text has a lone surrogate") from error
        return list(inputs)

    def _rows(self, inputs: Sequence[Any]) -> Csr:
        columns, values, ends = [], [], [0]
        for row in inputs:
            if not isinstance(row, dict):
                raise RequestError(422, f"model {self.name!r} takes rows, not texts")
            # Features that the model does not know are left out, as unknown words are.
            known = sorted((self._feature(name), value) for name, value in row.items())
            known = [(feature, value) for feature, value in known if feature >= 0]
            columns += [feature for feature, _ in known]
            values += [value for _, value in known]
            ends.append(len(columns))
        if not all(-_LARGEST <= value <= _LARGEST for value in values):
            raise RequestError(422, "the values of a row must fit into 32 bits")
        data = np.array(values, dtype=np.float32)
        shape = (len(inputs), self.classifier.n_features_in_)
        return sparse.csr_array((data, np.array(columns, dtype=np.int32), ends), shape=shape)

    def _feature(self, name: str) -> int:
        """Return the id of a feature given by its name or its id, -1 for an unknown one."""
        if self._features:
            return self._features.get(name, -1)
        number = int(name) if name.isdecimal() and len(name) < 11 else -1
        return number if number < self.classifier.n_features_in_ else -1

    def _label(self, number: int) -> Any:
        names = self.classifier.label_names_
        if names is not None:
            return names[number]
        label = self.classifier.classes_[number]
        return label.item() if isinstance(label, np.generic) else label
