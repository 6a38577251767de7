"""Plans of trainings: parts with costs, their training, their files, and the join.

A plan has what all parts need and no part can compute alone. It and the results of its parts are
files of the container of models, with its checksums, and declare what they hold as models do
(``persistence.fields``).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag._parameters import Int
from defrag._scikit import clone
from defrag._scratch import Arrays
from defrag._validation import check_seed
from defrag.classifiers._division import Found, Piece, Search, Work, cut_units
from defrag.classifiers._subtrees import join_lists
from defrag.distributed._jobs import (
    Data,
    Job,
    Sizes,
    Trainable,
    Whole,
    check_data,
    checksum,
    classifier_of,
    crc32,
    job_of,
    needs,
    search,
    train,
    with_texts,
)
from defrag.exceptions import ModelFormatError
from defrag.io.files import PathLike, display_name
from defrag.persistence._container import read_model_file, write_model_file
from defrag.persistence.fields import COUNT, MAX_COUNT, Array, Classes, Number, State, Strings
from defrag.persistence.fields import Part as FilePart
from defrag.persistence.kinds import SEED, Unfitted, read_state
from defrag.text import TextClassifier
from defrag.typing import Csr, Ids, LabelsLike, MatrixLike

_PARTS_RULE = Int(1)
_WORDS = "vectorizer/"
"""Prefix of the vectoriser's arrays in the outline."""

Points: TypeAlias = "MatrixLike | Sequence[str]"


@dataclass(frozen=True)
class Part:
    """A part of a training: the units ``first`` to ``last - 1``.

    Attributes
    ----------
    index : int
        Its number in the plan.
    first, last : int
        The range of units.
    share : float
        Its share of the expected cost of all parts.
    wave : int
        Parts of wave 1 are trained faster with the results of all parts of wave 0.
    """

    index: int
    first: int
    last: int
    share: float
    wave: int = 0


@dataclass(frozen=True)
class Plan:
    """A training divided into parts; see :func:`plan`."""

    # The classifier, not fitted.
    estimator: Trainable
    # The seed drawn from ``random_state``.
    seed: int
    # Numbers of points, features and labels, and the form of the labels.
    sizes: Sizes
    # Checksum of the data.
    fingerprint: int
    # Data that all parts need, such as the shapes of trees.
    outline: Arrays
    # Offsets of the units of the parts.
    bounds: NDArray[np.int64]
    # Shares of the expected cost.
    shares: NDArray[np.float64]
    # Waves of the parts; those of wave 1 are trained faster with the results of wave 0.
    waves: NDArray[np.uint8]

    @cached_property
    def identity(self) -> int:
        """Checksum of everything in the plan, which its part results contain."""
        file = FilePart()
        _PLAN.write(self, file, "float32")
        value = zlib.crc32(json.dumps(file.state, sort_keys=True).encode())
        arrays = {**file.arrays, **self.outline}
        for name in sorted(arrays):
            value = crc32(arrays[name], zlib.crc32(name.encode(), value))
        return value

    @property
    def parts(self) -> list[Part]:
        """The parts, those of the first wave first, and those of each wave by decreasing cost."""
        ranges = zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)
        shares, waves = self.shares.tolist(), self.waves.tolist()
        parts = [
            Part(i, first, last, shares[i], waves[i]) for i, (first, last) in enumerate(ranges)
        ]
        return sorted(parts, key=lambda part: (part.wave, -part.share, part.index))


@dataclass(frozen=True)
class PartResult:
    """The result of :func:`fit_part`, for :func:`join`."""

    # The number of the part.
    index: int
    # Checksum of the plan.
    identity: int
    # Fitted arrays.
    arrays: Arrays


# --- Planning, training of a part, and joining.


def plan(estimator: Trainable, X: Points, Y: LabelsLike, *, n_parts: int) -> Plan:
    """Divide the training of a classifier into parts.

    Work that cannot be divided, such as the clustering of labels and features, is done here.

    Parameters
    ----------
    estimator : classifier or TextClassifier
        Any classifier of this library.
    X : sparse or dense matrix, shape (n_points, n_features), or sequence of str
        The points; for a ``TextClassifier``, the texts, whose vectoriser is fitted here.
    Y : labels
        Their labels, in any form that ``fit`` takes.
    n_parts : int
        Number of parts; several per processor balance the load. There are fewer if the training
        cannot be divided as often.

    Returns
    -------
    plan : Plan
        The plan; it can be pickled, and written to a file by :func:`save_plan`.
    """
    return plan_and_data(estimator, X, Y, n_parts=n_parts)[0]


