"""Stems of words, by PyStemmer."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

__all__ = ["StemmerName", "load_stemmer", "stem_words"]


class StemmerName:
    """The rule of ``stemmer``: None, or the name of an algorithm of PyStemmer.

    Whether the algorithm exists is checked when words are stemmed, so that a model can be
    inspected without PyStemmer.
    """

    def describe(self) -> str:
        """Return the rule in words."""
        return "the name of a stemmer, such as 'finnish', or None"

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        return value is None or (
            isinstance(value, str) and re.fullmatch("[a-z][a-z_]{0,30}", value) is not None
        )


def stem_words(stemmer: str, words: list[str]) -> list[str]:
    """Return the stem of each word.

    Raises
    ------
    ImportError
        If PyStemmer is not installed.
    ValueError
        If it has no such stemmer.
    """
    # A word that is only a suffix has an empty stem; the word itself is kept.
    stems: list[str] = load_stemmer(stemmer).stemWords(words)
    return [stem or word for stem, word in zip(stems, words, strict=True)]


@cache
def load_stemmer(name: str) -> Any:
    """Return a stemmer of PyStemmer."""
    try:
        import Stemmer  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            f"stemmer={name!r} needs PyStemmer: pip install 'defrag[stem]'"
        ) from error
    known = Stemmer.algorithms()
    if name not in known:
        raise ValueError(f"stemmer must be one of {', '.join(known)}, got {name!r}")
    # Each word is stemmed once per call, so PyStemmer's cache (size 0 here) would not help.
    return Stemmer.Stemmer(name, 0)
