"""Check the floors beside PECOS and omikuji: how many times as fast, at no lower precision.

    python benchmarks/check_peers.py [RECORDS]

One focused tree against PECOS (XR-Linear) in training and batch prediction, three focused trees
against omikuji (Parabel) in training. RECORDS is a file of records of ``defrag reproduce peers``
(default: those of the manual); all of them must come from one state of the code on one machine.
Times are the least over seeds, precisions the means. Ends with code 1 if a floor is missed or a
record is absent.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from defrag.lab.records import read_records, summarise, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.lab.records import Record

RECORDS = Path(__file__).resolve().parent.parent / "docs" / "results" / "records" / "peers.jsonl"
P = ("P@1", "P@3", "P@5")


@dataclass(frozen=True)
class Floor:
    """How many times as fast as another program, at least; prediction where it is asked."""

    ours: str
    theirs: str
    training: float
    prediction: float | None = None


ONE, THREE = "LabelTree, 1 tree, Focus", "LabelTree, 3 trees, Focus"
FLOORS = {
    "eurlex-4k": [Floor(ONE, "PECOS", 15, 9), Floor(THREE, "omikuji", 15)],
    "debian": [Floor(ONE, "PECOS", 10, 8), Floor(THREE, "omikuji", 15)],
    "tibkat-core": [Floor(ONE, "PECOS", 15, 9), Floor(THREE, "omikuji", 15)],
}


def judged(floor: Floor, records: Sequence[Record]) -> list[tuple[str, bool]]:
    """Return sentences about a floor on one data set, and whether each of them is met."""
    runs = {
        name: [one for one in records if one["method"] == name and one["status"] == "done"]
        for name in (floor.ours, floor.theirs)
    }
    absent = [f"no record of {name}" for name, found in runs.items() if not found]
    if absent:
        return [(text, False) for text in absent]
    ours, theirs = (
        {key: min(values_of(one)[key] for one in found) for key in ("train_cpu", "predict_ms")}
        for found in runs.values()
    )
    floors = {"train_cpu": floor.training, "predict_ms": floor.prediction}
    met = []
    for key, least in floors.items():
        if least is not None:
            ratio = theirs[key] / ours[key]
            what = {"train_cpu": "training", "predict_ms": "prediction"}[key]
            met.append((f"{what} {ratio:.1f} times as fast (at least {least:g})", ratio >= least))
    mine, other = (summarise(found) for found in runs.values())
    changes = [mine[key].mean - other[key].mean for key in P]
    shown = "/".join(f"{change:+.2f}" for change in changes)
    met.append((f"P@1/3/5 {shown} (no lower)", all(change >= 0 for change in changes)))
    return met


def check(records: Sequence[Record]) -> bool:
    """Print every floor, and return whether all are met."""
    places = {(str(one.get("versions")), str(one.get("machine"))) for one in records
              if one["status"] == "done"}  # fmt: skip
    if len(places) > 1:
        print("the records come from more than one state of the code or machine: MISSED")
    all_met = len(places) == 1
    for data, floors in FLOORS.items():
        mine = [one for one in records if one["data"]["name"] == data]
        for floor in floors:
            for text, is_met in judged(floor, mine):
                verdict = "met" if is_met else "MISSED"
                print(f"{data}, {floor.ours} and {floor.theirs}: {text}: {verdict}")
                all_met &= is_met
    return all_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("records", type=Path, nargs="?", default=RECORDS)
    return 0 if check(read_records(parser.parse_args().records)) else 1


if __name__ == "__main__":
    sys.exit(main())
