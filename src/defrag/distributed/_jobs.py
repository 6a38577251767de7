"""How the training of each kind of classifier is divided into units and joined again.

A classifier that divides itself (``Divisible``) states its own units; an ensemble has the units of
its members, a composite those of its base, and any other classifier is one unit. ``_plan`` cuts the
units into parts; ``fit_ray`` and the commands ``train --plan``, ``train-part`` and ``join`` train
them elsewhere. Data are checked and vectorised here, since every process repeats that.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from defrag._scikit import clone
from defrag._scratch import Arrays
from defrag._validation import Labels, check_features, check_labels
from defrag.classifiers._base import Classifier
from defrag.classifiers._composite import Reducing, Wrapping
from defrag.classifiers._division import (
    Divisible,
    Division,
    Found,
    Piece,
    Search,
    Units,
    Work,
    packed,
    unpacked,
)
from defrag.classifiers._subtrees import Lists
from defrag.classifiers._support import unit_rows
from defrag.persistence import pack, unpack
from defrag.text import TextClassifier, TextVectorizer
from defrag.text._texts import check_text_labels, check_texts
from defrag.text.answers import answers_without, pack_answers, unpack_answers
from defrag.typing import Csr, Ids

# --- Training data of plans and parts: validation, vectorisation and checksums.

_ANSWERS = "answers/"
Value = TypeVar("Value")
Trainable: TypeAlias = Classifier | TextClassifier
"""Estimators that a plan can be made for."""


@dataclass(frozen=True)
class Data:
    """Checked points and labels.

    - ``X``: the points; for texts, the rows of the vectoriser.
    - ``feature_names``: names of the features, if X was a data frame.
    - ``vectorizer``: the packed vectoriser, for texts, and what answers are.
    """

    X: Csr
    labels: Labels
    feature_names: NDArray[Any] | None = None
    vectorizer: Arrays = field(default_factory=dict)


def check_data(
    estimator: Trainable, X: Any, Y: Any, vectorizer: Arrays | None = None, *, seed: int = 0
) -> Data:
    """Return checked data; texts are vectorised, by a newly fitted vectoriser if none is given.

    Then answers are chosen as well, with a classifier of this seed.
    """
    if not isinstance(estimator, TextClassifier):
        points = check_features(estimator, X, reset=True)
        labels = check_labels(Y, n_rows=points.shape[0], names=True)
        return Data(points, labels, getattr(estimator, "feature_names_in_", None))
    texts = check_texts(X)
    labels = check_text_labels(Y, len(texts))
    if vectorizer is None:
        fitted, trial = estimator._unfitted_vectorizer(texts, labels.matrix)
        points = fitted.fit_transform(texts)
        fitted.trial_ = trial
        vectorizer = pack(fitted)
        if estimator.answers is not None and labels.multilabel:
            aims: Any = {"aim": estimator.answers, "least_precision": estimator.least_precision,
                         "quick": estimator.preset == "fast"}  # fmt: skip
            data = points, labels.matrix, None
            found = answers_without(estimator._unfitted_base(seed).base, texts, data, **aims)
            vectorizer |= _prefixed(_ANSWERS, pack_answers(*found))
    else:
        points = _unpack_vectorizer(vectorizer, estimator).transform(texts)
    return Data(points, labels, None, vectorizer)


def classifier_of(estimator: Trainable, seed: int) -> Classifier:
    """Return an unfitted copy of the classifier whose units are trained."""
    if isinstance(estimator, TextClassifier):
        return estimator._unfitted_base(seed).base
    model: Classifier = clone(estimator)
    return model


def with_texts(
    estimator: TextClassifier, base: Classifier, vectorizer: Arrays, sizes: Sizes
) -> TextClassifier:
    """Return a fitted text classifier, assembled from its parts."""
    model: TextClassifier = clone(estimator)
    fitted = _unpack_vectorizer(vectorizer, estimator)
    model.vectorizer_, model.base_, model.n_extra_, model.chosen_ = fitted, base, 0, ""
    labels = sizes.classes, sizes.dense, sizes.multilabel
    model._set_labels(*labels)
    answers = _without_prefix(vectorizer, _ANSWERS)
    if answers:
        model.answers_, model.answering_ = unpack_answers(answers)
    return model


def _unpack_vectorizer(arrays: Arrays, estimator: TextClassifier) -> TextVectorizer:
    own = {name: one for name, one in arrays.items() if not name.startswith(_ANSWERS)}
    fitted: TextVectorizer = unpack(own, "plan").set_params(n_jobs=estimator.n_jobs)
    return fitted


def checksum(data: Data) -> int:
    """Return a checksum of points and labels, to detect other data."""
    X, labels = data.X, data.labels
    classes = None if labels.classes is None else labels.classes.tolist()
    value = zlib.crc32(repr((X.shape, labels.matrix.shape, classes)).encode())
    for matrix in (X, labels.matrix):
        # scipy uses 32-bit or 64-bit pointers.
        pointers = matrix.indptr.astype(np.int64, copy=False)
        for array in (pointers, matrix.indices, matrix.data):
            value = crc32(array, value)
    return value


def crc32(array: NDArray[Any], value: int) -> int:
    """Return the checksum of an array that follows bytes with the checksum ``value``."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, value)


