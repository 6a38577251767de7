"""The tutorial from its first line to its last: Python and commands, in one folder."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from defrag import load

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"


def blocks():
    """Return the languages and contents of the code blocks, in order."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^```(python|console)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(block):
    return re.findall(r"^\$ defrag (.*)$", block, re.MULTILINE)


def test_page_trains_evaluates_and_explains():
    verbs = [line.split()[0] for kind, block in blocks() if kind == "console"
             for line in commands(block)]  # fmt: skip
    assert verbs[:4] == ["info", "train", "predict", "evaluate"]
    assert verbs[-1] == "explain"


@pytest.mark.slow
def test_every_block_of_page_runs():
    names, outputs = {}, {}
    environment = os.environ | {"COLUMNS": "100"}
    for kind, block in blocks():
        if kind == "python":
            part = doctest.DocTestParser().get_doctest(block, names, PAGE.name, None, 0)
            result = doctest.DocTestRunner().run(part, clear_globs=False)
            assert result.attempted > 0
            assert result.failed == 0
            names = part.globs
            continue
        for line in commands(block):
            run = subprocess.run(
                [sys.executable, "-m", "defrag", *line.split()],
                cwd=names["folder"], env=environment, capture_output=True, text=True,
                timeout=600, check=False,
            )  # fmt: skip
            assert run.returncode == 0, run.stderr
            outputs[line.split()[0], line] = run.stdout
        model = names["folder"] / "model.safetensors"
        by_command = load(model, mmap=False)
    shown = "\n".join(outputs.values())
    assert "3,000 texts with 9,183 labels" in shown
    assert "PSP@k" in shown
    assert "score without it" in shown
    # Python has trained the same model.
    texts = names["test_texts"]
    for mine, other in zip(load(model).predict_topk(texts), by_command.predict_topk(texts),
                           strict=True):  # fmt: skip
        assert (mine == other).all()
