"""The examples: what needs no other library runs, the others say what they need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PEERS = {
    "with_napkinxc.py": "napkinxc",
    "with_omikuji.py": "omikuji",
    "with_pecos.py": "pecos",
}


def test_every_example_is_tested_and_described():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {"with_sklearn.py", *PEERS}
    described = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(name in described for name in names)


@pytest.mark.slow
def test_scikit_learn_example_runs():
    result = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "with_sklearn.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["all words", "Focus", "Hybrid"]
    pattern = r".*: P@1/3/5 ([0-9.]+)/[0-9.]+/[0-9.]+, training [0-9.]+ s, model ([0-9.]+) MB"
    found = [re.fullmatch(pattern, line).groups() for line in lines]
    assert min(float(precision) for precision, _ in found) > 75
    assert float(found[2][1]) < 0.5 * float(found[0][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_other_examples_compile_and_name_what_they_need(name, warm_python):
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    compile(source, name, "exec")
    # A finder that refuses the peer stands for a machine without it.
    absent = (
        "import runpy, sys\n"
        f"sys.modules[{PEERS[name]!r}] = None\n"
        f"sys.argv = [{str(EXAMPLES / name)!r}]\n"
        f"runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    if name == "with_pecos.py" and _importable("pecos"):
        pytest.skip("this Python has PECOS")
    result = subprocess.run(
        [warm_python, "-c", absent], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "pip install" in result.stderr


def _importable(name):
    command = [sys.executable, "-c", f"import {name}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
