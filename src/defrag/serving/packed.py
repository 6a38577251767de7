"""Strings that stay shared between processes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["PackedStrings"]


class PackedStrings(Sequence[str]):
    """Strings in one array of bytes, made anew when they are asked for.

    Python counts the references to a string in the string itself, so that a forked process that
    only reads strings gets copies of all their pages. Bytes of an array are shared for good.

    Parameters
    ----------
    strings : iterable of str
        The strings.

    Examples
    --------
    >>> PackedStrings(["algebra", "", "väylä"])[2]
    'väylä'
    """

    def __init__(self, strings: Iterable[str]) -> None:
        encoded = [string.encode(errors="surrogatepass") for string in strings]
        self._bytes = b"".join(encoded)
        self._ends = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return a string."""
        if isinstance(place, slice):
            return self.take(np.arange(*place.indices(len(self))))
        return self.take(np.array([place]))[0]

    def take(self, places: NDArray[np.integer]) -> list[str]:
        """Return the strings of some places, at little more cost than that of one."""
        content = self._bytes
        begins, ends = self._ends[places].tolist(), self._ends[places + 1].tolist()
        return [
            content[begin:end].decode("utf-8", "surrogatepass")
            for begin, end in zip(begins, ends, strict=True)
        ]