# --- Division of the training of a classifier into units, by kind of classifier.


@dataclass(frozen=True)
class Sizes:
    """Numbers of points, features and labels, and the form of the data."""

    n_points: int
    n_features: int
    n_labels: int
    classes: NDArray[Any] | None = None
    dense: bool = False
    multilabel: bool = True
    feature_names: NDArray[Any] | None = None

    def unnamed(self) -> Sizes:
        """Return the sizes without names, as for a part of a composite."""
        return Sizes(self.n_points, self.n_features, self.n_labels)

    def describe(self) -> str:
        """Return the numbers in words."""
        return f"{self.n_points} points, {self.n_features} features, {self.n_labels} labels"


@dataclass(frozen=True)
class Whole:
    """Input of a join besides the pieces: the seed, the sizes and, for some models, the data."""

    seed: int
    sizes: Sizes
    data: tuple[Csr, Csr] | None


class Job(Protocol):
    """The training of one classifier, in units."""

    def divide(self, X: Csr, Y: Csr, seed: int) -> Division:
        """Return the units and their shared data."""

    def members(self, work: Work) -> Iterator[Member]:
        """Yield the classifiers in work that contain no others."""

    def join(self, outline: Arrays, pieces: Sequence[Piece], whole: Whole) -> Classifier:
        """Return the fitted classifier, given the results of all units in order."""


Steps: TypeAlias = "tuple[Callable[[Csr], Csr], ...]"
Member: TypeAlias = "tuple[str, Steps, _Divisible | _Indivisible, Work]"
"""The prefix of its arrays, the reductions of its points, its job, and its share of the work."""


def job_of(model: Classifier) -> Job:
    """Return the job that trains an unfitted classifier."""
    if isinstance(model, Divisible):
        return _Divisible(model)
    if isinstance(model, Reducing):
        return _Members(model)
    if isinstance(model, Wrapping) and model._trains_once():
        return _Wrapped(model)
    return _Indivisible(model)


@dataclass(frozen=True)
class _Divisible:
    """A classifier that divides its own training into units."""

    model: Divisible

    def divide(self, X: Csr, Y: Csr, seed: int) -> Division:
        division = self.units.divide(self.units.prepare(X, Y), seed)
        return replace(division, outline=packed(division.outline))

    def members(self, work: Work) -> Iterator[Member]:
        yield "", (), self, work

    @cached_property
    def units(self) -> Units:
        """The units of the classifier."""
        return self.model._units()

    def unpacked(self, work: Work) -> Work:
        """Return work with objects instead of arrays."""
        outline = unpacked(work.outline, self.units.outline_kind)
        return replace(work, outline=outline, earlier=self._unpacked(work.earlier))

    def train(self, X: Csr, Y: Csr, work: Work) -> Arrays:
        """Train units."""
        return packed(self.units.train(self.units.prepare(X, Y), self.unpacked(work)))

    def join(self, outline: Arrays, pieces: Sequence[Piece], whole: Whole) -> Classifier:
        sizes = whole.sizes
        self.model._fit_pieces(
            unpacked(outline, self.units.outline_kind),
            self._unpacked(pieces),
            n_features=sizes.n_features,
            n_labels=sizes.n_labels,
        )
        return _with_sizes(self.model, sizes)

    def _unpacked(self, pieces: Sequence[Piece]) -> list[Piece]:
        kind = self.units.result_kind
        return [replace(one, result=unpacked(one.result, kind)) for one in pieces]


