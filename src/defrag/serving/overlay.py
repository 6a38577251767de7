"""What corrections teach at once, until the model is trained again.

A corrected text moves the scores of texts that are like it. What moves them is the error of the
model on the corrected text: what a person said, 1 or 0, less the score. Errors of several corrected
texts are averaged with weights that grow with the cosine of two rows, so that a text that has been
corrected itself has the labels it was given, one with a common word hardly changes, and nothing is
left to change once the model has learnt the corrections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag.typing import Csr

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
        self._learnt: dict[str, tuple[Csr, Ranking]] = {}
        self._joined: tuple[Csr, Csr, list[Any]] | None = None

    def __len__(self) -> int:
        return len(self._learnt)

    def learn(self, corrections: Mapping[str, Sequence[str] | None]) -> None:
        """Take up the labels that texts have now; None for those that have no correction."""
        self._joined = None
        for text in corrections:
            self._learnt.pop(text, None)
        texts = [text for text, labels in corrections.items() if labels is not None][-MOST:]
        rows = self.model._rows(texts)
        for place, (text, found) in enumerate(zip(texts, self._ranked(texts, _RANKED), strict=True)):
            errors = {label: -score for label, score in found.items()}
            for label in corrections[text] or ():
                errors[label] = 1.0 + errors.get(label, 0.0)
            self._learnt[text] = rows[[place]], errors
        for text in list(self._learnt)[: len(self._learnt) - MOST]:
            del self._learnt[text]

    def rank(self, texts: list[str], k: int, usable: Any = None) -> list[Ranking]:
        """Return the best k labels of texts and their scores; also labels new to the model."""
        found = self._ranked(texts, max(k, _RANKED), usable)
        for ranking, changes in zip(found, self.changes(texts), strict=True):
            if changes:
                for label, change in changes.items():
                    score = min(1.0, ranking.get(label, 0.0) + change)
                    ranking[label] = score
        return [
            dict(sorted(((a, b) for a, b in one.items() if b > 0), key=lambda pair: -pair[1])[:k])
            for one in found
        ]

    def changes(self, texts: list[str]) -> list[Ranking]:
        """Return how much corrections add to the score of each label."""
        if not self._learnt:
            return [{} for _ in texts]
        rows, errors, labels = self._matrices()
        near = sparse.csr_array(self.model._rows(texts) @ rows.T)
        near.data[near.data < _LEAST_COSINE] = 0.0
        near.eliminate_zeros()
        cosines = np.minimum(near.data.astype(np.float64), 1.0)
        near.data = cosines**_POWER / (1.0 + _NEAR - cosines)
        scale = 1.0 / (_PRIOR + np.asarray(near.sum(axis=1)).ravel())
        moved = sparse.csr_array(near @ errors)
        moved.data *= np.repeat(scale, np.diff(moved.indptr))
        bounds = moved.indptr.tolist()
        return [
            dict(zip(map(labels.__getitem__, moved.indices[a:b].tolist()), moved.data[a:b].tolist(),
                     strict=True))
            for a, b in zip(bounds, bounds[1:], strict=False)
        ]  # fmt: skip

    def _ranked(self, texts: list[str], k: int, usable: Any = None) -> list[Ranking]:
        model = self.model
        ids, scores = model._predict_ids(texts, k=min(k, len(model.classes_)), usable=usable)
        return [
            {label: score for label, score, known in zip(*row, strict=True) if known}
            for row in zip(model.classes_[ids].tolist(), scores.tolist(), (ids >= 0).tolist(),
                           strict=True)
        ]  # fmt: skip

    def _matrices(self) -> tuple[Csr, Csr, list[Any]]:
        """Return the rows of corrected texts, their errors, and the labels of the columns."""
        if self._joined is None:
            columns: dict[Any, int] = {}
            for _, errors in self._learnt.values():
                for label in errors:
                    columns.setdefault(label, len(columns))
            counts = [len(errors) for _, errors in self._learnt.values()]
            joined = [pair for _, errors in self._learnt.values() for pair in errors.items()]
            ids = np.array([columns[label] for label, _ in joined], dtype=np.int32)
            data = np.array([error for _, error in joined])
            shape = len(counts), len(columns)
            matrix = sparse.csr_array((data, ids, np.cumsum([0, *counts])), shape=shape)
            rows = sparse.csr_array(sparse.vstack([row for row, _ in self._learnt.values()]))
            self._joined = rows, matrix, list(columns)
        return self._joined
