"""Lists of strings in a model file, as UTF-8 bytes and offsets.

Loading is lazy: only names that are used become Python strings.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._validation import NamesByArray
from defrag.persistence._checks import BLOCK_ITEMS, check_length, check_offsets
from defrag.persistence._schema import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.persistence._schema import Part
    from defrag.typing import Offsets

__all__ = ["Strings", "pack_strings", "string_arrays", "unpack_strings"]


class Strings(NamesByArray):
    """A list of strings stored in two arrays, which may be mapped; indexed by label ids.

    Parameters
    ----------
    data : ndarray of uint8
        The strings in UTF-8, concatenated.
    offsets : ndarray of int64, shape (n_strings + 1,)
        Offsets of the strings, including the end of the last.

    Examples
    --------
    >>> from defrag.persistence._strings import Strings, pack_strings
    >>> names = Strings(*pack_strings("names", ["ant", "bee", "cat"]).values())
    >>> names[1], names[-1], len(names), names[:2]
    ('bee', 'cat', 3, ['ant', 'bee'])
    """

    def __init__(self, data: NDArray[np.uint8], offsets: Offsets) -> None:
        self.data = data
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _name(self, index: int) -> str:
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode("utf-8")


def string_arrays(name: str, *, optional: bool = False) -> dict[str, Array]:
    """Return the schema of a list of strings."""
    group = name if optional else None
    return {f"{name}/bytes": Array("uint8", 1, group), f"{name}/offsets": Array("int64", 1, group)}


def pack_strings(name: str, strings: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the two arrays of a list of strings.

    Examples
    --------
    >>> from defrag.persistence._strings import pack_strings
    >>> {key: array.tolist() for key, array in pack_strings("names", ["a", "bc"]).items()}
    {'names/bytes': [97, 98, 99], 'names/offsets': [0, 1, 3]}
    """
    if isinstance(strings, Strings):
        return {f"{name}/bytes": strings.data, f"{name}/offsets": strings.offsets}
    pieces = [str(text).encode("utf-8") for text in strings]
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return {
        f"{name}/bytes": np.frombuffer(b"".join(pieces), dtype=np.uint8),
        f"{name}/offsets": offsets,
    }


def unpack_strings(part: Part, name: str, length: int) -> Strings:
    """Check the two arrays of a list of ``length`` strings and return the list."""
    check_length(part, f"{name}/offsets", length + 1)
    data, offsets = part.arrays[f"{name}/bytes"], part.arrays[f"{name}/offsets"]
    check_offsets(part, f"{name}/offsets", len(data))
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, max(1, len(data)), BLOCK_ITEMS):
        block = data[start : start + BLOCK_ITEMS].tobytes()
        try:
            decoder.decode(block, final=start + BLOCK_ITEMS >= len(data))
        except UnicodeDecodeError as error:
            wrong = error.object[error.start : error.end]
            place = start + error.start
            part.fail(f"{part.name(f'{name}/bytes')} must be UTF-8, got {wrong!r} near {place}")
    starts = offsets[offsets < len(data)]
    inside = (data[starts] & 0xC0) == 0x80
    if inside.any():
        part.fail(f"{part.name(f'{name}/offsets')} must not split a character, got "
                  f"{starts[np.argmax(inside)]}")  # fmt: skip
    return Strings(data, offsets)
