"""Texts as words and counts; see ``cpp/core/text_counts.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from defrag import _core
from defrag._core import TextFeatures
from defrag._native.arrays import csr_from_parts

if TYPE_CHECKING:
    from defrag.typing import Csr, Ids, Offsets, Progress

__all__ = ["TextFeatures", "TokenizedTexts", "count_features", "tokenize"]


class TokenizedTexts(NamedTuple):
    """The distinct words of some texts, sorted by their UTF-8, and each text as their numbers.

    Parameters
    ----------
    words : list of str
        The words.
    indptr : ndarray of int64, shape (n_texts + 1,)
        Where the words of each text begin in ``tokens``.
    tokens : ndarray of int32
        Numbers of words.
    """

    words: list[str]
    indptr: Offsets
    tokens: Ids


def tokenize(
    texts: list[str], *, n_threads: int, progress: Progress | None = None
) -> TokenizedTexts:
    """Split texts into words."""
    return TokenizedTexts(*_core.tokenize(texts, n_threads=n_threads, progress=progress))


def count_features(
    features: TextFeatures, texts: list[str], n_features: int, n_threads: int
) -> Csr:
    """Count the features of texts."""
    return csr_from_parts(features.count(texts, n_threads=n_threads), (len(texts), n_features))
