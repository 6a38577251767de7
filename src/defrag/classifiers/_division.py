"""Training divided into independent units, which any process may train in any order.

A classifier of this kind gives its :class:`Units`. ``fit`` trains all units at once and passes
objects on; ``defrag.distributed`` trains them in processes and on machines, and turns what passes
between these into arrays (``packed``, ``unpacked``). Both give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag._estimator import all_or_nothing
from defrag._parameters import VERBOSE, param
from defrag._scratch import Arrays, Coding, keeps, kept
from defrag.classifiers._base import Classifier
from defrag.classifiers._following import Shapes
from defrag.classifiers._subtrees import Lists
from defrag.typing import Csr, Floats, Ids

if TYPE_CHECKING:
    from typing_extensions import Self

_CSR_ARRAYS = ("data", "indices", "indptr")


def packed(value: Any, prefix: str = "") -> Arrays:
    """Return dataclasses, dicts, tuples and matrices as arrays with names such as ``3/order``."""
    if isinstance(value, np.ndarray):
        return {prefix: value}
    inner = value
    if isinstance(value, sparse.csr_array):
        inner = {name: getattr(value, name) for name in _CSR_ARRAYS}
        inner["shape"] = np.array(value.shape, dtype=np.int64)
    elif isinstance(value, tuple):
        inner = dict(enumerate(value))
    elif not isinstance(value, dict):
        inner = {one.name: getattr(value, one.name) for one in fields(value)}
    below = f"{prefix}/" if prefix else ""
    parts = [packed(one, f"{below}{name}") for name, one in inner.items() if one is not None]
    return {name: array for part in parts for name, array in part.items()}


def unpacked(arrays: Mapping[str, NDArray[Any]], kind: type[Any] | None = None) -> Any:
    """Return what :func:`packed` encoded; ``kind`` is the class of an object, or of numbered ones.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.classifiers._division import packed, unpacked
    >>> unpacked(packed({3: {"order": np.arange(2)}}))
    {3: {'order': array([0, 1])}}
    """
    if set(arrays) == {*_CSR_ARRAYS, "shape"}:
        parts = tuple(arrays[name] for name in _CSR_ARRAYS)
        return sparse.csr_array(parts, shape=tuple(arrays["shape"].tolist()))
    below: dict[str, Arrays] = {}
    for name, array in arrays.items():
        head, _, rest = name.partition("/")
        below.setdefault(head, {})[rest] = array
    found: dict[Any, Any] = {
        int(head) if head.isdigit() else head: one[""] if "" in one else unpacked(one)
        for head, one in below.items()
    }
    if kind is None:
        return found
    if all(isinstance(name, int) for name in found):
        return {number: kind(**one) for number, one in found.items()}
    return kind(**found)


@dataclass(frozen=True)
class Division:
    """The units of a training."""

    # What all units share and no unit can compute alone, such as the shapes of trees.
    outline: Any
    # Shape (n_units,): expected costs of the units, relative to each other.
    costs: NDArray[np.float64]
    # Units of wave 1 use the results of all units of wave 0; None if there are no such units.
    waves: NDArray[np.uint8] | None = None

    def wave_of_units(self) -> NDArray[np.uint8]:
        """Return the wave of each unit."""
        return np.zeros(len(self.costs), dtype=np.uint8) if self.waves is None else self.waves


@dataclass(frozen=True)
class Piece:
    """The result of the units ``first`` to ``last - 1``."""

    first: int
    last: int
    result: Any


Found: TypeAlias = Mapping[str, Lists]
"""Points that a search between the waves found, by name."""
Search: TypeAlias = Callable[[Csr], Found]
"""Finds them among unit rows, each of which is searched by itself; can be pickled."""


@dataclass(frozen=True)
class Work:
    """The units ``first`` to ``last - 1``, to be trained, and what is needed besides the data."""

    seed: int
    outline: Any
    first: int
    last: int
    # All units of wave 0, or none of them, for units of wave 1.
    earlier: Sequence[Piece] = ()
    # What was found between the waves; nothing if units of wave 1 search themselves.
    found: Found = field(default_factory=dict)


_OUTLINE = "outline/"  # the field of Division


class Units(ABC):
    """The training of one classifier in units.

    A unit is a function of the data, the seed, the outline and, in wave 1, of all units of wave 0,
    so that the result is bit-identical for any division of the work.
    """

    outline_kind: ClassVar[type[Any] | None] = None
    """The class of the outline, or of its numbered items; None for a matrix or a dict of arrays."""
    result_kind: ClassVar[type[Any] | None] = None
    """The class of a result, or of its numbered items; None for a matrix."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @abstractmethod
    def prepare(self, X: Csr, Y: Csr) -> Any:
        """Return the data in the form that :meth:`train` takes."""

    @abstractmethod
    def divide(self, data: Any, seed: int, shapes: Shapes | None = None) -> Division:
        """Return the units of the training on prepared data."""

    @abstractmethod
    def train(self, data: Any, work: Work) -> Any:
        """Train some units and return the result, for :meth:`join`.

        Units of wave 1 search with those of wave 0, unless it was done: with those of the same
        range or of the earlier pieces; if there are none, they train those that they need again.
        """

    def needs(self, positives: Csr, work: Work) -> tuple[Ids | None, Found]:  # noqa: ARG002 - most need all
        """Return the points that units need, None for all, and what was found for these units.

        Trained on the rows of these points, in ascending order, units have the same result.

        - ``positives``, shape (n_labels, n_points): the points of each label.
        """
        return None, work.found

    def search(self, Y: Csr, work: Work) -> Search:
        """Return the search between two waves; the earlier pieces have all units of wave 0."""
        raise NotImplementedError

    @property
    def kept_division(self) -> Coding:
        """How a division is kept in a scratch folder."""
        return Coding(packed, self._division)

    def _division(self, arrays: Arrays) -> Division:
        outline = {
            name.removeprefix(_OUTLINE): array
            for name, array in arrays.items()
            if name.startswith(_OUTLINE)
        }
        found = unpacked(outline, self.outline_kind)
        return Division(found, arrays["costs"], arrays.get("waves"))

    @property
    def kept_result(self) -> Coding:
        """How a result is kept in a scratch folder."""
        return Coding(packed, lambda arrays: unpacked(arrays, self.result_kind))

    @property
    def kept_found(self) -> Coding:
        """How what was found is kept in a scratch folder."""
        return Coding(packed, lambda arrays: {
            str(number): (lists[0], lists[1]) for number, lists in unpacked(arrays).items()
        })  # fmt: skip

    def meet(self, data: Any, outline: Any, pieces: Sequence[Piece]) -> Found:  # noqa: ARG002 - most need nothing
        """Compute what the units of a wave share; the pieces have all units of waves before it."""
        return {}

    @abstractmethod
    def join(self, outline: Any, pieces: Sequence[Piece]) -> None:
        """Set the fitted attributes from pieces that contain every unit once, in order."""


