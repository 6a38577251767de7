"""Names of labels as evidence: found in texts, they rank labels, also those without training texts.

A name is found where all its stems are in one sentence (``cpp/core/text/names.hpp``). How much
that means is learnt from the training texts: of those with the name, how many have the label?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._parameters import Choice
from defrag.metrics._ranked import has_labels
from defrag.persistence.fields import LARGEST, MAX_COUNT, Array, Number, Part, State
from defrag.text.ranker import (
    N_KINDS,
    USES,
    Found,
    Numbers,
    Ranker,
    is_better,
    learn_ranker,
    n_weights,
)
from defrag.typing import Csr, Floats, Ids

if TYPE_CHECKING:
    from defrag.thesaurus import Thesaurus

_MOST_FOUND = 50
"""Labels found in a text by their names, at most."""
_N_NUMBERS = 15
# Texts, with the mean share of hits, that are added to those with a name.
_PRIOR = 2.0
_BRACKETS = re.compile(r"\s*[(<\[][^)>\]]*[)>\]]")


def _name_to_find(name: str) -> str:
    """Return a name without what is in brackets, unless that is all of it.

    Examples
    --------
    >>> _name_to_find("Mercury (planet)"), _name_to_find("<C++>")
    ('Mercury', '<C++>')
    """
    return _BRACKETS.sub("", name) or name


class LabelNames:
    """The names of the labels of a model, and an index that finds them."""

    def __init__(self, classes: NDArray[Any], thesaurus: Thesaurus) -> None:
        self.classes, self.thesaurus = classes, thesaurus
        self.n_labels, self.names = len(classes), thesaurus.names

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The label of each name, -1 for none."""
        number = {label: place for place, label in enumerate(self.classes.tolist())}
        of_concept = np.array([number.get(one, -1) for one in self.thesaurus.ids], dtype=np.int64)
        of_concept[self.thesaurus.withdrawn > 0] = -1
        return of_concept[self.thesaurus.name_concepts]

    def named(self) -> list[tuple[str, str]]:
        """Return each name with the concept that has it."""
        ids = list(self.thesaurus.ids)
        owners = self.thesaurus.name_concepts.tolist()
        return [(ids[owner], name) for owner, name in zip(owners, self.names, strict=True)]

    def __getstate__(self) -> dict[str, Any]:
        # The index is built again; it is not part of a model.
        return {name: one for name, one in vars(self).items() if name != "table"}

    @cached_property
    def table(self) -> tuple[_native.NameIndex, Numbers]:
        """The index, and the logarithms of words, of labels with the same name, of characters."""
        found = [_name_to_find(name) for name in self.names]
        index = _native.NameIndex(found)
        lower = [one.lower() for one in found]
        _, same, counts = np.unique(lower, return_inverse=True, return_counts=True)
        words = [max(1, len(one.split())) for one in found]
        sizes = [max(1, len(one)) for one in found]
        return index, np.log(np.array([words, counts[same], sizes], dtype=np.float64))

    def find(self, texts: Sequence[str], n_threads: int) -> tuple[Any, NDArray[np.int64]]:
        """Return the names in texts, and the text of each of them."""
        found = self.table[0].find(list(texts), n_threads=n_threads)
        sizes = np.diff(found.ends, prepend=0)
        return found, np.repeat(np.arange(len(texts), dtype=np.int64), sizes)


def _check(part: Part) -> None:
    """Check that there are weights where a ranker is used, and no more hits than texts."""
    texts, hits = part.arrays["texts"], part.arrays["hits"]
    if len(texts) == len(hits) and (hits > texts).any():
        part.fail(f"{part.name('hits')} must be at most {part.name('texts')}")
    needed = n_weights(_N_NUMBERS) if part.state["use"] in USES[:2] else 0
    if len(part.arrays["weights"]) != needed:
        part.fail(f"{part.name('weights')} must have {needed} items, got "
                  f"{len(part.arrays['weights'])}")  # fmt: skip


