"""Training divided into independent units, for threads, processes or machines."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from defrag._estimator import all_or_nothing
from defrag._parameters import VERBOSE, param
from defrag.classifiers._base import Classifier

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self

    from defrag.typing import Csr

__all__ = ["Arrays", "Divisible", "Division", "Piece", "csr_arrays", "csr_from_arrays"]

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


@dataclass(frozen=True)
class Division:
    """The units of a training.

    Attributes
    ----------
    outline : dict of arrays
        Arrays that all units share and that no unit can compute alone, such as tree shapes.
    costs : ndarray of float64, shape (n_units,)
        Expected costs of the units, relative to each other.
    """

    outline: Arrays
    costs: NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """The result of the units ``first`` to ``last - 1``."""

    first: int
    last: int
    arrays: Mapping[str, NDArray[Any]]


class Divisible(Classifier):
    """Base class of classifiers whose training consists of independent units.

    A unit is a function of the data, the seed and the outline. Units can therefore be trained in
    any order and in any process, and the result is bit-identical.
    """

    verbose: int = param(VERBOSE, "Whether to show progress bars on a terminal.", default=0)

    @abstractmethod
    def prepare(self, X: Csr, Y: Csr) -> Any:
        """Return the data in the form that :meth:`train_units` takes."""

    @abstractmethod
    def divide(self, data: Any, seed: int) -> Division:
        """Return the units of the training on prepared data."""

    @abstractmethod
    def train_units(self, data: Any, seed: int, outline: Arrays, first: int, last: int) -> Arrays:
        """Train the units ``first`` to ``last - 1``.

        Parameters
        ----------
        data : object
            The result of :meth:`prepare`.
        seed : int
            Seed of the training.
        outline : dict of arrays
            The outline that :meth:`divide` returned.
        first, last : int
            A range of units.

        Returns
        -------
        arrays : dict of arrays
            The result, for :meth:`assemble`.
        """

    @abstractmethod
    def assemble(self, outline: Arrays, pieces: Sequence[Piece]) -> None:
        """Set the fitted attributes from pieces that contain every unit once, in order."""

    def _train(self, X: Csr, Y: Csr, seed: int) -> None:
        data = self.prepare(X, Y)
        division = self.divide(data, seed)
        n_units = len(division.costs)
        arrays = self.train_units(data, seed, division.outline, 0, n_units)
        self.assemble(division.outline, [Piece(0, n_units, arrays)])

    @all_or_nothing
    def fit_pieces(
        self, outline: Arrays, pieces: Sequence[Piece], *, n_features: int, n_labels: int
    ) -> Self:
        """Set the attributes that ``fit_canonical`` sets, from pieces trained elsewhere.

        Parameters
        ----------
        outline : dict of arrays
            The outline of the training.
        pieces : sequence of Piece
            All pieces, in order.
        n_features, n_labels : int
            Numbers of features and labels.
        """
        self._check_parameters()
        self.n_features_in_ = n_features
        self.assemble(outline, pieces)
        self._set_labels(n_labels)
        return self
