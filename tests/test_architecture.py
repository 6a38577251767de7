"""What ARCHITECTURE.md, the table of checks and the table of mutants name exists."""

import re
import sys
from pathlib import Path

import pytest

import defrag

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCES = Path(defrag.__file__).parent
MUTANTS = tomllib.loads((ROOT / "tests/mutation/table.toml").read_text(encoding="utf-8"))
CHECKS = re.findall(r"^\| R.*", (ROOT / "docs" / "reliability.md").read_text("utf-8"), re.MULTILINE)


def test_modules_are_in_the_picture():
    picture = PAGE.split("```")[1]
    rooms = {path.stem for path in SOURCES.iterdir() if not path.name.startswith(("__", "_core"))}
    rooms -= {"py"}  # py.typed
    missing = {room for room in rooms if not re.search(rf"(?m)(^|[ |>]){room}\b", picture)}
    assert not missing


def test_folders_have_a_paragraph_with_a_file_to_open():
    chapter = PAGE.partition("## Folders")[2].partition("\n## ")[0]
    paragraphs = dict(part.split("\n", 1) for part in chapter.split("\n### ")[1:])
    named = {name for heading in paragraphs for name in heading.split(", ")}
    folders = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    assert named >= folders | {"cpp/core", "cpp/bindings"}
    for heading, text in paragraphs.items():
        files = re.findall(r"`([\w/]+\.py)`", re.split(r"Open\s", text)[-1])
        assert files or heading.startswith("cpp"), heading
        assert [name for name in files if not (SOURCES / name).is_file()] == [], heading


def test_picture_has_the_layers_of_the_contract():
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = contract.partition("layers = [")[2].partition("]")[0]
    steps = [
        {name.strip(' "()') for name in layer.split("|")} for layer in re.findall(r'"(.*)"', layers)
    ]
    picture = PAGE.split("```")[1].replace(" > ", "\n")
    lines = [line for line in picture.strip().splitlines() if line.strip() != "|"]
    drawn = [set(re.match(r"[a-z_]+( \| [a-z_]+)*", line).group().split(" | ")) for line in lines]
    assert steps == drawn


def test_places_to_add_things_exist():
    table = PAGE.partition("## Where to add things")[2]
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    for name in set(re.findall(r"`([A-Z]\w+)`", table)) - {"HELP"}:
        assert re.search(rf"^class {name}\(", code, re.MULTILINE), name
    for place in set(re.findall(r"`([a-z_/]+/|[a-z_/]+\.py)`", table)):
        home = ROOT if place.startswith("tests/") else SOURCES
        assert (home / place).exists(), place


def test_every_check_has_a_row_that_names_existing_files():
    assert [row.split("|")[1].strip() for row in CHECKS] == [f"R{i}" for i in range(1, 35)]
    for row in CHECKS:
        names = re.findall(r"`((?:tests|tools|benchmarks|docs)/[\w/.]+|Makefile|\.ci/run)`", row)
        assert names, row
        assert [name for name in names if not (ROOT / name).is_file()] == [], row


@pytest.mark.parametrize("path", MUTANTS)
def test_changed_code_occurs_exactly_once(path):
    source = (ROOT / path).read_text(encoding="utf-8")
    for old, *_ in [*MUTANTS[path]["mutants"], *MUTANTS[path].get("equivalent", ())]:
        assert source.count(old) == 1, old


def test_tests_of_mutants_exist():
    for rows in MUTANTS.values():
        for test in rows["tests"].split():
            if test != "cpp":
                file, *names = test.partition("[")[0].split("::")
                assert (ROOT / file).exists(), test
                assert all(name in (ROOT / file).read_text(encoding="utf-8") for name in names)
