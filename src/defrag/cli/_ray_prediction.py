"""``predict --ray``: blocks of a data file, predicted on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from defrag.classifiers._label_names import label_names
from defrag.cli._rankings import name_lines, named
from defrag.io.parquet import table_bytes
from defrag.io.predictions import format_ranking, json_lines
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BlockLines"]


@dataclass(frozen=True)
class BlockLines:
    """The lines or the table that ``predict`` writes for a block of points.

    Attributes
    ----------
    k : int
        Number of labels per point.
    empty : str
        What points without features get.
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
        """Yield the lines or the table of a block, whose first point has this number."""
        if self.parquet:
            texts = isinstance(model, TextClassifier)
            options: Any = {} if texts else {"empty": self.empty, "names": self.names}
            labels, scores = model.predict_topk(block, k=self.k, **options)
            yield table_bytes(labels, scores, first)
            return
        write = json_lines if self.as_json else name_lines
        if isinstance(model, TextClassifier):
            found, scores = model.predict_topk(block, k=self.k)
            rows = [[name for name in row if name] for row in found.tolist()]
        else:
            labels, scores = model.predict_topk(block, k=self.k, empty=self.empty)
            if not (self.names or self.as_json):
                yield from format_ranking(labels, scores, model.n_labels_)
                return
            rows = named(labels, label_names(model) if self.names else None)
        for line in write(rows, scores):
            yield f"{line}\n".encode("utf-8", "surrogateescape")
