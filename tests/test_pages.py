"""Pages of the manual from their first line to their last: commands, Python, a page at the end.

Python of the pages without commands runs as doctests.
"""

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from defrag import load, load_dataset
from defrag.io import write_xmc
from tests.helpers.bits import bits
from tests.helpers.cli_text_data import write_lines
from tests.helpers.processes import run_python
from tests.helpers.serving import running

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL, SERVE, README, COMMAND_LINE = (
    (ROOT / name).read_text("utf-8")
    for name in ("docs/tutorial.md", "docs/tutorial_serve.md", "README.md", "docs/command_line.md")
)
IDS = ["README", "command line"]
SECONDS = 600


def blocks(page):
    """Return the languages and contents of the code blocks of a page, in order."""
    return re.findall(r"^```(python|console)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands(page):
    return re.findall(r"^\$ (defrag .*)$", page, re.MULTILINE)


def run_block(block, names):
    """Run a block with names; return those that it leaves."""
    part = doctest.DocTestParser().get_doctest(block, names, "page", None, 0)
    result = doctest.DocTestRunner().run(part, clear_globs=False)
    assert result.attempted > 0
    assert result.failed == 0
    return part.globs


def run_command(command, folder):
    """Run a command of a page; return what it prints."""
    arguments = shlex.split(command.removeprefix("defrag "))
    return run_python("-m", "defrag", *arguments, timeout=SECONDS, cwd=folder, COLUMNS="100")


def test_page_trains_evaluates_and_explains():
    verbs = [line.split()[1] for kind, block in blocks(TUTORIAL) if kind == "console"
             for line in commands(block)]  # fmt: skip
    assert verbs[:4] == ["info", "train", "predict", "evaluate"]
    assert verbs[-1] == "explain"


@pytest.mark.slow
def test_every_block_of_page_runs():
    names, shown = {}, ""
    for kind, block in blocks(TUTORIAL):
        if kind == "python":
            names = run_block(block, names)
            continue
        shown += "\n".join(run_command(line, names["folder"]) for line in commands(block))
        model = names["folder"] / "model.safetensors"
        by_command = load(model, mmap=False)
    assert "3,000 texts with 9,183 labels" in shown
    assert "PSP@k" in shown
    assert "score without it" in shown
    # Python has trained the same model.
    texts = names["test_texts"]
    assert bits(load(model).predict_topk(texts)) == bits(by_command.predict_topk(texts))


@pytest.fixture(scope="module")
def served():
    """Run the other page; return what ``suggest`` prints and the address of the server."""
    pytest.importorskip("starlette", reason="starlette is not installed (extra 'serve')")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra 'serve')")
    code = next(block for kind, block in blocks(SERVE) if kind == "python")
    folder = run_block(code, {})["folder"]
    assert "$ pip install 'defrag[serve]'\n" in SERVE
    train, suggest, serve = commands(SERVE)
    run_command(train, folder)
    shown = run_command(suggest, folder)
    assert serve == "defrag serve model.safetensors"
    with running(folder / "model.safetensors") as server:
        yield shown, f"http://127.0.0.1:{server.port}"


@pytest.mark.slow
def test_programs_get_what_terminal_shows(served):
    shown, address = served
    body, shown_address = re.search(r"^curl --json '(.*?)' (\S+)$", SERVE, re.MULTILINE).groups()
    url = shown_address.replace("http://127.0.0.1:8765", address)
    request = urllib.request.Request(url, body.encode(), {"content-type": "application/json"})  # noqa: S310 - on loopback
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - on loopback
        labels = [one["label"] for one in json.load(answer)["labels"]]
    assert len(labels) == 3
    assert all(label in shown for label in labels)


@pytest.mark.slow
def test_page_shows_labels_and_why(served, browser):
    shown, address = served
    page = browser.new_page()
    page.goto(address)
    text = shlex.split(commands(SERVE)[1])[-1]
    page.locator("#input").fill(text)
    page.locator("#lists ol button").first.click()
    page.locator("#why").wait_for()
    first = page.locator("#lists .name").first.inner_text()
    assert first in shown
    assert page.locator("#question").inner_text() == f"Why {first}?"
    assert page.locator("#highlighted mark").count() > 0
    page.close()


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the input files of the commands: a part of the bundled data."""
    data = load_dataset("debian")
    write_xmc(tmp_path / "train.txt", data.train.X[:4000], data.train.Y[:4000])
    write_xmc(tmp_path / "test.txt", data.test.X[:500], data.test.Y[:500])
    for name, part, n_texts in (("docs", "train", 2000), ("test", "test", 300)):
        pairs = list(zip(*data.texts(part), strict=True))[:n_texts]
        items = [{"text": text, "labels": labels} for text, labels in pairs]
        write_lines(tmp_path / f"{name}.jsonl", items)
    return tmp_path


@pytest.mark.parametrize(("page", "least"), [(README, 5), (COMMAND_LINE, 10)], ids=IDS)
def test_manual_pages_have_commands(page, least):
    assert len(commands(page)) >= least
    assert len(set(commands(page))) == len(commands(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", [README, COMMAND_LINE], ids=IDS)
def test_commands_run_in_order(folder, page):
    program = folder / "bin" / "defrag"  # whose imports are done
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m defrag "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    assert (Path(sys.executable).parent / "defrag").exists() or shutil.which("defrag")
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    for command in commands(page):
        if command == "defrag demo":
            command = "defrag demo --quick"  # noqa: PLW2901 - the whole takes a minute or two
        run = subprocess.run(  # noqa: S602 - the page's own lines, pipes included
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        assert run.returncode == 0, f"{command}\n{run.stderr}"
    assert (folder / "model.safetensors").exists()
    assert (folder / "predictions.txt").exists()