def cut_units(
    division: Division, n_parts: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8]]:
    """Return the bounds of ranges of units of about equal cost, their shares and their waves.

    A range has units of one wave, unless there is only one range.
    """
    costs, waves = division.costs, division.wave_of_units()
    before = np.concatenate([[0.0], np.cumsum(costs)])
    changes = np.flatnonzero(np.diff(waves)) + 1
    ends = np.array([0, *(changes if n_parts > 1 else ()), len(costs)])
    sizes, runs = np.diff(ends), np.diff(before[ends])
    wanted = np.ones(len(runs))
    while wanted.sum() < min(n_parts, len(costs)):
        wanted[np.argmax(np.where(wanted < sizes, runs / wanted, -1.0))] += 1
    bounds = [np.zeros(1, dtype=np.int64)]
    for first, last, n in zip(ends[:-1], ends[1:], wanted.astype(int), strict=True):
        targets = before[first] + (before[last] - before[first]) * np.arange(1, n + 1) / n
        inner = np.searchsorted(before[first + 1 : last + 1], targets) + first + 1
        bounds.append(np.append(inner[:-1], last))
    found = np.unique(np.concatenate(bounds)).astype(np.int64)
    return found, np.diff(before[found]) / before[-1], waves[found[:-1]]


# Pieces of a training that is kept in a scratch folder: what a kill loses is at most one. A piece
# has work for all threads.
_PIECES = 40


class Divisible(Classifier):
    """Base class of classifiers whose training consists of independent units."""

    verbose: int = param(VERBOSE, "Whether to show progress bars on a terminal.", default=0)

    @abstractmethod
    def _units(self) -> Units:
        """Return the units of the training of this classifier."""

    def _train(
        self,
        X: Csr,
        Y: Csr,
        seed: int,
        shapes: Shapes | None = None,
        *,
        weights: Floats | None = None,
    ) -> None:
        units = self._units()
        data = units.prepare(X, Y)
        if weights is not None:
            data = replace(data, weights=weights)
        division = kept("division", lambda: units.divide(data, seed, shapes), units.kept_division)
        n_pieces = max(1, _PIECES // self._threads) if keeps() else 1
        # Kept, because it may continue with another number of threads.
        bounds = kept("pieces", lambda: cut_units(division, n_pieces)[0])
        waves = division.wave_of_units()[bounds[:-1]]
        pieces: list[Piece] = []
        met: int | None = None
        found: Found = {}
        for (first, last), wave in zip(pairwise(bounds.tolist()), waves.tolist(), strict=True):
            if wave != met:
                found = units.meet(data, division.outline, pieces)
                met = wave
            work = Work(seed, division.outline, first, last, pieces, found)
            result = kept("units", partial(units.train, data, work), units.kept_result)
            pieces.append(Piece(first, last, result))
        units.join(division.outline, pieces)

    @all_or_nothing
    def _fit_pieces(
        self, outline: Any, pieces: Sequence[Piece], *, n_features: int, n_labels: int
    ) -> Self:
        """Set the attributes that ``_fit_canonical`` sets, from all pieces in order."""
        self._check_parameters()
        self.n_features_in_ = n_features
        self._units().join(outline, pieces)
        self._set_labels(n_labels)
        return self
