"""Prediction of the labels of texts, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag._progress import progress_pulse
from defrag.cli._rankings import name_lines
from defrag.io.predictions import json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.io.corpora import Corpus
    from defrag.text import TextClassifier

__all__ = ["TextRanking", "text_blocks"]

_TEXTS_AT_A_TIME = 10_000
_CHARACTERS_AT_A_TIME = 1 << 23


class TextRanking:
    """The best labels of the texts of a corpus, as lines.

    Parameters
    ----------
    classifier : TextClassifier
        The model.
    corpus : Corpus
        The texts.
    k : int
        Number of labels per text.
    as_json : bool
        Whether lines are JSON objects instead of names and scores.

    Attributes
    ----------
    n_texts, n_unknown : int
        The number of texts, and of those without a known word, which get no labels.
    """

    def __init__(
        self, classifier: TextClassifier, corpus: Corpus, k: int, *, as_json: bool
    ) -> None:
        self.classifier, self.corpus, self.k = classifier, corpus, k
        self.lines = json_lines if as_json else name_lines
        self.n_texts = self.n_unknown = 0

    def __iter__(self) -> Iterator[Iterator[str]]:
        """Yield the lines of each block."""
        with progress_pulse("predicting"):
            for texts in text_blocks(self.corpus):
                names, scores = self.classifier.predict_topk(texts, k=self.k)
                rows = [[name for name in row if name] for row in names.tolist()]
                self.n_texts += len(texts)
                self.n_unknown += sum(not row for row in rows)
                yield self.lines(rows, scores)


def text_blocks(corpus: Corpus) -> Iterator[list[str]]:
    """Yield the texts of a corpus, some thousands at a time."""
    texts: list[str] = []
    n_characters = 0
    for document in corpus.documents:
        texts.append(document.text)
        n_characters += len(document.text)
        if len(texts) == _TEXTS_AT_A_TIME or n_characters >= _CHARACTERS_AT_A_TIME:
            yield texts
            texts, n_characters = [], 0
    if texts:
        yield texts
