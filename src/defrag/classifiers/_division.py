"""Training divided into independent units, which any process may train in any order.

A classifier of this kind gives its :class:`Units`. ``fit`` trains all units at once and passes
objects on; ``defrag.distributed`` trains them in processes and on machines, and turns what passes
between these into arrays. Both give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag._estimator import all_or_nothing
from defrag._parameters import VERBOSE, param
from defrag.classifiers._base import Classifier
from defrag.classifiers._following import Shapes
from defrag.typing import Csr, Floats

if TYPE_CHECKING:
    from typing_extensions import Self

Arrays: TypeAlias = "dict[str, NDArray[Any]]"
"""Named arrays, which can be stored in a file."""

_CSR_ARRAYS = ("data", "indices", "indptr")


def csr_arrays(matrix: Csr, prefix: str = "") -> Arrays:
    """Return a sparse matrix as named arrays."""
    arrays = {prefix + name: getattr(matrix, name) for name in _CSR_ARRAYS}
    return {**arrays, f"{prefix}shape": np.array(matrix.shape, dtype=np.int64)}


def csr_from_arrays(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Csr:
    """Return the sparse matrix from the arrays of :func:`csr_arrays`."""
    parts = tuple(arrays[prefix + name] for name in _CSR_ARRAYS)
    matrix: Csr = sparse.csr_array(parts, shape=tuple(arrays[f"{prefix}shape"].tolist()))
    return matrix


def by_number(arrays: Mapping[str, NDArray[Any]]) -> dict[int, Arrays]:
    """Return arrays with names such as ``3/order`` by their numbers.

    Other arrays belong to somebody else, such as the vectoriser in a plan of texts.
    """
    found: dict[int, Arrays] = {}
    for name, array in arrays.items():
        number, _, rest = name.partition("/")
        if number.isdigit():
            found.setdefault(int(number), {})[rest] = array
    return found


def numbered(objects: Mapping[int, Any]) -> Arrays:
    """Return the arrays of some objects with names such as ``3/order``."""
    return {f"{number}/{name}": array for number, one in objects.items()
            for name, array in vars(one).items()}  # fmt: skip


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


class Units(ABC):
    """The training of one classifier in units.

    A unit is a function of the data, the seed, the outline and, in wave 1, of all units of wave 0,
    so that the result is bit-identical for any division of the work. The last four methods are the
    border of a process.
    """

    @abstractmethod
    def prepare(self, X: Csr, Y: Csr) -> Any:
        """Return the data in the form that :meth:`train` takes."""

    @abstractmethod
    def divide(self, data: Any, seed: int, shapes: Shapes | None = None) -> Division:
        """Return the units of the training on prepared data."""

    @abstractmethod
    def train(
        self,
        data: Any,
        seed: int,
        outline: Any,
        first: int,
        last: int,
        *,
        earlier: Sequence[Piece] = (),
    ) -> Any:
        """Train the units ``first`` to ``last - 1`` and return the result, for :meth:`join`.

        Units of wave 1 find those of wave 0 in the same range or in the ``earlier`` pieces, which
        have all of them or none; if they find none, they train those that they need again.
        """

    @abstractmethod
    def join(self, outline: Any, pieces: Sequence[Piece]) -> None:
        """Set the fitted attributes from pieces that contain every unit once, in order."""

    @abstractmethod
    def pack_outline(self, outline: Any) -> Arrays:
        """Return an outline as named arrays."""

    @abstractmethod
    def unpack_outline(self, arrays: Arrays) -> Any:
        """Return the outline of :meth:`pack_outline`."""

    @abstractmethod
    def pack(self, result: Any) -> Arrays:
        """Return the result of some units as named arrays."""

    @abstractmethod
    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the result of :meth:`pack`."""


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
        division = units.divide(data, seed, shapes)
        n_units = len(division.costs)
        result = units.train(data, seed, division.outline, 0, n_units)
        units.join(division.outline, [Piece(0, n_units, result)])

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
