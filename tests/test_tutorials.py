"""The tutorials from their first line to their last: Python, commands, and a page at the end."""

import doctest
import json
import re
import shlex
import urllib.request
from pathlib import Path

import pytest

from defrag import load
from tests.helpers.bits import bits
from tests.helpers.processes import run_python
from tests.helpers.serving import running

DOCS = Path(__file__).resolve().parent.parent / "docs"
TEXTS = {name: (DOCS / f"{name}.md").read_text("utf-8") for name in ("tutorial", "tutorial_serve")}
COMMANDS = re.findall(r"^\$ (.*)$", TEXTS["tutorial_serve"], re.MULTILINE)
SECONDS = 600


def blocks(name):
    """Return the languages and contents of the code blocks of a page, in order."""
    return re.findall(r"^```(python|console)\n(.*?)^```$", TEXTS[name], re.MULTILINE | re.DOTALL)


def commands(block):
    return re.findall(r"^\$ (defrag .*)$", block, re.MULTILINE)


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
    verbs = [line.split()[1] for kind, block in blocks("tutorial") if kind == "console"
             for line in commands(block)]  # fmt: skip
    assert verbs[:4] == ["info", "train", "predict", "evaluate"]
    assert verbs[-1] == "explain"


@pytest.mark.slow
def test_every_block_of_page_runs():
    names, shown = {}, ""
    for kind, block in blocks("tutorial"):
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
    code = next(block for kind, block in blocks("tutorial_serve") if kind == "python")
    folder = run_block(code, {})["folder"]
    install, train, suggest, serve = COMMANDS
    assert install == "pip install 'defrag[serve]'"
    run_command(train, folder)
    shown = run_command(suggest, folder)
    assert serve == "defrag serve model.safetensors"
    with running(folder / "model.safetensors") as server:
        yield shown, f"http://127.0.0.1:{server.port}"


@pytest.mark.slow
def test_programs_get_what_terminal_shows(served):
    shown, address = served
    body, shown_address = re.search(
        r"^curl --json '(.*?)' (\S+)$", TEXTS["tutorial_serve"], re.MULTILINE
    ).groups()
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
    text = shlex.split(COMMANDS[2])[-1]
    page.locator("#input").fill(text)
    page.locator("#lists ol button").first.click()
    page.locator("#why").wait_for()
    first = page.locator("#lists .name").first.inner_text()
    assert first in shown
    assert page.locator("#question").inner_text() == f"Why {first}?"
    assert page.locator("#highlighted mark").count() > 0
    page.close()
