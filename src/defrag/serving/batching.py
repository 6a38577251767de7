"""Batches of the requests that arrive in one iteration of the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.serving.models import ServedModel

__all__ = ["Batcher"]

_MAX_INPUTS = 64
"""Maximum number of inputs per call; between calls, the loop serves its connections."""


class _Waiting(NamedTuple):
    model: ServedModel
    k: int
    inputs: list[Any]
    answer: asyncio.Future[list[list[tuple[Any, float]]]]


class Batcher:
    """Answer requests that arrive at the same time with one call of ``predict_topk``.

    Requests that arrive in one iteration of the event loop are predicted in the next one, on the
    loop itself, without a timer. Only requests for the same k share a call, because a search for
    more labels may find other labels.

    Parameters
    ----------
    predicted : callable
        Called with the name of the model and the number of inputs of each call.
    """

    def __init__(self, predicted: Callable[[str, int], None]) -> None:
        self._predicted = predicted
        self._waiting: list[_Waiting] = []

    async def predict(
        self, model: ServedModel, inputs: list[Any], k: int
    ) -> list[list[tuple[Any, float]]]:
        """Return labels and scores of each input; the model must have checked the inputs."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        answer: asyncio.Future[list[list[tuple[Any, float]]]] = loop.create_future()
        self._waiting.append(_Waiting(model, k, inputs, answer))
        return await answer

    def _flush(self) -> None:
        batch = self._next_batch()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        model, k = batch[0].model, batch[0].k
        inputs = [one for waiting in batch for one in waiting.inputs]
        try:
            found = model.predict(inputs, k)
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
        first = self._waiting[0]
        batch: list[_Waiting] = []
        rest: list[_Waiting] = []
        n_inputs = 0
        for waiting in self._waiting:
            same = waiting.model is first.model and waiting.k == first.k
            if same and (not batch or n_inputs + len(waiting.inputs) <= _MAX_INPUTS):
                batch.append(waiting)
                n_inputs += len(waiting.inputs)
            else:
                rest.append(waiting)
        self._waiting = rest
        return batch
