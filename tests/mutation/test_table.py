"""The table of mutants fits the code: `python tools/mutate.py`, run by hand, makes them."""

import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "tests/mutation/table.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", TABLE)
def test_changed_code_occurs_exactly_once(path):
    source = (ROOT / path).read_text(encoding="utf-8")
    for old, *_ in [*TABLE[path]["mutants"], *TABLE[path].get("equivalent", ())]:
        assert source.count(old) == 1, old


def test_tests_of_mutants_exist():
    for rows in TABLE.values():
        for test in rows["tests"].split():
            if test != "cpp":
                file, *names = test.partition("[")[0].split("::")
                assert (ROOT / file).exists(), test
                assert all(name in (ROOT / file).read_text(encoding="utf-8") for name in names)
