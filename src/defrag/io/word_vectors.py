"""Word vectors in the text formats of GloVe and word2vec.

Each line is a word and the numbers of its vector, separated by single blanks. The format of
word2vec has a header with the numbers of words and dimensions; a first line of exactly two
whole numbers is taken to be this header. A word may contain blanks (some in GloVe do): the
last ``p`` parts of a line are the vector. Only the words of a vocabulary are kept, by whose vectors
``defrag cluster`` groups features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from defrag import _native
from defrag.exceptions import FormatError
from defrag.io.files import InputStream, PathLike, ReadLimits, open_input
from defrag.io.xmc import FileWarnings
from defrag.typing import Floats

_FREE_BYTES = 1 << 30
_MAX_WORDS_PER_FOUND = 1024
"""Maximum number of words per word found, for vectors of more than ``_FREE_BYTES``."""


class WordVectors(NamedTuple):
    """Vectors of a vocabulary, and which of its words were found."""

    vectors: Floats
    found: NDArray[np.bool_]


def read_word_vectors(
    path: PathLike,
    vocabulary: Sequence[str],
    *,
    strict: bool = False,
    limits: ReadLimits | None = None,
) -> WordVectors:
    r"""Read the vectors of the words of a vocabulary.

    Parameters
    ----------
    path : path
        The file, encoded as UTF-8; may be compressed, ``-`` is standard input.
    vocabulary : sequence of str
        The words, one per feature; they must match exactly.
    strict : bool, default=False
        Whether warnings (a word of the vocabulary that is repeated in the file; its first
        vector is used) are errors.
    limits : ReadLimits, optional
        Limits on the expansion of compressed files.

    Returns
    -------
    vectors : array of shape (d, p), float32
        The vector of each word; zero for words that are not in the file.
    found : array of shape (d,), bool
        Which words are in the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_word_vectors
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = path.write_text("cat 1 0.5\ndog 0 2\n")
    >>> vectors, found = read_word_vectors(path, ["dog", "emu"])
    >>> vectors
    array([[0., 2.],
           [0., 0.]], dtype=float32)
    >>> found
    array([ True, False])
    """
    places: dict[bytes, list[int]] = {}
    for place, word in enumerate(vocabulary):
        places.setdefault(word.encode("utf-8", "surrogatepass"), []).append(place)
    found = np.zeros(len(vocabulary), dtype=np.bool_)
    with open_input(path, limits) as stream:
        file_warnings = FileWarnings(stream.name, strict)
        lines = _numbered_lines(stream)
        size, first = _first_line(stream.name, lines)
        rows: list[Floats] = []
        row_of = np.zeros(len(vocabulary), dtype=np.int64)
        for number, text in chain(first, lines):
            parts = text.rsplit(b" ", size)
            if len(parts) != size + 1:
                message = f"expected a word and {size} numbers, got {len(parts)} parts"
                raise FormatError(stream.name, message, number)
            where = places.get(parts[0])
            if where is not None:
                if found[where[0]]:
                    file_warnings.add("a word is repeated; its first vector is used", number)
                else:
                    row_of[where] = len(rows)
                    rows.append(_values(stream.name, parts[1:], number))
                    found[where] = True
        n_bytes, n_words = 4 * size * len(vocabulary), len(vocabulary)
        # Few words were found, and the array for all words would be large.
        if n_bytes > max(_FREE_BYTES, _MAX_WORDS_PER_FOUND * 4 * size * len(rows)):
            raise FormatError(
                stream.name,
                f"has {len(rows)} of {n_words} words, and {size} numbers for each: too few words "
                f"for {n_bytes} bytes of vectors",
            )
    vectors = np.zeros((len(vocabulary), size), dtype=np.float32)
    if rows:
        vectors[found] = np.stack(rows)[row_of[found]]
    return WordVectors(vectors, found)


def _numbered_lines(stream: InputStream) -> Iterator[tuple[int, bytes]]:
    number = 0
    for run in stream.lines():
        for text in run.split(b"\n"):
            number += 1
            line = text.removesuffix(b"\r").rstrip(b" ")
            if line:
                yield number, line
        # split() leaves an empty piece after the last line feed.
        number -= run.endswith(b"\n")


def _first_line(
    name: str, lines: Iterator[tuple[int, bytes]]
) -> tuple[int, list[tuple[int, bytes]]]:
    """Return the number of dimensions and the first line with a vector."""
    first = list(islice(lines, 1))
    if not first:
        raise FormatError(name, "the file is empty")
    number, text = first[0]
    parts = text.split(b" ")
    header = len(parts) == 2 and all(part.isdigit() for part in parts)
    first = list(islice(lines, 1)) if header else first
    # The declared size is compared with a line before memory is allocated for it.
    size = (int(parts[1]) if len(parts[1]) <= 9 else 2**31) if header else len(parts) - 1
    if size < 1:
        raise FormatError(name, "expected a word and the numbers of its vector", number)
    if not first:
        raise FormatError(name, "a header, but no vector", number)
    n_parts = len(first[0][1].split(b" "))
    if n_parts < size + 1:
        message = f"expected a word and {size} numbers, got {n_parts} parts"
        raise FormatError(name, message, first[0][0])
    return size, first


def _values(name: str, parts: list[bytes], number: int) -> Floats:
    try:
        values = _native.parse_values(b" ".join(parts))
    except _native.ParseError as error:
        raise FormatError(name, error.args[1], number) from None
    if len(values) != len(parts):
        message = f"expected {len(parts)} numbers, got {len(values)}"
        raise FormatError(name, message, number)
    return values
