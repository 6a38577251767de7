"""Which labels a model of texts may suggest, and under which names they are known now.

A model knows labels with training points and, from its thesaurus, labels with names only. Time
passes: concepts are withdrawn and merged, and a user wants some types or schemes only. None of it
needs training, because all of it is a table from labels to labels, applied to every ranking.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag.thesaurus import Thesaurus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag._validation import Labels
    from defrag.io.files import PathLike
    from defrag.typing import Floats, Ids


def thesaurus_of(given: Thesaurus | PathLike | None) -> Thesaurus | None:
    """Return a thesaurus, read from a file if it is a path."""
    if given is None or isinstance(given, Thesaurus):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Thesaurus.read(given)
    raise ValueError(f"thesaurus must be a Thesaurus or a file, got {type(given).__name__}")


def check_known(labels: Labels, thesaurus: Thesaurus | None) -> None:
    """Raise ValueError if none of the labels of the texts is in the thesaurus."""
    if thesaurus is None or labels.classes is None or labels.classes.dtype != object:
        return
    names = labels.classes.tolist()
    if names and (thesaurus.numbers(names) < 0).all():
        raise ValueError(
            "thesaurus must have labels of the texts by their ids, but has none of them: texts "
            f"have labels such as {names[0]!r}, the thesaurus {thesaurus.ids[0]!r}"
        )


def with_names_only(trained: NDArray[Any], thesaurus: Thesaurus | None) -> NDArray[Any]:
    """Return the labels with points, then those of the thesaurus that are in use and have none."""
    if thesaurus is None:
        return trained
    known = set(trained.tolist())
    active = thesaurus.ids[np.flatnonzero(thesaurus.withdrawn == 0)]
    new = [concept for concept in active.tolist() if concept not in known]
    return np.array([*trained.tolist(), *new, None], dtype=object)[:-1]


def current_labels(classes: NDArray[Any], thesaurus: Thesaurus | None) -> NDArray[np.int32] | None:
    """Return the label that each label stands for now, -1 for none; None if all are unchanged."""
    if thesaurus is None or not thesaurus.withdrawn.any():
        return None
    concepts = thesaurus.numbers(classes.tolist())
    found = np.arange(len(classes), dtype=np.int32)
    label_of = np.full(len(thesaurus) + 1, -1, dtype=np.int32)  # of concept -1, too
    known = concepts >= 0
    label_of[concepts[known]] = found[known]
    found[known] = label_of[thesaurus.successors()[concepts[known]]]
    return found


def chosen_labels(
    what: str, words: Sequence[str], classes: NDArray[Any], thesaurus: Thesaurus | None
) -> NDArray[np.bool_]:
    """Return which labels are among some words: labels, ``type=...`` or ``scheme=...``.

    Raises ValueError if a word is none of them; begins with ``what``.
    """
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{what} must be a list of labels, type=... or scheme=..., got {words!r}")
    labels = {label: number for number, label in enumerate(classes.tolist())}
    chosen = np.zeros(len(classes), dtype=bool)
    concepts = None
    for word in words:
        kind, _, value = word.partition("=")
        if kind not in {"type", "scheme"} or word in labels:
            if word not in labels:
                raise ValueError(f"{what} must have labels of the model, got {word!r}")
            chosen[labels[word]] = True
            continue
        if thesaurus is None:
            raise ValueError(f"{what} has {word!r}, but the model has no thesaurus")
        if concepts is None:
            concepts = thesaurus.numbers(classes.tolist())
        chosen |= np.isin(concepts, thesaurus.members(kind, value))
    return chosen


def usable_labels(
    current: NDArray[np.int32] | None, usable: NDArray[np.bool_] | None
) -> NDArray[np.int32] | None:
    """Return current labels with -1 for those that are not usable; None if all are unchanged."""
    if usable is None:
        return current
    own = np.arange(len(usable), dtype=np.int32) if current is None else current
    return np.where((own >= 0) & usable[own], own, np.int32(-1))


def redirect(
    labels: Ids, scores: Floats, current: NDArray[np.int32], k: int
) -> tuple[Ids, Floats, Ids]:
    """Return the first k distinct current labels of rankings, their scores, and the ranked labels.

    Several old labels may stand for one: the score is that of the best.
    """
    moved = np.where(labels >= 0, current[labels], -1)
    order = np.argsort(moved, axis=1, kind="stable")
    ordered = np.take_along_axis(moved, order, axis=1)
    again = np.zeros_like(ordered, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    repeated = np.empty_like(again)
    np.put_along_axis(repeated, order, again, axis=1)
    moved[repeated] = -1
    first = np.argsort(moved < 0, axis=1, kind="stable")[:, :k]
    found, sources = (np.take_along_axis(one, first, axis=1) for one in (moved, labels))
    values = np.where(found >= 0, np.take_along_axis(scores, first, axis=1), np.float32(0.0))
    return found.astype(np.int32), values, sources
