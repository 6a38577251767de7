"""Pictures of the README and the manual, from committed records."""

from __future__ import annotations

import json
import re
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

__all__ = ["peers_picture", "peers_series", "points_of", "series_of_picture"]

_DATA = "eurlex-4k"
_OURS = ["LabelTree, 1 tree", "LabelTree, 3 trees", "LabelTree, 3 trees, Focus", "Parabel"]


def peers_series(folder: Path) -> list[Series]:
    """Return P@1 against training time: our methods, and other programs.

    Parameters
    ----------
    folder : path
        The folder of results, with the records.
    """
    findings = findings_of(STUDIES["peers"], read_records(folder / RECORDS / "peers.jsonl"))
    known = {one.method: one.statistics for one in findings.results if one.data == _DATA}
    series = []
    for name, methods in (("defrag", _OURS), ("other programs", list(PEERS.values()))):
        found = [(method, known[method]) for method in methods if known.get(method)]
        series.append(
            Series(
                name,
                [numbers["train_cpu"].mean for _, numbers in found],
                [numbers["P@1"].mean for _, numbers in found],
                [method for method, _ in found],
            )
        )
    return series


def peers_picture(folder: Path) -> str:
    """Return the picture of the README: an SVG that lists its numbers in ``<desc>``."""
    series = peers_series(folder)
    title = f"{COLUMNS['train_cpu'].title} (CPU, one thread)"
    plot = lines("P@1 against training time", "", series, (title, "P@1"), log_x=True, joined=False)
    numbers = json.dumps(points_of(series))
    # The colours of the light theme on white, independent of the page that shows the picture.
    colours = re.search(r":root {.*?}", _css(), re.DOTALL)
    if colours is None:  # pragma: no cover - the page has colours
        raise ValueError("page.css: has no :root")
    head, _, rest = plot.svg.partition(">")
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="640" ', 1)
    style = f"<style>{colours.group()} svg {{ color: #1b1f24; background: #ffffff; }}</style>"
    return f"{head}><desc>{numbers}</desc>{style}{rest}\n"


def points_of(series: Sequence[Series]) -> dict[str, list[float]]:
    """Return the coordinates of every point by its name."""
    return {name: [x, y] for one in series
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
