"""Run every command of the README and of docs/command_line.md; their Python runs as doctests."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from defrag import load_dataset
from defrag.io import write_xmc

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/command_line.md")


def commands_of(page):
    """Return the commands of a page, in order."""
    return re.findall(r"^\$ (defrag .*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture
def commands_folder(tmp_path):
    """Return a folder with a command ``defrag`` whose imports are done."""
    path = tmp_path / "bin" / "defrag"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m defrag "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path.parent


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the input files of the commands: a part of the bundled data."""
    data = load_dataset("debian")
    write_xmc(tmp_path / "train.txt", data.train.X[:4000], data.train.Y[:4000])
    write_xmc(tmp_path / "test.txt", data.test.X[:500], data.test.Y[:500])
    for name, part, n_texts in (("docs", data.train, 2000), ("test", data.test, 300)):
        with (tmp_path / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for x, y in zip(part.X[:n_texts], part.Y[:n_texts], strict=True):
                text, labels = " ".join(data.feature_names[x.indices]), data.label_names[y.indices]
                file.write(json.dumps({"text": text, "labels": labels.tolist()}) + "\n")
    return tmp_path


@pytest.mark.parametrize(("page", "least"), [("README.md", 5), ("docs/command_line.md", 10)])
def test_manual_pages_have_commands(page, least):
    commands = commands_of(page)
    assert len(commands) >= least
    assert len(set(commands)) == len(commands)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_run_in_order(folder, commands_folder, page):
    program = Path(sys.executable).parent / "defrag"
    assert program.exists() or shutil.which("defrag")
    environment = os.environ | {"PATH": f"{commands_folder}:{os.environ['PATH']}"}
    for command in commands_of(page):
        if command == "defrag demo":
            command = "defrag demo --quick"  # noqa: PLW2901 - the whole takes a minute or two
        run = subprocess.run(  # noqa: S602 - the page's own lines, pipes included
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip
        assert run.returncode == 0, f"{command}\n{run.stderr}"
    assert (folder / "model.safetensors").exists()
    assert (folder / "predictions.txt").exists()
