"""Slow twin of the word rule, from Python's own tables."""

from __future__ import annotations

import unicodedata

SPACELESS = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC ITERATION MARK",
    "HIRAGANA",
    "KATAKANA",
    "THAI CHARACTER",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)


def kind_of(character):
    """Return "word", "spaceless" or None."""
    category = unicodedata.category(character)
    if category[0] in "LM" and unicodedata.name(character, "").startswith(SPACELESS):
        return "spaceless"
    word = category[0] in "LM" or category in {"Nd", "Pc"} or character in "\u200c\u200d"
    return "word" if word else None


def split_words(text):
    """Return the words of a text."""
    runs = []
    for character in text:
        kind = kind_of(character)
        if not runs or runs[-1][0] != kind:
            runs.append((kind, []))
        runs[-1][1].append(character.lower()[0])
    words = []
    for kind, characters in runs:
        run = "".join(characters)
        if kind == "word" and len(run) >= 2:
            words.append(run)
        elif kind == "spaceless":
            words += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return words
