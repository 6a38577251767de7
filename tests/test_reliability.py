"""The table of checks in the manual names files that exist, one row for every check."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = [
    line for line in (ROOT / "docs" / "reliability.md").read_text().splitlines()
    if line.startswith("| R")
]  # fmt: skip
NAMED = re.compile(r"`((?:tests|tools|benchmarks|docs)/[\w/.]+|Makefile|\.ci/run)`")


def test_every_check_has_row():
    assert [row.split("|")[1].strip() for row in ROWS] == [f"R{i}" for i in range(1, 35)]


def test_rows_name_existing_files():
    for row in ROWS:
        names = NAMED.findall(row)
        assert names, row
        assert [name for name in names if not (ROOT / name).is_file()] == [], row