@dataclass(frozen=True)
class Naming:
    """What names of labels mean, and the ranker that was learnt with them.

    - ``use``: what the ranker does, or why there is none.
    - ``texts``, ``hits``, shape (n_names,): training texts with each name, and of these the ones
      that have its label.
    - ``points``, shape (n_labels,): training texts of each label that has any.
    - ``weights``: of the ranker; empty if there is none.
    """

    use: str
    texts: Ids
    hits: Ids
    points: Ids
    weights: Numbers

    _state = State(
        Number("use", Choice(USES)),
        Array("texts", "int32", low=0, below=MAX_COUNT),
        Array("hits", "int32", length="texts", low=0, below=MAX_COUNT),
        Array("points", "int32", low=0, below=MAX_COUNT),
        Array("weights", "float64", low=-LARGEST, most=LARGEST),
        kind="naming",
        check=_check,
        build=lambda _, values: Naming(**values),
    )

    @classmethod
    def count(cls, names: LabelNames, texts: Sequence[str], Y: Csr, n_threads: int) -> Naming:
        """Return the counts of training texts, without a ranker."""
        found, rows = names.find(texts, n_threads)
        labels = names.labels[found.names]
        hit = (labels >= 0) & has_labels(Y, rows, labels)
        n_names = len(names.names)
        return cls(
            "no gain",
            np.bincount(found.names, minlength=n_names).astype(np.int32),
            np.bincount(found.names[hit], minlength=n_names).astype(np.int32),
            np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int32),
            np.zeros(0),
        )

    def follow(self, old: LabelNames, new: LabelNames) -> Naming:
        """Return the same for other names; counts go with the name of a label."""
        place = {key: number for number, key in enumerate(old.named())}
        taken = np.array([place.get(key, len(self.texts)) for key in new.named()], dtype=np.int64)
        texts, hits = (np.append(one, np.int32(0))[taken] for one in (self.texts, self.hits))
        return Naming(self.use, texts, hits, self.points, self.weights)

    def check_fits(self, names: LabelNames, n_trained: int) -> None:
        """Raise ValueError unless the counts are those of the names and labels of a model."""
        for noun, got, wanted in (
            ("names of the thesaurus", len(self.texts), len(names.names)),
            ("labels", len(self.points), n_trained),
        ):
            if got != wanted:
                raise ValueError(f"naming must have counts of the {wanted} {noun}, got {got}")

    @cached_property
    def ranker(self) -> Ranker | None:
        """The ranker, if there is one."""
        if not len(self.weights):
            return None
        return Ranker(self.weights.reshape(N_KINDS, -1), self.use == "added")