@dataclass(frozen=True)
class _Members:
    """An ensemble: reductions are fitted in the plan, and the units are those of the members."""

    model: Reducing

    def divide(self, X: Csr, Y: Csr, seed: int) -> Division:
        outline: Arrays = {}
        costs, waves = [], []
        for number, base in enumerate(self.model._unfitted_members(seed)):
            own = _seed_of(base)
            reduction = self.model._fit_reduction(X, Y, own)
            division = job_of(base).divide(self.model._reduce(reduction, X), Y, own)
            outline |= _prefixed(f"{number}/reduction/", pack(reduction))
            outline |= _prefixed(f"{number}/base/", division.outline)
            costs.append(division.costs)
            waves.append(division.wave_of_units())
        outline["n_units"] = np.array([len(one) for one in costs], dtype=np.int64)
        return Division(outline, np.concatenate(costs), np.concatenate(waves))

    def members(self, work: Work) -> Iterator[Member]:
        bases, outline = self.model._unfitted_members(work.seed), work.outline
        for number, units in _ranges(outline["n_units"], range(work.first, work.last)):
            base, prefix = bases[number], f"{number}/"
            inner = _without_prefix(outline, f"{number}/base/")
            before = self._pieces(outline, work.earlier, number)
            found = _without_prefix(work.found, prefix)
            share = Work(_seed_of(base), inner, units.start, units.stop, before, found)
            step = partial(self.model._reduce, self._reduction(outline, number))
            for name, steps, job, own in job_of(base).members(share):
                yield prefix + name, (step, *steps), job, own

    def join(self, outline: Arrays, pieces: Sequence[Piece], whole: Whole) -> Classifier:
        members, sizes = [], whole.sizes
        for number, base in enumerate(self.model._unfitted_members(whole.seed)):
            reduction = self._reduction(outline, number)
            own = self._pieces(outline, pieces, number)
            width = self.model._reduced_width(reduction, sizes.n_features)
            data = whole.data
            if data is not None:
                data = self.model._reduce(reduction, data[0]), data[1]
            inner = Whole(_seed_of(base), Sizes(sizes.n_points, width, sizes.n_labels), data)
            fitted = job_of(base).join(_without_prefix(outline, f"{number}/base/"), own, inner)
            members.append((reduction, fitted))
        self.model._set_members(members)
        self.model.n_features_in_ = sizes.n_features
        return _with_sizes(self.model, sizes)

    def _pieces(self, outline: Arrays, pieces: Sequence[Piece], number: int) -> list[Piece]:
        """Return what pieces have of a member."""
        return [
            Piece(units.start, units.stop, _without_prefix(piece.result, f"{number}/"))
            for piece in pieces
            for found, units in _ranges(outline["n_units"], range(piece.first, piece.last))
            if found == number
        ]

    def _reduction(self, outline: Arrays, number: int) -> Any:
        reduction = unpack(_without_prefix(outline, f"{number}/reduction/"), "plan")
        return reduction.set_params(n_jobs=self.model.n_jobs)


@dataclass(frozen=True)
class _Wrapped:
    """A composite with the units of its base; what is fitted before the base is in the plan."""

    model: Wrapping

    def divide(self, X: Csr, Y: Csr, seed: int) -> Division:
        division = job_of(self.model._copy_of_base(seed)).divide(X, Y, seed)
        outline = _prefixed("own/", self.model._learn_first(X, Y, seed))
        outline |= _prefixed("base/", division.outline)
        return Division(outline, division.costs, division.waves)

    def members(self, work: Work) -> Iterator[Member]:
        inner = replace(work, outline=_without_prefix(work.outline, "base/"))
        return job_of(self.model._copy_of_base(work.seed)).members(inner)

    def join(self, outline: Arrays, pieces: Sequence[Piece], whole: Whole) -> Classifier:
        if self.model._needs_points and whole.data is None:
            name = type(self.model).__name__
            raise ValueError(
                f"{name} is fitted to its trained base and the data: join requires X and Y (--data)"
            )
        sizes = whole.sizes
        inner = replace(whole, sizes=sizes.unnamed())
        base = job_of(self.model._copy_of_base(whole.seed))
        self.model.base_ = base.join(_without_prefix(outline, "base/"), pieces, inner)
        self.model.n_features_in_ = sizes.n_features
        self.model._learn_last(whole.data, whole.seed, _without_prefix(outline, "own/"))
        return _with_sizes(self.model, sizes)


