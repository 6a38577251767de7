"""Pictures of the README and the manual, from committed records."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from defrag.experiments.peers import PEERS
from defrag.experiments.store import read_records
from defrag.experiments.studies import STUDIES
from defrag.report.columns import COLUMNS
from defrag.report.plots import Series, lines
from defrag.report.results import RECORDS, findings_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["PICTURES", "Picture", "points_of", "series_of_picture"]

_DATA = "eurlex-4k"
_OURS = ["LabelTree, 1 tree", "LabelTree, 3 trees", "LabelTree, 3 trees, Focus", "Parabel"]
_REDUCED = ["LabelTree", "Parabel, 1 tree", "DiSMEC"]
# Three classifiers with nine variants each leave no room for longer names.
_SHORT = {
    "Focus": "F",
    "Focus, budget 4": "F4",
    "Hybrid": "H",
    "DEFRAG-X": "X",
    "DEFRAG-XY": "XY",
    "random groups": "R",
    "top features": "T",
}


@dataclass(frozen=True)
class Picture:
    """P@1 against a cost on EURLex-4K.

    Attributes
    ----------
    study : str
        The study that has the records.
    column : str
        The cost.
    series : dict of str to list of str
        Methods of the study by series.
    """

    study: str
    column: str
    series: dict[str, list[str]]

    def points(self, folder: Path) -> list[Series]:
        """Return the points of the recorded methods.

        Parameters
        ----------
        folder : path
            The folder of results, with the records.
        """
        records = read_records(folder / RECORDS / f"{self.study}.jsonl")
        findings = findings_of(STUDIES[self.study], records)
        known = {one.method: one.statistics for one in findings.results if one.data == _DATA}
        scale = COLUMNS[self.column].scale
        series = []
        for name, methods in self.series.items():
            found = [(method, known[method]) for method in methods if known.get(method)]
            notes = [method.removeprefix(f"{name}, ") for method, _ in found]
            series.append(
                Series(
                    name,
                    [scale * numbers[self.column].mean for _, numbers in found],
                    [numbers["P@1"].mean for _, numbers in found],
                    [
                        "all" if note == name and len(found) > 1 else _SHORT.get(note, note)
                        for note in notes
                    ],
                )
            )
        return series

    def draw(self, folder: Path) -> str:
        """Return an SVG that lists its numbers in ``<desc>``."""
        series = self.points(folder)
        title = COLUMNS[self.column].title
        axes = (f"{title} (CPU, one thread)" if self.column == "train_cpu" else title, "P@1")
        plot = lines(f"P@1 against {title}", "", series, axes, log_x=True, joined=False)
        numbers = json.dumps(points_of(series))
        # The colours of the light theme on white, independent of the page that shows the picture.
        colours = re.search(r":root {.*?}", _css(), re.DOTALL)
        if colours is None:  # pragma: no cover - the page has colours
            raise ValueError("page.css: has no :root")
        head, _, rest = plot.svg.partition(">")
        head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="640" ', 1)
        style = f"<style>{colours.group()} svg {{ color: #1b1f24; background: #ffffff; }}</style>"
        return f"{head}><desc>{numbers}</desc>{style}{rest}\n"


def _reductions() -> dict[str, list[str]]:
    names = [line.name for line in STUDIES["reductions"].lines]
    return {one: [name for name in names if name == one or name.startswith(f"{one}, ")]
            for one in _REDUCED}  # fmt: skip


PICTURES = {
    "peers": Picture(
        "peers", "train_cpu", {"defrag": _OURS, "other programs": list(PEERS.values())}
    ),
    **{
        f"reductions_{word}": Picture("reductions", column, _reductions())
        for word, column in (
            ("training", "train_cpu"),
            ("prediction", "predict_ms"),
            ("size", "model_bytes"),
        )
    },
}
"""The pictures of the README and the manual by file name, without its suffix."""


def points_of(series: Sequence[Series]) -> dict[str, list[float]]:
    """Return the coordinates of every point by the names of its series and itself."""
    return {f"{one.name}: {name}": [x, y] for one in series
            for name, x, y in zip(one.notes, one.x, one.y, strict=True)}  # fmt: skip


def series_of_picture(svg: str) -> dict[str, list[float]]:
    """Return the numbers in the ``<desc>`` of a picture."""
    found = re.search(r"<desc>(.*?)</desc>", svg, re.DOTALL)
    if found is None:
        raise ValueError("the picture has no <desc>")
    numbers: dict[str, list[float]] = json.loads(found[1])
    return numbers


def _css() -> str:
    return files("defrag.report").joinpath("page.css").read_text(encoding="utf-8")
