"""The map is true: what ARCHITECTURE.md names exists, and the contract has the same steps."""

from __future__ import annotations

import re
from pathlib import Path

import defrag

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCES = Path(defrag.__file__).parent


def test_the_rooms_are_on_the_map():
    picture = PAGE.split("```")[1]
    rooms = {path.stem for path in SOURCES.iterdir() if not path.name.startswith(("__", "_core"))}
    rooms -= {"py"}  # py.typed
    missing = {room for room in rooms if not re.search(rf"(?m)(^|[ |>]){room}\b", picture)}
    assert not missing


def test_the_picture_has_the_steps_of_the_contract():
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = contract.partition("layers = [")[2].partition("]")[0]
    steps = [
        {name.strip(' "()') for name in layer.split("|")} for layer in re.findall(r'"(.*)"', layers)
    ]
    picture = PAGE.split("```")[1].replace(" > ", "\n")
    lines = [line for line in picture.strip().splitlines() if line.strip() != "|"]
    drawn = [set(re.match(r"[a-z_]+( \| [a-z_]+)*", line).group().split(" | ")) for line in lines]
    assert steps == drawn


def test_what_is_named_where_to_add_things_exists():
    table = PAGE.partition("## Where to add things")[2]
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    for name in set(re.findall(r"`([A-Z]\w+)`", table)) - {"HELP"}:
        assert re.search(rf"^class {name}\(", code, re.MULTILINE), name
    for place in set(re.findall(r"`([a-z_/]+/|[a-z_/]+\.py)`", table)):
        home = ROOT if place.startswith("tests/") else SOURCES
        assert (home / place).exists(), place
