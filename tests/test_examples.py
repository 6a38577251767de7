"""The examples: what needs no other library runs, the others say what they need."""

from __future__ import annotations

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


def test_scikit_learn_example_runs():
    result = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "with_sklearn.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    groups, precision = result.stdout.splitlines()
    assert groups == "14973 words in 2048 groups"
    assert float(precision.removeprefix("P@1 ")) > 0.75


@pytest.mark.parametrize("name", PEERS)
def test_other_examples_compile_and_name_what_they_need(name):
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
        [sys.executable, "-c", absent], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "pip install" in result.stderr


def _importable(name):
    command = [sys.executable, "-c", f"import {name}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
