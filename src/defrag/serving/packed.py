"""Strings whose memory stays shared between forked processes."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["PackedStrings"]


class PackedStrings:
    """Strings in one array of bytes, decoded on access.

    Python stores the reference count of a string in the string, so that a forked process that
    only reads strings copies all their pages. The pages of an array stay shared.

    Parameters
    ----------
    strings : iterable of str
        The strings.

    Examples
    --------
    >>> import numpy as np
    >>> PackedStrings(["algebra", "", "väylä"]).take(np.array([2, 0]))
    ['väylä', 'algebra']
    """

    def __init__(self, strings: Iterable[str]) -> None:
        encoded = [string.encode(errors="surrogatepass") for string in strings]
        self._bytes = b"".join(encoded)
        self._ends = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64)

    def take(self, places: NDArray[np.integer]) -> list[str]:
        """Return the strings at some positions, counted from 0."""
        content = self._bytes
        begins, ends = self._ends[places].tolist(), self._ends[places + 1].tolist()
        return [
            content[begin:end].decode("utf-8", "surrogatepass")
            for begin, end in zip(begins, ends, strict=True)
        ]
