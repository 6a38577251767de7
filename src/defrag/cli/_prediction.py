"""Predictions of ``defrag predict``: blocks of points or texts, and the lines written for them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._progress import progress_bar, progress_pulse
from defrag.classifiers._label_names import label_names
from defrag.cli._console import escaped
from defrag.exceptions import DataWarning
from defrag.io.formats import cut_rows
from defrag.io.parquet import table_bytes
from defrag.io.predictions import format_ranking, json_lines, short_floats
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from defrag.classifiers._base import Classifier
    from defrag.io.corpora import Corpus
    from defrag.io.formats import RowBlocks
    from defrag.typing import Csr, Floats, Ids

__all__ = [
    "LineFormat",
    "PointBlocks",
    "PointRanking",
    "TextRanking",
    "name_lines",
    "named",
    "text_blocks",
]

_TEXTS_PER_BLOCK = 10_000
_CHARACTERS_PER_BLOCK = 1 << 23


class PointBlocks:
    """Blocks of points that are in memory, with the interface of ``RowBlocks``."""

    def __init__(self, name: str, X: Csr) -> None:
        self.name = name
        self.n_rows, self.n_features = X.shape
        self._blocks = cut_rows(X)

    def __iter__(self) -> Iterator[Csr]:
        """Iterate over the blocks."""
        return self._blocks


class PointRanking:
    """The best labels of blocks of points.

    Parameters
    ----------
    classifier : Classifier
        The model.
    points : RowBlocks or PointBlocks
        The points.
    k : int
        Number of labels per point.
    empty : str
        Labels of points without features: ``bias`` or ``nothing``.

    Attributes
    ----------
    n_empty : int
        Number of points without features in the blocks predicted so far.
    """

    def __init__(
        self, classifier: Classifier, points: RowBlocks | PointBlocks, k: int, empty: str
    ) -> None:
        self.classifier, self.points, self.k, self.empty = classifier, points, k, empty
        self.n_empty = 0

    def __iter__(self) -> Iterator[tuple[Ids, Floats]]:
        """Yield the label ids and scores of each block."""
        declared, done = self.points.n_rows, 0
        with progress_bar("predicting") as progress:
            for block in self.points:
                self.n_empty += int(np.count_nonzero(np.diff(block.indptr) == 0))
                with warnings.catch_warnings():
                    # The caller reports empty points once, for all blocks.
                    warnings.simplefilter("ignore", DataWarning)
                    ranked = self.classifier.predict_topk(block, k=self.k, empty=self.empty)
                yield ranked
                done += block.shape[0]
                if progress is not None:
                    progress(min(1.0, done / max(1, declared)))


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
        Number of texts predicted so far, and of those without a known word, which get no labels.
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
                rows = _without_padding(names)
                self.n_texts += len(texts)
                self.n_unknown += sum(not row for row in rows)
                yield self.lines(rows, scores)


@dataclass(frozen=True)
class LineFormat:
    """Prediction of a block of points on a worker, as lines or as a table.

    Attributes
    ----------
    k : int
        Number of labels per point.
    empty : str
        Labels of points without features: ``bias`` or ``nothing``.
    names : bool
        Whether label names are written instead of ids.
    as_json : bool
        Whether lines are JSON objects.
    parquet : bool
        Whether a table is written instead of lines.
    """

    k: int
    empty: str
    names: bool
    as_json: bool
    parquet: bool = False

    def __call__(self, model: Any, block: Any, first: int) -> Iterator[bytes]:
        """Yield the lines or the table of a block; ``first`` is the number of its first point."""
        if self.parquet:
            texts = isinstance(model, TextClassifier)
            options: Any = {} if texts else {"empty": self.empty, "names": self.names}
            labels, scores = model.predict_topk(block, k=self.k, **options)
            yield table_bytes(labels, scores, first)
            return
        write = json_lines if self.as_json else name_lines
        if isinstance(model, TextClassifier):
            found, scores = model.predict_topk(block, k=self.k)
            rows = _without_padding(found)
        else:
            labels, scores = model.predict_topk(block, k=self.k, empty=self.empty)
            if not (self.names or self.as_json):
                yield from format_ranking(labels, scores, model.n_labels_)
                return
            rows = named(labels, label_names(model) if self.names else None)
        for line in write(rows, scores):
            yield f"{line}\n".encode("utf-8", "surrogateescape")


def text_blocks(corpus: Corpus) -> Iterator[list[str]]:
    """Yield the texts of a corpus in blocks of bounded size."""
    texts: list[str] = []
    n_characters = 0
    for document in corpus.documents:
        texts.append(document.text)
        n_characters += len(document.text)
        if len(texts) == _TEXTS_PER_BLOCK or n_characters >= _CHARACTERS_PER_BLOCK:
            yield texts
            texts, n_characters = [], 0
    if texts:
        yield texts


def named(labels: Ids, names: Sequence[str] | None) -> list[list[Any]]:
    """Return the names of labels that are padded with -1, or their ids if ``names`` is None."""
    found = [[int(label) for label in row if label >= 0] for row in labels]
    return found if names is None else [[names[label] for label in row] for row in found]


def name_lines(rows: list[list[str]], scores: Floats) -> Iterator[str]:
    """Yield one line per point: pairs ``name:score``, separated by tabs."""
    for names, values in zip(rows, short_floats(scores), strict=True):
        pairs = zip(names, values[: len(names)], strict=True)
        yield "\t".join(f"{escaped(name)}:{value:.9g}" for name, value in pairs)


def _without_padding(names: Any) -> list[list[str]]:
    return [[name for name in row if name] for row in names.tolist()]
