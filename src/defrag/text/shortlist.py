"""The fewest candidates that hold an asked share of the labels, for whoever chooses among them.

Candidates are the best ``N_LISTED`` labels of a text whose log-odds (``answers.py``) are above a
cut. ``fit`` learns a cut for each share on held-out texts, with the interval in which the share of
as many other texts is to be expected. A label is reachable if it is among the best ``N_LISTED``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from defrag._parameters import Float
from defrag.metrics._ranked import hits_of
from defrag.typing import Csr, Floats, Ids

N_LISTED = 1000
"""Labels of a text that are ranked for a shortlist."""
MOST_TEXTS = 2000
"""Held-out texts that are ranked so far."""
RECALL_RULE = Float(0.0, 0.99, open_low=True)

_SHARES = np.arange(50, 100) / 100
_NORMAL = 1.96  # of an interval of 95%


class Promise(NamedTuple):
    """What a shortlist holds: a row of what ``fit`` has learnt.

    - ``recall``: the share of the reachable labels; that of as many other texts is between ``low``
      and ``high`` with a probability of 95% (Wilson's interval; labels of one text count together).
    - ``of_all``: the share of all labels of the texts that the model knows.
    - ``size``: the mean number of candidates.
    - ``cut``: the log-odds above which a label is a candidate.
    """

    recall: float
    low: float
    high: float
    of_all: float
    size: float
    cut: float

    def __str__(self) -> str:
        """Say it in a sentence."""
        return (
            f"{100 * self.recall:.0f}% ({100 * self.low:.1f} to {100 * self.high:.1f}) of the "
            f"labels among the best {N_LISTED:,}, {100 * self.of_all:.1f}% of all known ones, in "
            f"{self.size:.1f} candidates per text"
        )


class Candidate(NamedTuple):
    """A label of a shortlist: what it is called, and the words of the text that speak for it."""

    label: Any
    score: float
    name: str | None = None
    description: str | None = None
    words: tuple[str, ...] = ()


def learn_promises(
    labels: Ids, scores: Floats, Y: Csr, log_odds: Callable[[Ids, Floats], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the promises for shares of 50% to 99%, one row each; none without a label found.

    They are learnt from rankings of texts that the model was not trained on, and their labels.
    """
    odds, hits = log_odds(labels, scores), hits_of(labels, Y)
    reachable = hits.sum(axis=1)
    owners, found_odds = np.nonzero(hits)[0], odds[hits]
    ordered = np.sort(found_odds)[::-1]
    rows = []
    for share in _SHARES.tolist() if len(ordered) else []:
        cut = np.nextafter(ordered[int(np.ceil(share * len(ordered))) - 1], -np.inf)
        found = np.bincount(owners[found_odds > cut], minlength=len(labels))
        low, high = _interval(found, reachable)
        size = np.count_nonzero(odds > cut) / len(labels)
        rows.append((share, low, high, found.sum() / max(1, Y.nnz), size, cut))
    return np.array(rows).reshape(-1, len(Promise._fields))


def _interval(found: NDArray[np.int64], all_of_them: NDArray[np.int64]) -> tuple[float, float]:
    """Return Wilson's interval of the share of labels in as many other texts.

    Texts are independent of each other, labels of a text are not: the number of labels that are
    worth as much as independent ones follows from the variance of the share over texts. Both
    samples vary, so that half of this number counts.
    """
    total = all_of_them.sum()
    share = found.sum() / total
    variance = ((found - share * all_of_them) ** 2).sum() / total**2
    n = min(total, share * (1 - share) / variance if variance > 0 else total) / 2
    spread = _NORMAL * np.sqrt(share * (1 - share) / n + (_NORMAL / (2 * n)) ** 2)
    middle, scale = share + _NORMAL**2 / (2 * n), 1 + _NORMAL**2 / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def promise_of(promises: NDArray[np.float64] | None, recall: float) -> Promise:
    """Return the promise of the least share that is enough."""
    if not RECALL_RULE.accepts(recall):
        raise ValueError(f"recall must be {RECALL_RULE.describe()}, got {recall!r}")
    if promises is None or not len(promises):
        raise ValueError(
            "fit has learnt no shortlist: it needs answers, and 1,000 texts with labels or "
            "validation=(texts, labels)"
        )
    place = int(np.searchsorted(promises[:, 0], recall - 1e-9))
    return Promise(*promises[place].tolist())
