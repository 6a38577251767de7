"""Positions of features in a text."""

from __future__ import annotations

import unicodedata
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Ids, Offsets

__all__ = ["TextSpans", "normalise_with_places", "to_original"]

# Conjoining Hangul letters: the only characters besides marks that compose with the previous
# character.
_JAMO = ((0x1100, 0x1200), (0xA960, 0xA980), (0xD7B0, 0xD800))


class TextSpans(NamedTuple):
    """Features of a text, and the characters that each of their occurrences covers.

    Parameters
    ----------
    features : ndarray of int32, shape (n_occurrences,)
        The features, in the order of the text.
    begins, ends : ndarray of int64, shape (n_occurrences,)
        ``text[begin:end]`` is the word, the pair of words and what stands between them, or the
        part of a word that an n-gram covers.
    """

    features: Ids
    begins: Offsets
    ends: Offsets


def normalise_with_places(text: str) -> tuple[str, NDArray[np.int64] | None]:
    """Return a text in normal form C and the original position of each of its characters.

    Returns
    -------
    normal : str
        The text in normal form C.
    places : ndarray of int64, shape (len(normal) + 1,), or None
        The place in ``text`` of each character of ``normal``, and the length of ``text``. None
        if the text is in normal form.
    """
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, None
    begins = [place for place, character in enumerate(text) if _begins_cluster(character)]
    if not begins or begins[0] > 0:
        begins.insert(0, 0)
    ends = [*begins[1:], len(text)]
    clusters = [
        unicodedata.normalize("NFC", text[begin:end])
        for begin, end in zip(begins, ends, strict=True)
    ]
    places = np.full(sum(map(len, clusters)) + 1, -1, dtype=np.int64)
    starts = [0, *accumulate(map(len, clusters))]
    for cluster, start, begin in zip(clusters, starts, begins, strict=False):
        # What is left of a cluster that is not composed into one character begins with it.
        places[start : start + len(cluster)] = begin
    places[-1] = len(text)
    return "".join(clusters), places


def to_original(
    places: NDArray[np.int64], begins: Offsets, ends: Offsets
) -> tuple[Offsets, Offsets]:
    """Convert positions in a normalised text to positions in the original text.

    Parameters
    ----------
    places : ndarray of int64
        Of :func:`normalise_with_places`.
    begins, ends : ndarray of int64
        Spans of the normalised text, none of them empty.
    """
    # A span ends where the cluster of its last character does.
    after = np.searchsorted(places, places[ends - 1], side="right")
    return places[begins], places[np.minimum(after, len(places) - 1)]


def _begins_cluster(character: str) -> bool:
    if unicodedata.category(character)[0] == "M":
        return False
    return not any(low <= ord(character) < high for low, high in _JAMO)
