"""What corrections teach at once, until the model is trained again.

A corrected text moves the scores of texts that are like it. What moves them is the error of the
model on the corrected text: what a person said, 1 or 0, less the score. Errors of several
corrected texts are averaged with weights that grow with the cosine of two rows, so that one with a
common word hardly changes, and nothing is left to change once the model has learnt the corrections.
A text that has been corrected itself has the labels it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag.explain.explanation import Explanation, without_features
from defrag.serving.requests import RequestError
from defrag.typing import Csr, Floats, Ids

if TYPE_CHECKING:
    from defrag.text import TextClassifier

Ranking = dict[Any, float]
"""Scores by label, best first."""

_RANKED = 50
_LEAST_COSINE = 0.1
# Chosen on training texts of debian and tibkat-core: docs/loop.md has what they gain.
_POWER, _NEAR, _PRIOR = 3.0, 0.01, 10.0
MOST = 5000
"""Corrections that are used; older ones wait for the next training."""


class Overlay:
    """Scores of a model of texts, moved by corrections.

    - ``model``: the model, whose labels are lists of names.
    """

    def __init__(self, model: TextClassifier) -> None:
        self.model = model
        self._places = {label: i for i, label in enumerate(model.classes_.tolist())}
        self._learnt: dict[str, tuple[Csr, Ranking]] = {}
        self._joined: tuple[Csr, Csr, list[Any]] | None = None

    def __len__(self) -> int:
        return len(self._learnt)

    def learn(self, corrections: Mapping[str, Sequence[str] | None]) -> None:
        """Take up the labels that texts have now; None for those that have no correction.

        A thread that ranks meanwhile sees either all of it or nothing.
        """
        learnt = {text: one for text, one in self._learnt.items() if text not in corrections}
        texts = [text for text, labels in corrections.items() if labels is not None][-MOST:]
        rows = self.model._rows(texts)
        for place, (text, found) in enumerate(
            zip(texts, self._ranked(texts, _RANKED), strict=True)
        ):
            errors = {label: -score for label, score in found.items()}
            for label in corrections[text] or ():
                errors[label] = 1.0 + errors.get(label, 0.0)
            learnt[text] = rows[[place]], errors
        self._learnt = dict(list(learnt.items())[-MOST:])
        self._joined = _joined(*zip(*self._learnt.values(), strict=True)) if self._learnt else None

    def rank(self, texts: list[str], k: int, usable: Any = None) -> list[Ranking]:
        """Return the best k labels of texts and their scores; also labels new to the model."""
        found = self._ranked(texts, max(k, _RANKED), usable)
        for ranking, changes in zip(found, self.changes(texts), strict=True):
            for label, change in changes.items():
                ranking[label] = min(1.0, ranking.get(label, 0.0) + change)
        return [
            dict(sorted(((a, b) for a, b in one.items() if b > 0), key=lambda pair: -pair[1])[:k])
            for one in found
        ]

    def changes(self, texts: list[str]) -> list[Ranking]:
        """Return how much corrections add to the score of each label."""
        if self._joined is None:
            return [{} for _ in texts]
        (rows, errors, labels), own = self._joined, self._learnt
        near = sparse.csr_array(self.model._rows(texts) @ rows.T)
        near.data[near.data < _LEAST_COSINE] = 0.0
        near.eliminate_zeros()
        cosines = np.minimum(near.data.astype(np.float64), 1.0)
        near.data = cosines**_POWER / (1.0 + _NEAR - cosines)
        scale = 1.0 / (_PRIOR + np.asarray(near.sum(axis=1)).ravel())
        moved = sparse.csr_array(near @ errors)
        moved.data *= np.repeat(scale, np.diff(moved.indptr))
        moved_labels, by = [labels[i] for i in moved.indices.tolist()], moved.data.tolist()
        return [
            own[text][1] if text in own else dict(zip(moved_labels[a:b], by[a:b], strict=True))
            for text, (a, b) in zip(texts, pairwise(moved.indptr.tolist()), strict=True)
        ]

    def explain(self, text: str, label: Any) -> Explanation:
        """Explain a score: what the words add, and what corrections of texts like it do."""
        change = self.changes([text])[0].get(label, 0.0)
        if label in self._places:
            found: Explanation = self.model.explain(text, label)
        elif change:
            found = without_features(len(self._places), label)
        else:
            raise RequestError(404, f"neither the model nor a correction has the label {label!r}")
        if not change:
            return found
        term = "corrections of texts like this", min(change, 1.0 - found.score)
        return found.with_terms([term], len(self.model.vectorizer_.idf_) + self.model.n_extra_)

    def probabilities(self, rankings: list[Ranking]) -> list[list[float]]:
        """Return how likely ranked labels are: what ``fit`` has learnt, or else their scores."""
        answers = self.model.answers_
        if answers is None:
            return [list(one.values()) for one in rankings]
        odds = answers.log_odds(*self._arrays(rankings))
        likely = 1.0 / (1.0 + np.exp(-np.clip(odds, -500, 500)))
        return [row[: len(one)].tolist() for row, one in zip(likely, rankings, strict=True)]

    def answers(self, rankings: list[Ranking]) -> list[Ranking]:
        """Return the ranked labels that are answers."""
        labels, scores = self._arrays(rankings)
        found = self.model.answers_
        kept = scores > 0.5 if found is None else found.chosen(labels, scores)
        return [
            {label: score for (label, score), good in zip(one.items(), row, strict=False) if good}
            for one, row in zip(rankings, kept.tolist(), strict=True)
        ]

    def _arrays(self, rankings: list[Ranking]) -> tuple[Ids, Floats]:
        """Return rankings as places in ``classes_``; a label new to the model is after the last."""
        n_labels = len(self._places)
        width = max(1, *map(len, rankings)) if rankings else 1
        labels = np.full((len(rankings), width), -1, dtype=np.int32)
        scores = np.zeros((len(rankings), width), dtype=np.float32)
        for row, one in enumerate(rankings):
            labels[row, : len(one)] = [self._places.get(label, n_labels) for label in one]
            scores[row, : len(one)] = list(one.values())
        return labels, scores

    def _ranked(self, texts: list[str], k: int, usable: Any = None) -> list[Ranking]:
        model = self.model
        ids, scores = model._predict_ids(texts, k=min(k, len(model.classes_)), usable=usable)
        return [
            {label: score for label, score, known in zip(*row, strict=True) if known}
            for row in zip(model.classes_[ids].tolist(), scores.tolist(), (ids >= 0).tolist(),
                           strict=True)
        ]  # fmt: skip


def _joined(rows: Sequence[Csr], errors: Sequence[Ranking]) -> tuple[Csr, Csr, list[Any]]:
    """Return the rows of corrected texts, their errors, and the labels of the columns."""
    columns: dict[Any, int] = {}
    for one in errors:
        for label in one:
            columns.setdefault(label, len(columns))
    ids = np.array([columns[label] for one in errors for label in one], dtype=np.int32)
    data = np.array([error for one in errors for error in one.values()])
    ends = np.cumsum([0, *map(len, errors)])
    matrix = sparse.csr_array((data, ids, ends), shape=(len(errors), len(columns)))
    return sparse.csr_array(sparse.vstack(rows)), matrix, list(columns)
