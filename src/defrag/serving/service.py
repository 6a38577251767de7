"""State shared by the routes of an application: models, limits and access."""

from __future__ import annotations

import hmac
from itertools import chain
from typing import TYPE_CHECKING, Any

from defrag.serving.batching import Batcher
from defrag.serving.board import Board
from defrag.serving.limits import Limits
from defrag.serving.logs import Log
from defrag.serving.metrics import Metrics
from defrag.serving.requests import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from defrag.explain import Explanation
    from defrag.serving.models import ServedModel
    from defrag.serving.vocabulary import Vocabulary

__all__ = ["Service"]


class Service:
    """Models, limits and counters that the routes use.

    Parameters
    ----------
    models : sequence of ServedModel
        The models; the first is the default.
    limits : Limits, optional
        Bounds on requests.
    token : str, optional
        Token that clients must send as ``Authorization: Bearer ...``.
    vocabulary : Vocabulary, optional
        Names of labels, and the subjects that Annif's routes may suggest; default: all labels,
        without names.
    board : Board, optional
        Where workers count; default: a board of this process.
    log : Log, optional
        Log of requests; default: standard error.

    Attributes
    ----------
    authorization : str
        The header ``Authorization`` that clients must send; empty: none.
    draining : bool
        Whether every answer is the last one of its connection.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        limits: Limits | None = None,
        token: str | None = None,
        vocabulary: Vocabulary | None = None,
        board: Board | None = None,
        log: Log | None = None,
    ) -> None:
        self.models = {model.name: model for model in models}
        self.limits = limits or Limits()
        self.board = board or Board(1)
        self.metrics = Metrics(self.board, list(self.models))
        self.log = log or Log()
        self.draining = False
        self.vocabulary = vocabulary
        self.authorization = "" if token is None else f"Bearer {token}"
        self._batcher = Batcher(self.metrics.predicted)

    def model(self, name: str | None = None) -> ServedModel:
        """Return a model by its name, or the first.

        Raises
        ------
        RequestError
            If there is no model with this name.
        """
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise RequestError(404, f"no model {name!r:.60}")
        return self.models[name]

    def check_token(self, request: Request) -> None:
        """Reject a request without the token, if the server has one."""
        if not self.authorization:
            return
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode("latin-1"), self.authorization.encode()):
            raise RequestError(401, "give the token as 'Authorization: Bearer TOKEN'")

    async def suggest(
        self, model: ServedModel, inputs: Sequence[Any], k: int, threshold: float
    ) -> list[list[dict[str, Any]]]:
        """Return the best labels of each input: dictionaries of ``label`` and ``score``.

        Labels in the vocabulary also have a ``name``.

        Parameters
        ----------
        model : ServedModel
            The model.
        inputs : sequence
            Texts, or rows as dictionaries from features to values.
        k : int
            Number of labels, at least 1; larger values are reduced to ``limits.max_k``.
        threshold : float
            Minimum score of a label.
        """
        checked = model.check(inputs)
        found = await self._batcher.predict(model, checked, min(k, self.limits.max_k))
        results = [
            [{"label": label, "score": score} for label, score in row if score >= threshold]
            for row in found
        ]
        if self.vocabulary is not None:
            for one in chain.from_iterable(results):
                self.add_name(one)
        return results

    def add_name(self, one: dict[str, Any]) -> None:
        """Add the name of a ``label`` that is in the vocabulary."""
        subject = None if self.vocabulary is None else self.vocabulary.subjects.get(one["label"])
        if subject is not None:
            one["name"] = subject.name

    async def explain(
        self, model: ServedModel, given: Any, label: Any, k: int
    ) -> tuple[Explanation, ...]:
        """Return explanations of a label, or of the k best labels if it is None."""
        return model.explain(given, label, min(k, self.limits.max_explained))
