"""Label names: sequences indexed by label ids, and matrices from lists of names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from defrag.typing import Csr

__all__ = ["Names", "NamesByArray", "named_matrix"]


class NamesByArray(Sequence[str]):
    """A sequence of names that can be indexed by an array of label ids.

    Padding, -1 in an array of ids, has the name ``""``.
    """

    @abstractmethod
    def _name(self, index: int) -> str:
        """Return the name at a non-negative index."""

    @overload
    def __getitem__(self, index: int, /) -> str: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[str]: ...
    @overload
    def __getitem__(self, index: NDArray[Any] | list[int], /) -> NDArray[np.object_]: ...
    def __getitem__(self, index: Any, /) -> Any:
        if isinstance(index, (np.ndarray, list)):
            return self._names_of_ids(index)
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._name(place) for place in places]
        return self._name(places)

    def _names_of_ids(self, ids: ArrayLike) -> NDArray[np.object_]:
        checked = np.asarray(ids)
        if checked.size and checked.dtype.kind not in "iu":
            raise IndexError(f"names are indexed by label ids, got {checked.dtype}")
        if checked.size and not -1 <= checked.min() <= checked.max() < len(self):
            bad = checked.min() if checked.min() < -1 else checked.max()
            raise IndexError(f"label ids must be in [-1, {len(self)}), got {bad}")
        found = np.full(checked.shape, "", dtype=object)
        for place in zip(*np.nonzero(checked >= 0), strict=True):
            found[place] = self._name(int(checked[place]))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment] # like a list

    def __repr__(self) -> str:
        return f"<{len(self)} strings>"


class Names(NamesByArray):
    """Names in memory.

    Parameters
    ----------
    names : ndarray of str objects
        The names.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag._validation import Names
    >>> names = Names(np.array(["ant", "bee"], dtype=object))
    >>> names[1], names[np.array([[1, 0], [0, -1]])].tolist()
    ('bee', [['bee', 'ant'], ['ant', '']])
    """

    def __init__(self, names: NDArray[np.object_]) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def _name(self, index: int) -> str:
        name: str = self.names[index]
        return name


def named_matrix(
    rows: Iterable[Iterable[str]], names: list[str] | None = None
) -> tuple[Csr, list[str]]:
    """Return the 0/1 matrix of the names in each row, and the names of its columns.

    Parameters
    ----------
    rows : iterable of iterables of str
        The names of each row.
    names : list of str, optional
        The names of the columns; default: all names in the rows, sorted.
    """
    lists = [row if type(row) is list else list(row) for row in rows]
    flat = [name for row in lists for name in row]
    names = sorted(set(flat)) if names is None else names
    numbers = {name: number for number, name in enumerate(names)}
    indices = np.fromiter(map(numbers.__getitem__, flat), dtype=np.int32, count=len(flat))
    indptr = np.append(0, np.cumsum([len(row) for row in lists], dtype=np.int64))
    ones = np.ones(len(flat), dtype=np.float32)
    matrix = sparse.csr_array((ones, indices, indptr), shape=(len(lists), len(names)))
    matrix.sum_duplicates()  # a row may repeat a name
    matrix.data[:] = 1.0
    return matrix, names
