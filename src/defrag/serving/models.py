"""Served models: from texts or feature maps to labels and scores, for many requests at once."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from defrag._names import Names
from defrag.explain import Explanations
from defrag.serving.requests import Model, RequestError
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from defrag.classifiers._base import Classifier
    from defrag.explain import Explanation
    from defrag.serving.overlay import Overlay
    from defrag.typing import Csr, Ids

_SAMPLE = 20
_LARGEST = float(np.finfo(np.float32).max)
_MAX_INPUTS = 64
"""Maximum number of inputs per call; between calls, the loop serves its connections."""


class ServedModel:
    """A classifier with lookups for the names of its features and labels.

    Parameters
    ----------
    name : str
        Name in requests.
    classifier : Classifier or TextClassifier
        The model, fitted.
    modified : datetime, optional
        When it was trained.
    allow, deny : sequence of str, optional
        Labels that a model of texts may suggest, and that it may not, as in ``predict_topk``.

    Attributes
    ----------
    n_labels : int
        Number of labels.
    usable : ndarray of bool, or None
        Which labels may be suggested, None for all.
    """

    def __init__(
        self,
        name: str,
        classifier: Classifier | TextClassifier,
        *,
        modified: datetime | None = None,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.modified = modified
        self.overlay: Overlay | None = None  # set by the loop with a person
        self.classifier = classifier
        self.takes_texts = isinstance(classifier, TextClassifier)
        vocabulary = None if isinstance(classifier, TextClassifier) else classifier.vocabulary_
        self.n_labels = len(classifier.classes_)
        self.usable: NDArray[np.bool_] | None = None
        if isinstance(classifier, TextClassifier):
            self.usable = classifier._usable(allow, deny)
        elif allow is not None or deny:
            raise ValueError(
                f"model {name!r} takes rows: only labels of texts are allowed or denied"
            )
        self._labels_at = _labels_of(classifier)
        self._features = {word: j for j, word in enumerate(vocabulary or ())}

    def describe(self) -> Model:
        """Return the description of the model for clients."""
        if not isinstance(self.classifier, TextClassifier):
            return Model(self.name, "rows", self.n_labels)
        kind = self.classifier._labels_.score_kind
        return Model(self.name, "texts", self.n_labels, kind)

    def sample(self) -> Any:
        """Return an input with known features: a text, or a row as a dictionary."""
        if isinstance(self.classifier, TextClassifier):
            return " ".join(self.classifier.vectorizer_.words_[:_SAMPLE])
        names = list(self._features)[:_SAMPLE]
        n_features = self.classifier.n_features_in_
        return dict.fromkeys(names or map(str, range(min(_SAMPLE, n_features))), 1.0)

    def warm_up(self) -> None:
        """Predict and explain a point with known features, so that lazy structures are built.

        Raises ValueError if the model cannot predict.
        """
        given = self.sample()
        found = self.predict(self.check([given]), 5)
        if not all(np.isfinite(score) for row in found for _, score in row):
            raise ValueError(f"model {self.name!r} has scores that are not numbers")
        self.explain(given, None, 1)

    def check(self, inputs: Sequence[Any]) -> list[Any]:
        """Return inputs in the form that ``predict`` takes; raise RequestError for others."""
        return self._texts(inputs) if self.takes_texts else [self._row(row) for row in inputs]

    def predict(
        self, checked: list[Any], k: int, *, answers: bool = False
    ) -> list[list[tuple[Any, float]]]:
        """Return labels and scores of checked inputs, by decreasing score; or only the answers.

        The answer to an input does not depend on the others in the batch.
        """
        if not checked:
            return []
        k = min(k, self.n_labels)
        if self.overlay:
            ranked = self.overlay.rank(checked, k, self.usable)
            ranked = self.overlay.answers(ranked) if answers else ranked
            return [list(one.items()) for one in ranked]
        if isinstance(self.classifier, TextClassifier):
            given: Any = {"k": k, "usable": self.usable, "answers": answers}
            ids, scores = self.classifier._predict_ids(checked, **given)
        else:
            X = self._matrix(checked)
            ids, scores = self.classifier.predict_topk(X, k=k, empty="nothing")
        found = ids >= 0
        pairs = zip(self._labels_at(ids[found]), scores[found].tolist(), strict=True)
        return [list(islice(pairs, n)) for n in found.sum(axis=1).tolist()]

    def explain(self, given: Any, label: Any, k: int) -> tuple[Explanation, ...]:
        """Return explanations of a label, or of the k best labels."""
        if isinstance(self.classifier, TextClassifier):
            point: Any = self._texts([given])[0]
        else:
            point = self._matrix([self._row(given)])
        if self.overlay:
            ranked = self.overlay.rank([point], max(k, 1), self.usable)[0]
            asked = [label] if label is not None else list(ranked)[:k]
            return Explanations([self.overlay.explain(point, one) for one in asked])
        if label is None and self.usable is not None:
            found = [label for label, _ in self.predict([point], k)[0]]
            return Explanations([self.classifier.explain(point, one) for one in found])
        if label is None:
            k = min(k, self.n_labels)
            return self.classifier.explain(point, k=k)
        try:
            return Explanations([self.classifier.explain(point, label)])
        except ValueError as error:
            raise RequestError(404, str(error)) from error

    def _texts(self, inputs: Sequence[Any]) -> list[str]:
        if not all(isinstance(text, str) for text in inputs):
            raise RequestError(422, f"model {self.name!r} takes texts, not rows")
        return list(inputs)

    def _row(self, row: Any) -> tuple[list[int], list[float]]:
        """Return the features and values of a row, sorted by feature."""
        if not isinstance(row, dict):
            raise RequestError(422, f"model {self.name!r} takes rows, not texts")
        # Unknown features are dropped, like unknown words.
        known = sorted(
            (feature, value) for name, value in row.items() if (feature := self._feature(name)) >= 0
        )
        if not all(-_LARGEST <= value <= _LARGEST for _, value in known):
            raise RequestError(422, "the values of a row must fit into 32 bits")
        return [feature for feature, _ in known], [float(value) for _, value in known]

    def _matrix(self, rows: list[tuple[list[int], list[float]]]) -> Csr:
        columns = np.array([one for features, _ in rows for one in features], dtype=np.int32)
        data = np.array([one for _, values in rows for one in values], dtype=np.float32)
        ends = np.cumsum([0, *(len(features) for features, _ in rows)], dtype=np.int32)
        shape = (len(rows), self.classifier.n_features_in_)
        return sparse.csr_array((data, columns, ends), shape=shape)

    def _feature(self, name: str) -> int:
        """Return the id of a feature given by its name or id, -1 if it is unknown."""
        if self._features:
            return self._features.get(name, -1)
        number = int(name) if name.isdecimal() and len(name) < 11 else -1
        return number if number < self.classifier.n_features_in_ else -1


def _labels_of(classifier: Classifier | TextClassifier) -> Callable[[Ids], list[Any]]:
    """Return a function from label ids to labels as they appear in answers."""
    classes = classifier.classes_
    if isinstance(classifier, TextClassifier):
        found = Names.of(classes) if classes.dtype == object else classes
    else:
        names = classifier.label_names_
        found = classes if names is None else Names.of(names)
    return lambda ids: found[ids].tolist()


class _Waiting(NamedTuple):
    model: ServedModel
    k: int
    answers: bool
    inputs: list[Any]
    answer: asyncio.Future[list[list[tuple[Any, float]]]]


class Batcher:
    """Answer requests that arrive at the same time with one call of ``predict_topk``.

    Requests that arrive in one iteration of the event loop are predicted in the next one, on the
    loop itself, without a timer. Only requests for the same k share a call, because a search for
    more labels may find other labels; those for answers have calls of their own.

    - ``predicted``: called with the name of the model and the number of inputs of each call.
    """

    def __init__(self, predicted: Callable[[str, int], None]) -> None:
        self._predicted = predicted
        self._waiting: list[_Waiting] = []

    async def predict(
        self, model: ServedModel, inputs: list[Any], k: int, *, answers: bool = False
    ) -> list[list[tuple[Any, float]]]:
        """Return labels and scores of each input; the model must have checked the inputs."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        answer: asyncio.Future[list[list[tuple[Any, float]]]] = loop.create_future()
        self._waiting.append(_Waiting(model, k, answers, inputs, answer))
        return await answer

    def _flush(self) -> None:
        batch = self._next_batch()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        model, k, answers = batch[0][:3]
        inputs = [one for waiting in batch for one in waiting.inputs]
        try:
            found = model.predict(inputs, k, answers=answers)
        except Exception as error:  # noqa: BLE001 - raised in the waiting requests
            for waiting in batch:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
            return
        self._predicted(model.name, len(inputs))
        start = 0
        for waiting in batch:
            end = start + len(waiting.inputs)
            if not waiting.answer.done():  # the client may have disconnected
                waiting.answer.set_result(found[start:end])
            start = end

    def _next_batch(self) -> list[_Waiting]:
        """Remove from the queue the first request and those that can share its call."""
        first, n_inputs = self._waiting[0], 0
        batch: list[_Waiting] = []
        rest: list[_Waiting] = []
        for waiting in self._waiting:
            same = waiting.model is first.model and waiting[1:3] == first[1:3]
            if same and (not batch or n_inputs + len(waiting.inputs) <= _MAX_INPUTS):
                batch.append(waiting)
                n_inputs += len(waiting.inputs)
            else:
                rest.append(waiting)
        self._waiting = rest
        return batch