class NameEvidence:
    """Finds labels by their names; see :class:`defrag.text.ranker.Evidence`.

    - ``scale``: factor of all counts, where they are those of a part of the texts.
    """

    def __init__(self, names: LabelNames, naming: Naming, scale: float = 1.0) -> None:
        self.names, self.naming, self._scale = names, naming, scale
        self._points = np.zeros(names.n_labels)
        self._points[: len(naming.points)] = scale * naming.points
        n_texts = float(naming.texts.sum(dtype=np.int64))
        self._usual = (float(naming.hits.sum(dtype=np.int64)) + 0.5) / (n_texts + 1.0)

    def find(self, texts: Sequence[str], *, n_threads: int) -> Found:
        """Return the labels found in texts."""
        found, rows = self.names.find(texts, n_threads)
        labels = self.names.labels[found.names]
        known = np.flatnonzero(labels >= 0)
        rows, labels, names = rows[known], labels[known], found.names[known]
        n_texts, link = self._links(names)
        # Of several names of a label, the one that says most; then the best labels of each text.
        best = np.lexsort((names, -link, labels, rows))
        keys = rows[best] * self.names.n_labels + labels[best]
        best = best[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
        best = best[np.lexsort((labels[best], -link[best], rows[best]))]
        places = np.arange(len(best)) - np.searchsorted(rows[best], rows[best])
        n_found = np.bincount(rows[best], minlength=len(texts))
        best, places = best[places < _MOST_FOUND], places[places < _MOST_FOUND]
        back = np.lexsort((labels[best], rows[best]))
        best, places = best[back], places[back]
        at, chosen, links = known[best], names[best], link[best]
        logits = np.log(links) - np.log1p(-links)
        columns = (
            logits, logits * logits, np.log1p(n_texts[best]), found.title[at],
            np.log(found.times[at]), found.first[at], found.cover[at], found.density[at],
            found.inside[at], np.log1p(places), np.log1p(n_found[rows[best]]),
            found.title[at] * logits, *self.names.table[1][:, chosen],
        )  # fmt: skip
        numbers = np.array(columns, dtype=np.float64)
        return Found(rows[best], labels[best], numbers, self._points)

    def _links(self, names: Ids) -> tuple[Numbers, Numbers]:
        """Return how many texts have each name, and the share of these that have its label."""
        texts = self._scale * self.naming.texts[names].astype(np.float64)
        hits = self._scale * self.naming.hits[names].astype(np.float64)
        return texts, (hits + self._usual * _PRIOR) / (texts + _PRIOR)

    def describe(self, text: str, label: int) -> str:
        """Return which name of a label is in a text, "" if none is."""
        found, _ = self.names.find([text], 1)
        here = np.flatnonzero(self.names.labels[found.names] == label)
        if not len(here):
            return ""
        one = here[np.argmax(self._links(found.names[here])[1])]
        name = found.names[one]
        place = " in the title" if found.title[one] else ""
        texts, hits = int(self.naming.texts[name]), int(self.naming.hits[name])
        said = "no training text has it"
        if texts:
            said = (
                f"of {texts:,} texts with it, {hits:,} {'has' if hits == 1 else 'have'} the label"
            )
        return f'name "{self.names.names[int(name)]}"{place} ({said})'


Points: TypeAlias = "tuple[Csr, Csr, Floats | None]"
"""Rows, their labels, and their weights."""


def learn_naming(
    names: LabelNames,
    texts: Sequence[str],
    points: Points,
    rank: Callable[[Points, Csr], tuple[Ids, Floats]],
    rows_of: Callable[[Sequence[str]], Csr],
    *,
    n_threads: int,
) -> tuple[Naming, Points]:
    """Return what names in texts mean, and the points to train on.

    The ranker is that which is best on held-out texts. Names are points, too, if the classifier is
    better on these with them; ``rank`` trains it on points and returns its ranking of rows.
    """
    X, Y, weights = points
    names_help = False

    def train_without(held: NDArray[np.bool_]) -> tuple[Ids, Floats, NameEvidence]:
        nonlocal names_help
        rest, rows = np.flatnonzero(~held), X[held]
        known = Naming.count(names, [texts[i] for i in rest.tolist()], Y[rest], n_threads)
        evidence = NameEvidence(names, known, len(texts) / len(rest))
        some = X[rest], Y[rest], None if weights is None else weights[rest]
        rankings = [rank(some, rows)]
        some = with_names(names, some, rows_of)  # in the place of the rows without names
        rankings.append(rank(some, rows))
        names_help = is_better(rankings[1][0], rankings[0][0], Y[held])
        return *rankings[names_help], evidence

    ranker, use = learn_ranker(texts, Y, train_without, n_threads=n_threads)
    counted = Naming.count(names, texts, Y, n_threads)
    learnt = np.zeros(0) if ranker is None else ranker.weights.ravel()
    naming = replace(counted, use=use, weights=learnt)
    return naming, with_names(names, points, rows_of) if names_help else points


def with_names(
    names: LabelNames, points: Points, rows_of: Callable[[Sequence[str]], Csr]
) -> Points:
    """Return points and, after them, the names of their labels as points of these labels."""
    X, Y, weights = points
    counts = np.append(np.bincount(Y.indices, minlength=names.n_labels), 0)
    chosen = np.flatnonzero(counts[names.labels] > 0)
    rows = rows_of([names.names[i] for i in chosen.tolist()])
    entries = np.ones(len(chosen), np.float32), names.labels[chosen], np.arange(len(chosen) + 1)
    owners = sparse.csr_array(entries, shape=(len(chosen), Y.shape[1]))
    both = [sparse.csr_array(sparse.vstack(pair)) for pair in ((X, rows), (Y, owners))]
    for matrix in both:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.has_canonical_format = True
    if weights is not None:
        weights = np.append(weights, np.ones(len(chosen), dtype=weights.dtype))
    return both[0], both[1], weights
