"""Every command of the README runs as it stands there; its Python runs as a doctest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from defrag import load_dataset, write_xmc

README = Path(__file__).resolve().parent.parent / "README.md"
COMMANDS = re.findall(r"^\$ (defrag .*)$", README.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a folder with the files that the README speaks of: a part of the bundled data."""
    folder = tmp_path_factory.mktemp("readme")
    data = load_dataset("debian")
    write_xmc(folder / "train.txt", data.train.X[:4000], data.train.Y[:4000])
    write_xmc(folder / "test.txt", data.test.X[:500], data.test.Y[:500])
    return folder


def test_the_readme_has_commands():
    assert len(COMMANDS) >= 8
    assert len(set(COMMANDS)) == len(COMMANDS)


def test_the_commands_run_one_after_the_other(folder):
    program = Path(sys.executable).parent / "defrag"
    assert program.exists() or shutil.which("defrag")
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    for command in COMMANDS:
        if command == "defrag demo":
            command = "defrag demo --quick"  # noqa: PLW2901 - the whole takes a minute or two
        run = subprocess.run(  # noqa: S602 - the README's own lines, pipes included
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip
        assert run.returncode == 0, f"{command}\n{run.stderr}"
    assert (folder / "model.safetensors").exists()
    assert (folder / "predictions.txt").exists()
