"""Words and features of texts, and the parser and the writer of text formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy import sparse

from defrag import _core
from defrag._core import StringList, TextCorpus, TextFeatures
from defrag._native.rows import named
from defrag.typing import Csr, Floats, Ids, Offsets

# --- Words and features of texts; see ``cpp/core/text/corpus.hpp`` and related headers.


class Terms(NamedTuple):
    """The terms that are features: words or character n-grams, and pairs of words.

    - ``words``: the words of features and of pairs, sorted by their UTF-8 bytes: a list, Names, or
      a StringList, the representation of the kernels; iterating over it creates Python strings.
    - ``word_feature``: the feature of each word; -1 for words that occur only in pairs.
    - ``pairs``, shape (2 * n_pairs,): the two words of each pair.
    - ``idf``, shape (n_features,): the inverse document frequency of each feature.
    """

    words: Any
    word_feature: Ids
    pairs: Ids
    idf: Floats


class PlacedWords(NamedTuple):
    """The words of a text, and the character positions where they begin and end."""

    words: list[str]
    begins: Offsets
    ends: Offsets


class Occurrences(NamedTuple):
    """Occurrences of features in a sequence of words.

    - ``first``, ``last``: positions of the words in which they begin and end.
    - ``begins``, ``ends``: character offsets from the beginnings of these words; an end may be
      beyond its word.
    """

    features: Ids
    first: Offsets
    last: Offsets
    begins: Offsets
    ends: Offsets


choose_terms = named(TextCorpus.choose_terms, Terms)
"""Return the terms of a corpus that become features.

``pairs`` of adjacent words are terms, or character n-grams of ``least`` to ``most`` characters,
or words if both are 0; of those in at least ``min_df`` texts, at most ``max_features``.
"""


def text_features(terms: Terms, characters: tuple[int, int]) -> TextFeatures:
    """Return the lookup tables of terms for the kernels."""
    least, most = characters
    words = terms.words
    if not isinstance(words, StringList):
        of_bytes = None if isinstance(words, list) else (words.data, words.offsets)
        words = StringList(list(words)) if of_bytes is None else StringList(*of_bytes)
    return TextFeatures(words, *terms[1:], least=least, most=most)


split_words = named(_core.split_words, PlacedWords)
"""Return the words of a text that is in Unicode normalisation form C."""

find_features = named(TextFeatures.find, Occurrences)
"""Return all features in a sequence of words."""


# --- Parser of text formats; see ``cpp/core/formats/xmc_parser.hpp``.


@dataclass(frozen=True)
class ParsedText:
    """Features or scores, and labels; a matrix that the layout does not have has no rows."""

    pairs: Csr
    labels: Csr
    declared_rows: int | None
    repeated_features: _core.Tally
    repeated_labels: _core.Tally
    non_finite: _core.Tally
    skipped_lines: _core.Tally


class TextParser:
    """Incremental parser of text, which is passed as chunks of whole lines."""

    def __init__(self, layout: str, **options: Any) -> None:
        self._parser = _core.TextParser(_core.TextLayout[layout], **options)

    def feed(self, text: bytes) -> None:
        """Parse the next lines; only the last line of the text may lack a line feed."""
        self._parser.feed(text if text.endswith(b"\n") else text + b"\n")

    def take_rows(self) -> ParsedText:
        """Return the rows parsed since the last call, with the tallies of all rows so far.

        ``declared_rows`` is None until the header has been parsed.
        """
        return ParsedText(*self._parser.take_rows())

    def finish(self) -> ParsedText:
        """Return the remaining rows, after the last line."""
        return ParsedText(*self._parser.finish())


def format_rows(
    X: Csr,
    Y: Csr | None = None,
    *,
    layout: str,
    first_feature: int = 0,
    first_label: int = 0,
    block_entries: int = 1 << 19,
) -> Iterator[bytes]:
    """Yield rows as text, a few megabytes at a time."""
    Y = sparse.csr_array((X.shape[0], 0), dtype=X.dtype) if Y is None else Y
    n_rows = (X if layout != "labels" else Y).shape[0]
    n_entries = X.nnz + Y.nnz
    step = max(1, min(block_entries, n_rows * block_entries // max(1, n_entries)))
    for begin in range(0, n_rows, step):
        yield _core.format_rows(
            X,
            Y,
            layout=_core.TextLayout[layout],
            first_feature=first_feature,
            first_label=first_label,
            begin=begin,
            end=min(n_rows, begin + step),
        )
