"""Texts as words and rows; see ``cpp/core/text_corpus.hpp`` and its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from defrag import _core
from defrag._core import StringList, TextCorpus, TextFeatures

if TYPE_CHECKING:
    from defrag.typing import Floats, Ids, Offsets

__all__ = [
    "Occurrences",
    "PlacedWords",
    "Terms",
    "TextCorpus",
    "TextFeatures",
    "choose_terms",
    "find_features",
    "split_words",
    "text_features",
]


class Terms(NamedTuple):
    """The terms that are features: words, or character n-grams, and pairs of words.

    Parameters
    ----------
    words : list of str, or StringList
        The words of features and of pairs, sorted by their UTF-8. A StringList is what the kernels
        have; its strings become Python's when they are iterated over.
    word_feature : ndarray of int32
        The feature of each word; -1 for one that is only part of a pair.
    pairs : ndarray of int32, shape (2 * n_pairs,)
        The words of each pair.
    idf : ndarray of float32, shape (n_features,)
        The inverse document frequency of each feature.
    """

    words: list[str] | StringList
    word_feature: Ids
    pairs: Ids
    idf: Floats


class PlacedWords(NamedTuple):
    """The words of a text, and the characters where they begin and end."""

    words: list[str]
    begins: Offsets
    ends: Offsets


class Occurrences(NamedTuple):
    """Features in a sequence of words.

    Parameters
    ----------
    features : ndarray of int32
        The features.
    first, last : ndarray of int64
        The words that they begin and end in.
    begins, ends : ndarray of int64
        Characters from the beginning of those words; an end may be beyond its word.
    """

    features: Ids
    first: Offsets
    last: Offsets
    begins: Offsets
    ends: Offsets


def choose_terms(
    corpus: TextCorpus,
    *,
    pairs: bool,
    characters: tuple[int, int],
    min_df: int,
    max_features: int | None,
    n_threads: int,
) -> Terms:
    """Choose the features of a corpus, whose rare words are dropped.

    Parameters
    ----------
    corpus : TextCorpus
        The training texts.
    pairs : bool
        Whether pairs of neighbouring words are terms.
    characters : tuple of two ints
        Lengths of character n-grams; (0, 0) for words.
    min_df : int
        The least number of texts of a term.
    max_features : int or None
        The most terms.
    n_threads : int
        Number of threads.
    """
    least, most = characters
    return Terms(
        *corpus.choose_terms(
            pairs=pairs,
            least=least,
            most=most,
            min_df=min_df,
            max_features=max_features,
            n_threads=n_threads,
        )
    )


def text_features(terms: Terms, characters: tuple[int, int]) -> TextFeatures:
    """Return the tables that the kernels look terms up in."""
    least, most = characters
    words = StringList(terms.words) if isinstance(terms.words, list) else terms.words
    return TextFeatures(words, *terms[1:], least=least, most=most)


def split_words(text: str) -> PlacedWords:
    """Return the words of a text in Unicode's normal form C."""
    return PlacedWords(*_core.split_words(text))


def find_features(features: TextFeatures, words: list[str]) -> Occurrences:
    """Return all features in a sequence of words."""
    return Occurrences(*features.find(words))
