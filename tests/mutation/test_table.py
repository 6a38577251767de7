"""The table of mutants fits the code: `python tools/mutate.py`, run by hand, makes them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "tests/mutation/table.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted({row["path"] for rows in TABLE.values() for row in rows}))
def test_changed_code_occurs_exactly_once(path):
    source = (ROOT / path).read_text(encoding="utf-8")
    for row in [*TABLE["mutant"], *TABLE["equivalent"]]:
        if row["path"] == path:
            assert source.count(row["old"]) == 1, row["old"]


def test_tests_of_mutants_exist():
    for row in TABLE["mutant"]:
        for test in row["tests"].split():
            if test != "cpp":
                file, *names = test.partition("[")[0].split("::")
                assert (ROOT / file).exists(), test
                assert all(name in (ROOT / file).read_text(encoding="utf-8") for name in names)
