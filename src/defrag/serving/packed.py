"""Strings that stay shared between processes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        self._bytes = memoryview(b"".join(encoded))
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
            return [self[one] for one in range(*place.indices(len(self)))]
        begin, end = self._ends[place : place + 2].tolist()
        return str(self._bytes[begin:end], "utf-8", "surrogatepass")
