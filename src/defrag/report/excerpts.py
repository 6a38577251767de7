"""Tables of committed records in Markdown files, between two comments.

    <!-- records STUDY | DATA | COLUMNS | METHOD | METHOD ... -->
    <!-- end of records -->

``COLUMNS`` are keys of ``COLUMNS`` separated by commas, or one of the words ``erasure`` and
``rare`` for the tables by missing features and by frequency, or ``headline`` for a sentence.
Without methods, all methods are shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from defrag.experiments.store import read_records
from defrag.experiments.studies import STUDIES
from defrag.report.results import RECORDS, findings_of
from defrag.report.study import by_frequency, by_share
from defrag.report.table import Table, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from defrag.experiments.summary import Result
    from defrag.report.columns import Column
    from defrag.report.table import Row

__all__ = ["filled", "headline"]

# P@1 of one tree varies by about 0.2 with the seed.
_SAME = 0.5
_BLOCK = re.compile(
    r"(?P<begin><!-- records (?P<what>[^>]*?) -->\n)(?P<old>.*?)(?P<end><!-- end of records -->)",
    re.DOTALL,
)
_SPECIAL: dict[str, Callable[[Sequence[Result]], tuple[str, list[Column], list[Row]]]] = {
    "erasure": by_share,
    "rare": by_frequency,
}


def filled(text: str, folder: Path) -> str:
    """Return a Markdown text with every table between comments regenerated.

    Parameters
    ----------
    text : str
        The text.
    folder : path
        The folder of results, with the records.

    Raises
    ------
    ValueError
        If a comment names a study, a data set, a column or a method that has no record.
    """
    return _BLOCK.sub(
        lambda found: f"{found['begin']}\n{_content(found['what'], folder)}\n{found['end']}", text
    )


def headline(results: Sequence[Result], ours: str, theirs: str) -> str:
    """Return the precision and the training times of two methods as a sentence."""
    mine, other = (
        next(one.statistics for one in results if one.method == name) for name in (ours, theirs)
    )
    ratio = other["train_cpu"].mean / mine["train_cpu"].mean
    gap = mine["P@1"].mean - other["P@1"].mean
    relation = "The same P@1 as" if abs(gap) < _SAME else "A higher P@1 than"
    if gap <= -_SAME:
        relation = "A lower P@1 than"
    return (
        f"**{relation} {theirs} in 1/{ratio:.0f} of its training time**: "
        f"{mine['P@1'].mean:.1f} after {mine['train_cpu'].mean:.1f} s, {theirs} "
        f"{other['P@1'].mean:.1f} after {other['train_cpu'].mean:.1f} s\n"
        f"({results[0].data}, {ours}, CPU seconds of one thread, both in one run of "
        "`defrag reproduce peers`).\n"
    )


def _content(what: str, folder: Path) -> str:
    study_name, data, columns, *methods = (part.strip() for part in what.split(" | "))
    path = folder / RECORDS / f"{study_name}.jsonl"
    if study_name not in STUDIES or not path.exists():
        raise ValueError(f"records {what}: there are no records of {study_name!r}")
    results = [
        one
        for one in findings_of(STUDIES[study_name], read_records(path)).results
        if one.data == data
    ]
    known = {one.method: one for one in results}
    for method in methods:
        if method not in known:
            raise ValueError(f"records {what}: no record of {method!r} on {data!r}")
    chosen = [known[method] for method in methods] or results
    if not chosen:
        raise ValueError(f"records {what}: no record on {data!r}")
    if columns == "headline":
        return headline(chosen, *methods)
    if columns in _SPECIAL:
        _, heads, rows = _SPECIAL[columns](chosen)
        return Table(data, heads, rows).to_markdown()
    return table_of(data, chosen, columns.split(",")).to_markdown()
