"""The floors that the library promises against its peers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from peer_runs import Result

    Rows = dict[str, Result]

_PRECISIONS = ("P@1", "P@3", "P@5")


@dataclass(frozen=True)
class Floor:
    """A promise about one data set: what it says, what it needs, and how it is measured.

    ``measure`` gives whether the floor holds and what was found.
    """

    says: str
    needs: tuple[str, ...]
    measure: Callable[[Rows], tuple[bool, str]]


def differences(ours: Result, theirs: Result, names: Iterable[str]) -> tuple[bool, str]:
    """Return whether ours is nowhere below theirs, and by how much it differs."""
    gaps = [ours.metrics[name] - theirs.metrics[name] for name in names]
    return all(gap >= 0 for gap in gaps), "/".join(f"{gap:+.2f}" for gap in gaps)


def training(
    ours: str, theirs: str, times: float, names: Iterable[str]
) -> Callable[[Rows], tuple[bool, str]]:
    """Measure how much faster a method trains, at precisions that are no lower."""

    def measure(rows: Rows) -> tuple[bool, str]:
        ratio = rows[theirs].train_cpu / rows[ours].train_cpu
        fine, gaps = differences(rows[ours], rows[theirs], names)
        return ratio >= times and fine, f"{ratio:.1f}x {gaps}"

    return measure


def batch(ours: str, times: float) -> Callable[[Rows], tuple[bool, str]]:
    """Measure how much faster a method predicts than PECOS."""

    def measure(rows: Rows) -> tuple[bool, str]:
        ratio = rows["PECOS"].predict_ms / rows[ours].predict_ms
        return ratio >= times, f"{ratio:.1f}x"

    return measure


def single_row(rows: Rows) -> tuple[bool, str]:
    """Measure one row through the Python call."""
    found = rows["LabelTree 1"].single_row_ms
    return found <= 0.1, f"{found:.3f} ms"


def size(rows: Rows) -> tuple[bool, str]:
    """Compare the smallest model of ours that is as precise as PECOS with its file."""
    theirs = rows["PECOS"]
    sizes = [
        (result.model_bytes, name)
        for name, result in rows.items()
        if name.startswith("LabelTree") and differences(result, theirs, _PRECISIONS)[0]
    ]
    if not sizes:
        return False, "no LabelTree as precise as PECOS was measured"
    least, name = min(sizes)
    return least <= theirs.model_bytes, f"{least / theirs.model_bytes:.2f} of its size ({name})"


def floors(trees: str, three: str) -> list[Floor]:
    """List the floors; ``trees`` and ``three`` say which LabelTree stands for b and for c."""
    return [
        Floor("(a) LabelTree 1 trains >= 8x as fast as PECOS, P@1 no lower",
              ("LabelTree 1", "PECOS"), training("LabelTree 1", "PECOS", 8, ("P@1",))),
        Floor(f"(b) {trees} >= 4x as fast as PECOS, P@1/3/5 no lower",
              (trees, "PECOS"), training(trees, "PECOS", 4, _PRECISIONS)),
        Floor(f"(c) {three} >= 12x as fast as omikuji, P@1/3/5 no lower",
              (three, "omikuji 3"), training(three, "omikuji 3", 12, _PRECISIONS)),
        Floor("(d) Parabel 3 >= 4x as fast as omikuji",
              ("Parabel 3", "omikuji 3"), training("Parabel 3", "omikuji 3", 4, ())),
        Floor("(e) LabelTree 1 predicts a batch >= 7x as fast as PECOS",
              ("LabelTree 1", "PECOS"), batch("LabelTree 1", 7)),
        Floor("(f) LabelTree 1, one row through Python <= 0.1 ms", ("LabelTree 1",), single_row),
        Floor(f"(g) {three} predicts a batch no slower than PECOS", (three, "PECOS"),
              batch(three, 1)),
        Floor("(h) model of the same P@1/3/5 no larger than PECOS's", ("LabelTree 1", "PECOS"),
              size),
    ]  # fmt: skip


def fastest(results: dict[str, Rows], candidates: Iterable[str], peer: str) -> str:
    """Return the fastest candidate that is nowhere below the peer, else the most accurate."""
    names = [n for n in candidates if all(n in rows for rows in results.values())]
    if not names or not all(peer in rows for rows in results.values()):
        return next(iter(candidates))

    def key(name: str) -> tuple[bool, float]:
        pairs = [(rows[name], rows[peer]) for rows in results.values()]
        below = not all(differences(ours, theirs, _PRECISIONS)[0] for ours, theirs in pairs)
        total = sum(ours.train_cpu for ours, _ in pairs)
        return below, -total if below else total

    return min(names, key=key)


def print_floors(results: dict[str, Rows]) -> None:
    """Print each floor with what was measured on each data set."""
    three = ("LabelTree 3 fast", "LabelTree 3")
    chosen = floors(
        fastest(results, ("LabelTree 1", *three), "PECOS"), fastest(results, three, "omikuji 3")
    )
    print(f"\n{'floor':<64} {'data':<10} {'':<6} measured")
    for floor in chosen:
        for data, rows in results.items():
            if not all(name in rows for name in floor.needs):
                print(f"{floor.says:<64} {data:<10} {'-':<6} not run")
                continue
            holds, found = floor.measure(rows)
            print(f"{floor.says:<64} {data:<10} {'pass' if holds else 'MISS':<6} {found}")