def plan_and_data(
    estimator: Trainable, X: Points, Y: LabelsLike, *, n_parts: int
) -> tuple[Plan, Data]:
    """Return a plan, and the data that :func:`train_part` takes."""
    if not isinstance(estimator, Trainable):
        raise ValueError(  # noqa: TRY004 - ValueError for all bad arguments
            f"estimator must be a classifier of defrag, got {estimator!r}"
        )
    if not _PARTS_RULE.accepts(n_parts):
        raise ValueError(f"n_parts must be {_PARTS_RULE.describe()}, got {n_parts!r}")
    if getattr(estimator, "extra", None) is not None:
        raise ValueError(
            f"extra must be None in a plan, which cannot store functions, got {estimator!r}"
        )
    for name, value in estimator.get_params().items():
        if name.endswith(("calibration", "class_weight")) and value is not None:
            raise ValueError(f"{name} must be None in a plan, got {value!r}")
        if name == "preset" and value == "best":
            raise ValueError("preset must not be 'best' in a plan, which tries no classifiers")
    estimator = clone(estimator)
    estimator._check_parameters()
    seed = check_seed(estimator.random_state)
    job = job_of(classifier_of(estimator, seed))
    data = check_data(estimator, X, Y, seed=seed)
    labels = data.labels
    if labels.matrix.nnz == 0:
        raise ValueError("Y must have at least one label, got none for any point")
    division = job.divide(data.X, labels.matrix, seed)
    bounds, shares, waves = cut_units(division, n_parts)
    sizes = Sizes(
        *data.X.shape,
        labels.matrix.shape[1],
        labels.classes,
        labels.dense,
        labels.multilabel,
        data.feature_names,
    )
    outline = division.outline | {_WORDS + name: one for name, one in data.vectorizer.items()}
    todo = Plan(clone(estimator), seed, sizes, checksum(data), outline, bounds, shares, waves)
    return todo, data


def fit_part(
    plan: Plan, part: Part | int, X: Points, Y: LabelsLike, earlier: Iterable[PartResult] = ()
) -> PartResult:
    """Train a part of a plan.

    Parameters
    ----------
    plan : Plan
        The plan.
    part : Part or int
        One of ``plan.parts``, or its number.
    X, Y : data
        The data that the plan was made from.
    earlier : iterable of PartResult
        For a part of wave 1, the results of all parts of wave 0, which it would otherwise train
        again as far as it needs them; the result is the same.

    Returns
    -------
    result : PartResult
        The result, which depends only on the plan and the part.

    Raises
    ------
    ValueError
        If the data are not those of the plan, or the plan has no such part.
    """
    index = part if isinstance(part, int) else part.index
    n_parts = len(plan.shares)
    if not 0 <= index < n_parts:
        raise ValueError(f"the plan has the parts 0 to {n_parts - 1}, got {index}")
    return train_part(plan, index, *_data_of(plan, X, Y), {}, earlier=earlier)


def train_part(
    plan: Plan, index: int, X: Csr, Y: Csr, found: Found, *, earlier: Iterable[PartResult] = ()
) -> PartResult:
    """Train a part of a plan on the data that :func:`plan_and_data` returned.

    It needs no more of them, and of what was found, than :func:`with_rows` yields.
    """
    before = _pieces(plan, earlier)
    needed = np.flatnonzero(plan.waves < plan.waves[index]).tolist()
    known = [before[i] for i in needed] if all(i in before for i in needed) else []
    arrays = train(_job(plan), X, Y, replace(_work(plan, index, found), earlier=known))
    return PartResult(index, plan.identity, arrays)


def with_rows(
    plan: Plan, parts: Iterable[Part], data: tuple[Csr, Csr], found: Found
) -> Iterator[tuple[Part, tuple[Csr, Csr], Found]]:
    """Yield parts with the rows that they need, and with what was found, by places in these rows.

    ``data`` itself are the rows if all are needed, and neighbours that need the same rows, such as
    blocks of a node, have the same object.
    """
    X, Y = data
    positives = sparse.csr_array(Y.T)
    before: Ids | None = None
    rows = data
    for part in parts:
        points, own = needs(_job(plan), positives, _work(plan, part.index, found))
        if points is None or len(points) == X.shape[0]:
            yield part, data, own
            continue
        if before is None or not np.array_equal(points, before):
            before, rows = points, (X[points], Y[points])
        yield part, rows, {name: (begin, np.searchsorted(points, one).astype(np.int32))
                           for name, (begin, one) in own.items()}  # fmt: skip