@dataclass(frozen=True)
class _Indivisible:
    """A classifier that is trained in one unit."""

    model: Classifier

    def divide(self, X: Csr, Y: Csr, seed: int) -> Division:  # noqa: ARG002 - a job's signature
        return Division({}, np.ones(1))

    def train(self, X: Csr, Y: Csr, work: Work) -> Arrays:
        """Train the only unit."""
        return pack(self.model.set_params(random_state=work.seed)._fit_canonical(X, Y))

    def members(self, work: Work) -> Iterator[Member]:
        yield "", (), self, work

    def join(
        self,
        outline: Arrays,  # noqa: ARG002 - likewise
        pieces: Sequence[Piece],
        whole: Whole,
    ) -> Classifier:
        fitted: Classifier = unpack(pieces[0].result, "part 0")
        fitted.set_params(**self.model.get_params(deep=False))
        return _with_sizes(fitted, whole.sizes)


def train(job: Job, X: Csr, Y: Csr, work: Work) -> Arrays:
    """Train units of one wave; their outline and the results before them are arrays."""
    arrays: Arrays = {}
    for name, steps, member, own in job.members(work):
        arrays |= _prefixed(name, member.train(_reduced(X, steps), Y, own))
    return arrays


def needs(job: Job, positives: Csr, work: Work) -> tuple[Ids | None, Found]:
    """Return the points that units need, None for all, and what was found for them."""
    needed = np.zeros(positives.shape[1], dtype=np.bool_)
    found: dict[str, Lists] = {}
    for name, _, member, own in job.members(work):
        if isinstance(member, _Indivisible):
            return None, work.found
        points, lists = member.units.needs(positives, member.unpacked(own))
        if points is None:
            return None, work.found
        needed[points] = True
        found |= _prefixed(name, lists)
    return np.flatnonzero(needed).astype(np.int32), found


def search(job: Job, Y: Csr, work: Work) -> Search:
    """Return the search between the waves, among points as they are given."""
    members = [
        (name, steps, member.units.search(Y, member.unpacked(own)))
        for name, steps, member, own in job.members(work)
        if isinstance(member, _Divisible)
    ]
    return partial(_search, members)


def _search(members: Sequence[tuple[str, Steps, Search]], X: Csr) -> Found:
    found: dict[str, Lists] = {}
    for name, steps, inner in members:
        found |= _prefixed(name, inner(unit_rows(_reduced(X, steps), n_threads=1)))
    return found


def _reduced(X: Csr, steps: Steps) -> Csr:
    return reduce(lambda rows, step: step(rows), steps, X)


def _with_sizes(model: Classifier, sizes: Sizes) -> Classifier:
    model._set_labels(
        sizes.n_labels, sizes.classes, dense_answers=sizes.dense, multilabel=sizes.multilabel
    )
    if sizes.feature_names is not None:
        model.feature_names_in_ = sizes.feature_names
    return model


def _seed_of(base: Classifier) -> int:
    seed = base.random_state
    if not isinstance(seed, int):
        raise TypeError(f"random_state of a member must be an int, got {seed!r}")
    return seed


def _ranges(n_units: NDArray[np.int64], units: range) -> Iterator[tuple[int, range]]:
    """Yield the members that units belong to, each with the range of its own units."""
    begin = 0
    for number, size in enumerate(n_units.tolist()):
        own = range(max(units.start - begin, 0), min(units.stop - begin, size))
        if own:
            yield number, own
        begin += size


def _prefixed(prefix: str, named: Mapping[str, Value]) -> dict[str, Value]:
    return {prefix + name: one for name, one in named.items()}


def _without_prefix(named: Mapping[str, Value], prefix: str) -> dict[str, Value]:
    return {name[len(prefix) :]: named[name] for name in named if name.startswith(prefix)}
