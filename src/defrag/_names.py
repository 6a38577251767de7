"""The one class for lists of strings: names of labels, features and words.

Strings are kept as UTF-8 bytes and offsets, which model files map and forked processes share:
Python stores the reference count of a string in the string, so that a process that only reads
strings copies their pages. Classifiers keep their label names in this form, model files have it
(``persistence.state``), and the server looks names up in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defrag.typing import Offsets

# A lone surrogate is a legal character of a Python string. Files refuse it (persistence.state).
_ANY_STRING = "surrogatepass"
_AT_A_TIME = 1 << 16


class Names(Sequence[str]):
    """Strings that can be indexed by an array of label ids, decoded on access.

    Padding, -1 in an array of ids, has the name ``""``.

    - ``data``: the strings in UTF-8, concatenated.
    - ``offsets``, shape (n_strings + 1,): offsets of the strings, including the end of the last.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag._names import Names
    >>> names = Names.of(["ant", "bee", "cat"])
    >>> names[1], names[-1], len(names), names[:2]
    ('bee', 'cat', 3, ['ant', 'bee'])
    >>> names[np.array([[1, 0], [0, -1]])].tolist()
    [['bee', 'ant'], ['ant', '']]
    """

    def __init__(self, data: NDArray[np.uint8], offsets: Offsets) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> Names:
        """Return strings in this form, without a copy if they have it."""
        if isinstance(strings, Names):
            return strings
        pieces = [str(text).encode("utf-8", _ANY_STRING) for text in strings]
        offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(pieces), dtype=np.uint8), offsets)

    def take(self, places: NDArray[Any]) -> Names:
        """Return the strings at some places, without decoding them."""
        starts, lengths = self.offsets[places], np.diff(self.offsets)[places]
        offsets = np.append(0, np.cumsum(lengths, dtype=np.int64))
        data = np.empty(int(offsets[-1]), dtype=np.uint8)
        for first in range(0, len(places), _AT_A_TIME):  # the index of a byte has eight
            part = slice(first, first + _AT_A_TIME)
            shift = np.repeat(starts[part] - offsets[:-1][part], lengths[part])
            begin, end = offsets[first], offsets[min(first + _AT_A_TIME, len(places))]
            data[begin:end] = self.data[shift + np.arange(begin, end)]
        return Names(data, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

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

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _AT_A_TIME):
            ends = self.offsets[first : first + _AT_A_TIME + 1].tolist()
            content = self.data[ends[0] : ends[-1]].tobytes()
            for begin, end in pairwise(ends):
                yield content[begin - ends[0] : end - ends[0]].decode("utf-8", _ANY_STRING)

    def _name(self, index: int) -> str:
        """Return the name at a non-negative index."""
        content = self.data[self.offsets[index] : self.offsets[index + 1]]
        return content.tobytes().decode("utf-8", _ANY_STRING)

    def _names_of_ids(self, ids: ArrayLike) -> NDArray[np.object_]:
        checked = np.asarray(ids)
        if checked.size and checked.dtype.kind not in "iu":
            raise IndexError(f"names are indexed by label ids, got {checked.dtype}")
        if checked.size and not -1 <= checked.min() <= checked.max() < len(self):
            bad = checked.min() if checked.min() < -1 else checked.max()
            raise IndexError(f"label ids must be in [-1, {len(self)}), got {bad}")
        found = np.full(checked.shape, "", dtype=object)
        known = checked >= 0
        ids = checked[known].astype(np.int64)
        places = zip(self.offsets[ids].tolist(), self.offsets[ids + 1].tolist(), strict=True)
        content = self.data.data
        names = [str(content[begin:end], "utf-8", _ANY_STRING) for begin, end in places]
        found[known] = np.array(names, dtype=object)  # an array of str would cut final zeros
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            same = np.array_equal(self.offsets, other.offsets)
            return same and np.array_equal(self.data, other.data)
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment] # like a list

    def __repr__(self) -> str:
        return f"<{len(self)} strings>"