def search_between(plan: Plan, results: Iterable[PartResult], Y: Csr) -> Search:
    """Return the search between the waves, given the results of all parts of wave 0."""
    pieces = sorted(_pieces(plan, results).values(), key=lambda piece: piece.first)
    last = int(plan.bounds[-1])
    return search(_job(plan), Y, Work(plan.seed, _outline(plan), 0, last, pieces))


def search_rows(search: Search, rows: Csr, first: int) -> Found:
    """Return what a search finds in a block of rows, of which ``first`` is the first."""
    return {
        name: (begin, points + np.int32(first)) for name, (begin, points) in search(rows).items()
    }


def join_found(blocks: Sequence[Found]) -> Found:
    """Return what was found in all rows, given that in blocks of them."""
    return {name: join_lists([one[name] for one in blocks]) for name in blocks[0]}


def _job(plan: Plan) -> Job:
    return job_of(classifier_of(plan.estimator, plan.seed))


def _work(plan: Plan, index: int, found: Found) -> Work:
    first, last = plan.bounds[index : index + 2].tolist()
    return Work(plan.seed, _outline(plan), first, last, found=found)


def join(
    plan: Plan, results: Iterable[PartResult], X: Points | None = None, Y: LabelsLike | None = None
) -> Trainable:
    """Return the trained classifier, identical to that of ``fit``.

    Parameters
    ----------
    plan : Plan
        The plan.
    results : iterable of PartResult
        The results of all parts, in any order. Repeated parts count once.
    X, Y : data, optional
        The data that the plan was made from. Only ``LPSR``, alone or as a part of another
        estimator, requires them: it ranks the points with its trained base.

    Returns
    -------
    estimator : classifier
        Fitted.

    Raises
    ------
    ValueError
        If parts are missing or belong to another plan, or required data are missing.
    """
    if X is None or Y is None:
        if X is not Y:
            raise ValueError("join requires both X and Y, or neither")
        return join_parts(plan, results, None)
    return join_parts(plan, results, _data_of(plan, X, Y))


def join_parts(
    plan: Plan, results: Iterable[PartResult], data: tuple[Csr, Csr] | None
) -> Trainable:
    """Return the trained classifier, given checked data."""
    n_parts = len(plan.shares)
    found = _pieces(plan, results)
    missing = [i for i in range(n_parts) if i not in found]
    if missing:
        shown = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise ValueError(f"{len(missing)} of {n_parts} parts are missing: {shown}")
    pieces = [found[i] for i in range(n_parts)]
    job, sizes = _job(plan), plan.sizes
    if not isinstance(plan.estimator, TextClassifier):
        return job.join(plan.outline, pieces, Whole(plan.seed, sizes, data))
    inner = Whole(plan.seed, sizes.unnamed(), data)
    base = job.join(_outline(plan), pieces, inner)
    return with_texts(plan.estimator, base, _vectorizer(plan), sizes)


def _pieces(plan: Plan, results: Iterable[PartResult]) -> dict[int, Piece]:
    """Return results as pieces by the numbers of their parts."""
    found = {}
    for one in results:
        if one.identity != plan.identity or not 0 <= one.index < len(plan.shares):
            raise ValueError(f"part {one.index} belongs to another plan")
        first, last = plan.bounds[one.index : one.index + 2].tolist()
        found[one.index] = Piece(first, last, one.arrays)
    return found


def _data_of(plan: Plan, X: Points, Y: LabelsLike) -> tuple[Csr, Csr]:
    """Return checked points and labels; raise ValueError if they are not those of the plan."""
    data = check_data(clone(plan.estimator), X, Y, _vectorizer(plan))
    if checksum(data) != plan.fingerprint:
        raise ValueError(
            f"the data are not those of the plan: it has {plan.sizes.describe()}, or other values "
            f"(got {data.X.shape[0]} points, {data.X.shape[1]} features, "
            f"{data.labels.matrix.shape[1]} labels)"
        )
    return data.X, data.labels.matrix


