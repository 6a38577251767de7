"""Which labels a model of texts may suggest, and under which names they are known now.

A model knows labels with training points and, from its thesaurus, labels with names only. Time
passes: concepts are withdrawn and merged, and a user wants some types or schemes only. None of it
needs training, because all of it is a table from labels to labels, applied to every ranking.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from defrag._validation import Labels
from defrag.io.files import PathLike
from defrag.persistence.fields import Part
from defrag.text.naming import LabelNames, NameEvidence, Naming
from defrag.text.ranker import Ranker
from defrag.thesaurus import Match, Thesaurus, unknown_label
from defrag.typing import Csr, Floats, Ids

if TYPE_CHECKING:
    from defrag.text.classifier import TextClassifier


def thesaurus_of(given: Thesaurus | PathLike | None) -> Thesaurus | None:
    """Return a thesaurus, read from a file if it is a path."""
    if given is None or isinstance(given, Thesaurus):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Thesaurus.read(given)
    raise ValueError(f"thesaurus must be a Thesaurus or a file, got {type(given).__name__}")


NAMES_ONLY = "a thesaurus is for lists of names as labels, not for other labels"


def check_thesaurus(labels: Labels, thesaurus: Thesaurus | None) -> None:
    """Raise ValueError if a thesaurus does not have names of any of the labels of the texts."""
    if thesaurus is None:
        return
    known = labels.classes
    if not labels.multilabel or labels.dense or known is None or known.dtype != object:
        raise ValueError(NAMES_ONLY)
    names = known.tolist()
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
    """Return which labels are among some words: labels, ``type=...`` or ``scheme=...``."""
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


class LabelTable:
    """The labels of a model: those with training points, then those that only have a name."""

    def __init__(
        self,
        trained: NDArray[Any],
        thesaurus: Thesaurus | None,
        naming: Naming | None,
        names: LabelNames | None,  # whose counts ``naming`` has, if not those of the thesaurus
    ) -> None:
        self.n_trained, self.thesaurus, self.naming = len(trained), thesaurus, naming
        self.classes = with_names_only(trained, thesaurus)
        self.current = current_labels(self.classes, thesaurus)
        self.names: LabelNames | None = None
        self.evidence: NameEvidence | None = None
        self._texts: dict[str | None, list[list[str | None]]] = {}
        if thesaurus is None:
            return
        same = names is not None and names.thesaurus is thesaurus
        self.names = names if same else LabelNames(self.classes, thesaurus)
        if naming is not None and self.names is not None:
            if names is not None and not same:
                naming = self.naming = naming.follow(names, self.names)
            naming.check_fits(self.names, len(trained))
            self.evidence = NameEvidence(self.names, naming)

    @property
    def ranker(self) -> Ranker | None:
        """The ranker of candidates, None if the base alone ranks."""
        return None if self.evidence is None else self.evidence.naming.ranker

    @property
    def score_kind(self) -> str:
        """What scores are: "probability" if names rank the labels, else "score"."""
        return "score" if self.ranker is None else "probability"

    @property
    def n_ranked(self) -> int:
        """The number of labels that may be ranked: with points, or all that have names."""
        return self.n_trained if self.ranker is None else len(self.classes)

    def number(self, label: str) -> int:
        """Return the place of a label."""
        known = self.classes
        if isinstance(label, str) and known.dtype.kind not in "OU":
            known = known.astype(str)  # numbers come from command lines as text
        found: Any = np.flatnonzero(known == label) if np.isscalar(label) else ()
        if not len(found):
            raise unknown_label(label, self.find(label, 3) if isinstance(label, str) else [])
        return int(found[0])

    def name(self, label: str, language: str | None) -> str | None:
        """Return what a label is called, None if it has no name."""
        name = label if self.thesaurus is None else self.thesaurus.name(label, language)
        return None if name == label else name

    def texts_in(self, language: str | None) -> list[list[str | None]] | None:
        """Return the names and the descriptions of all labels, None without a thesaurus."""
        found, known = self._texts.get(language), self.thesaurus
        if found is None and known is not None:
            labels = self.classes.tolist()
            numbers = known.numbers(labels).tolist()
            descriptions = [None if i < 0 else known.description(i, language) for i in numbers]
            found = [[self.name(label, language) for label in labels], descriptions]
            self._texts = {language: found}  # of one language at a time
        return found

    @cached_property
    def _searched(self) -> Thesaurus:
        """The names to search: without a thesaurus, the labels."""
        return self.thesaurus or Thesaurus.of_names(map(str, self.classes))

    def find(self, words: str, n: int, language: str | None = None) -> list[Match]:
        """Return labels by the words of their names; see ``TextClassifier.find_labels``."""
        named = self._searched
        found = named.search(words, n, language=language)
        if words in self.classes:
            same = Match(words, named.name(words, language), words, exact=True)
            return [same, *(one for one in found if one.label != words and one.exact)][:n]
        return found

    def usable(self, allow: Sequence[str] | None, deny: Sequence[str]) -> NDArray[np.bool_]:
        """Return which labels may be returned."""
        found = ~chosen_labels("deny", deny, self.classes, self.thesaurus)
        if allow is not None:
            found &= chosen_labels("allow", allow, self.classes, self.thesaurus)
        return found

    def in_columns(self, labels: Labels, form: str) -> Csr:
        """Return labels of other texts; those that are unknown follow the own ones."""
        own = self.classes
        if labels.classes is None:
            return labels.matrix
        if form == "names" and labels.classes.tolist() == own.tolist():
            return labels.matrix  # columns in an order of their own
        if own.dtype.kind in "iufb" and labels.classes.dtype.kind not in "iufb":
            raise ValueError(
                f"labels must be labels of the model, got {labels.classes[0]!r}: it has numbers"
            )
        return labels.in_columns_of(own)

    def best(
        self,
        rank: Callable[[int], tuple[Ids, Floats]],
        k: int,
        usable: NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Floats, Ids]:
        """Return the best k usable labels, their scores, and the labels that were ranked.

        Those are others where a label has taken the place of older ones that ``rank`` returns.
        """
        current = self.current
        if usable is not None:
            own = np.arange(len(usable), dtype=np.int32) if current is None else current
            current = np.where((own >= 0) & usable[own], own, np.int32(-1))
        if current is None:
            labels, scores = rank(k)
            return labels, scores, labels
        asked = k = min(k, self.n_ranked)
        while True:  # labels that may not be returned have taken places
            labels, scores = rank(asked)
            found, values, sources = redirect(labels, scores, current, k)
            lacking = (found < 0).any(axis=1)
            if asked == self.n_ranked or not (labels[lacking, -1:] >= 0).any():
                return found, values, sources
            asked = min(4 * asked, self.n_ranked)


# --- Labels in model files.


def names_in_file(model: TextClassifier) -> Any:
    """Return what a file stores as label names; None if its base knows the classes."""
    if not model.base_.multilabel_ or model._answer_form() == "ids":
        return None
    classes = model.classes_[: model.base_.n_labels_]
    return classes if classes.dtype == object else list(map(str, classes))


def restore_classes(part: Part, model: TextClassifier) -> None:
    """Set the classes that are not names, which a file has as digits or in the base."""
    base = model.base_
    named = hasattr(model, "classes_")
    if named and not base.multilabel_:
        part.fail("label_names of text_classifier must be absent if its base has classes")
    if not named:
        model.classes_ = base.classes_
    if model.numbered_:
        names = model.classes_.tolist()
        if not all(isinstance(name, str) and re.fullmatch(r"-?\d{1,18}", name) for name in names):
            part.fail("label_names of text_classifier must be numbers")
        model.classes_ = np.array(list(map(int, names)), dtype=np.int64)
    try:
        model._use_thesaurus(model.thesaurus_)
    except ValueError as error:
        part.fail(str(error))
