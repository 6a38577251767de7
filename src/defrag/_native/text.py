"""Kernels that read and write text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag import _core
from defrag._native.arrays import csr_from_parts, csr_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.typing import Csr, Floats

__all__ = [
    "TEXT_LAYOUTS",
    "ParseError",
    "ParsedText",
    "Tally",
    "TextParser",
    "format_rows",
    "parse_values",
]

ParseError = _core.ParseError
"""What the parser raises: the number of the line and the message."""

TEXT_LAYOUTS = ("combined", "features", "labels", "svmlight", "scores")


@dataclass(frozen=True)
class Tally:
    """How often a reader met something, and the line where it did first."""

    count: int
    first_line: int


@dataclass(frozen=True)
class ParsedText:
    """All that a text held: features or scores, and labels; what it had not has no rows."""

    pairs: Csr
    labels: Csr
    declared_rows: int | None
    repeated_features: Tally
    repeated_labels: Tally
    non_finite: Tally
    skipped_lines: Tally


class TextParser:
    """Parse text that comes as runs of whole lines; see ``cpp/core/xmc_parser.hpp``."""

    def __init__(
        self,
        layout: str,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        first_feature: int = 0,
        first_label: int = 0,
        drop_non_finite: bool = False,
    ) -> None:
        self._parser = _core.TextParser(
            layout=TEXT_LAYOUTS.index(layout),
            n_features=-1 if n_features is None else n_features,
            n_labels=-1 if n_labels is None else n_labels,
            first_feature=first_feature,
            first_label=first_label,
            drop_non_finite=drop_non_finite,
        )

    def feed(self, text: bytes) -> None:
        """Parse the next lines; the last one may lack its line feed only at the end."""
        self._parser.feed(text if text.endswith(b"\n") else text + b"\n")

    def finish(self) -> ParsedText:
        """Give the result, once."""
        found: dict[str, Any] = self._parser.finish()
        indptr, indices, _ = found["labels"]
        ones = np.ones(len(indices), dtype=np.float32)
        return ParsedText(
            pairs=csr_from_parts(found["pairs"], (len(found["pairs"][0]) - 1, found["n_pairs"])),
            labels=csr_from_parts((indptr, indices, ones), (len(indptr) - 1, found["n_labels"])),
            declared_rows=found["declared_rows"] if found["declared_rows"] >= 0 else None,
            **{
                name: Tally(*found[name])
                for name in ("repeated_features", "repeated_labels", "non_finite", "skipped_lines")
            },
        )


def parse_values(text: bytes) -> Floats:
    """Parse numbers with blanks between them; see ``cpp/core/xmc_parser.hpp``."""
    return np.asarray(_core.parse_values(text), dtype=np.float32)


def format_rows(
    X: Csr,
    Y: Csr,
    *,
    layout: str,
    first_feature: int = 0,
    first_label: int = 0,
    block_entries: int = 1 << 19,
) -> Iterator[bytes]:
    """Write rows as text, some megabytes at a time; see ``cpp/core/xmc_writer.hpp``."""
    features, labels = csr_parts(X), csr_parts(Y)
    n_rows = (X if layout != "labels" else Y).shape[0]
    n_entries = X.nnz + Y.nnz
    step = max(1, min(block_entries, n_rows * block_entries // max(1, n_entries)))
    for begin in range(0, n_rows, step):
        yield _core.format_rows(
            features,
            labels,
            layout=TEXT_LAYOUTS.index(layout),
            first_feature=first_feature,
            first_label=first_label,
            begin=begin,
            end=min(n_rows, begin + step),
        )
