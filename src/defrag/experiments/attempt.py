"""An attempt at a run: its result, or the error that ended it, as part of a record."""

from __future__ import annotations

import errno
import warnings
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from defrag.experiments.machine import machine, versions
from defrag.experiments.measures import run

if TYPE_CHECKING:
    from defrag.io import Split

__all__ = ["Attempt", "attempt", "now"]

Attempt = tuple[dict[str, Any], Any, Any]
"""The result of a run, the model and what it has predicted; the latter None after an error."""

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def attempt(job: dict[str, Any], train: Split, test: Split) -> Attempt:
    """Run a job in this process.

    Parameters
    ----------
    job : dict
        See :func:`defrag.experiments.measures.run`.
    train, test : Split
        The data.

    Returns
    -------
    result, model, predictions : Attempt
        ``result`` has a status, the warnings or the error, versions and machine; ``passing``
        if the error is that of a full disk, which says nothing about the job.
    """
    model = found = None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values, model, found = run(job, train, test)
        messages = sorted({str(warning.message) for warning in caught})
        result: dict[str, Any] = {"status": "done", **values, "warnings": messages}
    except Exception as error:  # noqa: BLE001 - whatever it is becomes part of the record
        result = {"status": "failed", "error": _one_line(error)}
        if isinstance(error, OSError) and error.errno in _NO_SPACE:
            result["passing"] = True
    return {**result, "versions": versions(), "machine": machine()}, model, found


def now() -> str:
    """Return the time for a record."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _one_line(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"
