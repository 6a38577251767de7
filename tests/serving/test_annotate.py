"""``defrag annotate``: its page in a browser, and the command."""

import json
import re
import signal
import subprocess
import sys

import httpx
import pytest

from defrag import load
from tests.helpers.processes import environment
from tests.serving.conftest import DOCUMENTS
from tests.text.test_answers import corpus


@pytest.fixture
def annotate(serve, open_page, loop):
    """Return a function that opens the page with the loop."""

    def start(*arguments, **options):
        address = serve({"m": loop.model.classifier}, loop=loop)
        page = open_page(address, *arguments, **options)
        page.goto(f"{address}annotate")
        page.locator("#labels li").first.wait_for()
        return page

    return start


def chosen(page):
    pressed = page.locator("#labels button[aria-pressed=true] .name").all_inner_texts()
    return [re.sub(r"^\d ", "", name) for name in pressed]


def saved(loop, text):
    loop.refresh()
    return loop.corrections.labels[text]


@pytest.mark.slow
def test_texts_are_labelled_by_keyboard(annotate, open_page, loop):
    first, second, third = loop.offer(3)
    page = annotate()
    assert page.locator("#text").inner_text() == first.text
    assert page.locator("#reason").inner_text() == first.reason
    names = {one.label: one.label.replace("topic", "Name") for one in first.labels}
    assert chosen(page) == [names[label] for label in first.proposed]
    page.keyboard.press("w")
    page.locator("#text mark").first.wait_for()
    assert page.locator("#why").inner_text().startswith(f"{names[first.labels[0].label]}: ")
    page.keyboard.press("1")  # the best label is wrong
    page.keyboard.press("/")
    page.keyboard.type("name 29")
    page.locator("#found").get_by_text("Name 29", exact=True).wait_for()
    assert page.locator("#found li").count() == 1  # a name in another case is no new label
    page.keyboard.press("Enter")
    page.keyboard.press("/")
    page.keyboard.type("quite new")
    page.get_by_role("button", name="quite new (a new label)").click()
    page.keyboard.press("Enter")
    page.get_by_text("1 text done, 30 left").wait_for()
    wanted = [*({*first.proposed} ^ {first.labels[0].label}), "topic 29", "quite new"]
    assert sorted(saved(loop, first.text)) == sorted(wanted)
    assert page.locator("#text").inner_text() in {second.text, third.text}
    shown = page.locator("#text").inner_text()
    page.keyboard.press("s")
    page.locator("#text").filter(has_not_text=shown).wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("2 texts done, 29 left").wait_for()
    page.keyboard.press("u")
    page.get_by_text("Undone: 1 text done").wait_for()
    page.keyboard.press("u")
    page.get_by_text("Undone: 0 texts done").wait_for()
    assert page.locator("#text").inner_text() == first.text
    assert saved(loop, first.text) is None
    page.keyboard.press("u")
    page.get_by_text("Not saved: there is no correction to undo").wait_for()
    assert ["404" in one for one in open_page.said] == [True]  # the browser reports it itself
    open_page.said.clear()


@pytest.mark.slow
def test_texts_are_labelled_by_mouse_to_the_end(annotate, loop):
    page = annotate()
    for number in range(len(DOCUMENTS)):
        page.get_by_text(f"{number} text{'s' if number != 1 else ''} done").wait_for()
        if number == 3:
            page.locator("#labels li").last.get_by_role("button").first.click()
            last = page.locator("#labels li .name").last.inner_text().split(" ", 1)[-1]
            assert chosen(page)[-1].endswith(last)
            page.get_by_role("button", name=re.compile("^Why ")).first.click()
            page.locator("#why:not(:empty)").wait_for()
        assert page.locator("main img").count() == 0
        page.get_by_role("button", name="Accept").click()
    page.get_by_text("All texts are done or skipped.").wait_for()
    assert page.get_by_role("button", name="Accept").is_disabled()
    assert {text for text, labels in loop.corrections.labels.items() if labels} <= {*DOCUMENTS}
    assert loop.n_done == len(DOCUMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everybody_can_use_it(annotate, check_access, width, scheme):
    page = annotate(width, color_scheme=scheme, reduced_motion="reduce")
    page.keyboard.press("w")
    page.keyboard.press("/")
    page.keyboard.type("name")
    page.locator("#found button").first.wait_for()
    check_access(page, width)


def run(folder, *arguments):
    command = [sys.executable, "-m", "defrag", "annotate", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=environment())  # fmt: skip


@pytest.mark.slow
def test_the_command_trains_a_model_and_serves_the_page(tmp_path):
    texts, labels = corpus(60)
    lines = [
        {"text": a, "labels": b} for a, b in zip(texts, [*labels[:40], *[None] * 20], strict=True)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    process = run(tmp_path, "docs.jsonl", "--port", "0", "--no-browser")
    try:
        address = re.search(
            r"serving docs.jsonl at (http://\S+)/annotate", process.stdout.readline()
        )[1]
        assert "annotate.js" in httpx.get(f"{address}/annotate").text
        offered = httpx.post(f"{address}/v1/next", json={}).json()
        assert offered["left"] == 20
        said = {"text": offered["documents"][0]["text"], "labels": ["new"]}
        assert httpx.post(f"{address}/v1/corrections", json=said).json()["done"] == 1
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert set(load(tmp_path / "docs.safetensors").classes_) == {
        x for row in labels[:40] for x in row
    }
    kept = json.loads((tmp_path / "docs.corrections.jsonl").read_text())
    assert (kept["text"], kept["labels"]) == (said["text"], ["new"])


def test_texts_without_any_label_are_refused(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a b"}\n')
    _, said = run(tmp_path, "docs.jsonl").communicate(timeout=60)
    assert said == (
        "defrag: error: docs.jsonl: has no labels: give some texts labels, or give --model\n"
    )
