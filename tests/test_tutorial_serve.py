"""The tutorial from texts to a page: its commands, and the page that they end with."""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is not installed (extra 'serve')")
pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra 'serve')")

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial_serve.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*)$", TEXT, re.MULTILINE)
SECONDS = 120


@pytest.fixture(scope="module")
def folder():
    """Run the Python of the page, which writes the texts."""
    code = re.search(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL).group(1)
    part = doctest.DocTestParser().get_doctest(code, {}, PAGE.name, None, 0)
    result = doctest.DocTestRunner().run(part, clear_globs=False)
    assert result.attempted > 0
    assert result.failed == 0
    return part.globs["folder"]


def words(command):
    """Return a command line of the page with the ``defrag`` of this Python."""
    program, *arguments = shlex.split(command)
    assert program == "defrag"
    return [sys.executable, "-m", "defrag", *arguments]


@pytest.fixture(scope="module")
def served(folder):
    """Run the other commands; return what ``suggest`` prints and the address of the server."""
    install, train, suggest, serve = COMMANDS
    assert install == "pip install 'defrag[serve]'"
    environment = os.environ | {"COLUMNS": "100"}
    run = {"cwd": folder, "env": environment, "text": True}
    subprocess.run(words(train), check=True, timeout=SECONDS, **run)
    shown = subprocess.run(
        words(suggest), check=True, timeout=SECONDS, stdout=subprocess.PIPE, **run
    )
    # Any free port, so that tests do not meet.
    process = subprocess.Popen([*words(serve), "--port", "0"], stdout=subprocess.PIPE, **run)
    try:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert address, line
        yield shown.stdout, address.group()
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


@pytest.mark.slow
def test_programs_get_what_terminal_shows(served):
    shown, address = served
    body, shown_address = re.search(r"^curl --json '(.*?)' (\S+)$", TEXT, re.MULTILINE).groups()
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