def _vectorizer(plan: Plan) -> Arrays:
    """Return the packed vectoriser of texts."""
    return {
        name.removeprefix(_WORDS): array
        for name, array in plan.outline.items()
        if name.startswith(_WORDS)
    }


def _outline(plan: Plan) -> Arrays:
    """Return the outline of the classifier."""
    return {name: one for name, one in plan.outline.items() if not name.startswith(_WORDS)}


# --- Files, for batch systems, shell loops and resumed work.

_DESCRIBED = Unfitted(("classifier", "composite", "text"))
_CHECKSUM = Int(0, 2**32 - 1)
_OUTLINE = "outline/"

_PLAN = State(
    Number("estimator", _DESCRIBED, get=lambda plan: _DESCRIBED.pack(plan.estimator)),
    Number("seed", SEED),
    Number("n_points", Int(0, MAX_COUNT), get=lambda plan: plan.sizes.n_points),
    Number("n_features", COUNT, get=lambda plan: plan.sizes.n_features),
    Number("n_labels", COUNT, get=lambda plan: plan.sizes.n_labels),
    Number("dense", get=lambda plan: plan.sizes.dense),
    Number("multilabel", get=lambda plan: plan.sizes.multilabel),
    Classes(get=lambda plan: (plan.sizes.classes, False)),
    Strings(
        "feature_names",
        "n_features",
        optional=True,
        as_array=True,
        get=lambda plan: plan.sizes.feature_names,
    ),
    Number("fingerprint", _CHECKSUM),
    Array("bounds", "int64"),
    Array("shares", "float64", length=lambda part: part.size("bounds") - 1),
    Array("waves", "uint8", length=lambda part: part.size("bounds") - 1, below=2),
)
_PART = State(Number("index", Int(0, MAX_COUNT)), Number("identity", _CHECKSUM))


def save_plan(plan: Plan, path: PathLike) -> None:
    """Write a plan to a file.

    Parameters
    ----------
    plan : Plan
        The plan.
    path : path
        The file, usually ``*.plan``. Equal plans give equal bytes.
    """
    file = FilePart()
    _PLAN.write(plan, file, "float32")
    outline = {_OUTLINE + name: array for name, array in plan.outline.items()}
    write_model_file(path, {"plan": file.state}, file.arrays | outline)


def load_plan(path: PathLike) -> Plan:
    """Read a plan that :func:`save_plan` wrote.

    Raises
    ------
    ModelFormatError
        If the file is not a plan, or is damaged.
    OSError
        If the file cannot be read.
    """
    values, arrays = _read(path, "plan", _PLAN)
    outline = {name.removeprefix(_OUTLINE): arrays[name] for name in arrays}
    described = values["n_points"], values["n_features"], values["n_labels"]
    sizes = Sizes(*described, values["class_names_"], values["dense"], values["multilabel"],
                  values.get("feature_names"))  # fmt: skip
    estimator = _DESCRIBED.unpack(values["estimator"])
    return Plan(estimator, values["seed"], sizes, values["fingerprint"], outline,
                values["bounds"], values["shares"], values["waves"])  # fmt: skip


def part_path(plan_path: PathLike, index: int) -> Path:
    """Return the file of the result of a part, beside the plan.

    Examples
    --------
    >>> from defrag.distributed import part_path
    >>> part_path("model.plan", 3).name
    'model.plan.part-00003'
    """
    path = Path(os.fspath(plan_path))
    return path.with_name(f"{path.name}.part-{index:05d}")


def save_part(result: PartResult, path: PathLike) -> None:
    """Write the result of a part to a file; training the part again gives the same bytes."""
    file = FilePart()
    _PART.write(result, file, "float32")
    write_model_file(path, {"part": file.state}, result.arrays)


def load_part(path: PathLike) -> PartResult:
    """Read the result of a part that :func:`save_part` wrote.

    Raises
    ------
    ModelFormatError
        If the file is not the result of a part, or is damaged.
    OSError
        If the file cannot be read.
    """
    values, arrays = _read(path, "part", _PART)
    return PartResult(values["index"], values["identity"], arrays)


def _read(path: PathLike, what: str, state: State) -> tuple[dict[str, Any], Arrays]:
    """Return the declared values of a file and its other arrays."""
    name = display_name(path)
    description, arrays = read_model_file(path, checked=True)
    if what not in description:
        raise ModelFormatError(name, f"is not a {what}: it holds {', '.join(description)}")
    rest = dict(arrays)
    return read_state(state, name, what, description[what], rest), rest
