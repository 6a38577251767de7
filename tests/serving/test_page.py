"""The page at ``/`` in a browser: labels, why, two models, keys, and no harm from any text."""

import json

import pytest

from defrag import DiSMEC, LabelTree, TextClassifier, Thesaurus
from defrag.serving.subjects import Subjects
from tests.serving.conftest import ROW, TEXTS

NASTY = "<img src=x onerror=alert(1)>"
LABELS = [["algebra"], ["algebra"], ["sorting"], ["sorting", NASTY], [NASTY]]
TEXT = "Sorting <b>large</b> files 🙂 & <script>alert(1)</script> <img src=x onerror=alert(2)>"
CLIPBOARD = ["clipboard-read", "clipboard-write"]

pytestmark = pytest.mark.slow  # every test waits for a browser


@pytest.fixture(scope="module")
def models(rows):
    text = TextClassifier(LabelTree(), random_state=0).fit(TEXTS, LABELS)
    other = TextClassifier(DiSMEC(), random_state=0).fit(TEXTS[:4], [one[:1] for one in LABELS[:4]])
    return {"tree": text, "flat": other, "rows": rows}


@pytest.fixture(scope="module")
def address(serve, models):
    return serve(models)


def write(page, text):
    page.locator("#input").fill(text)
    page.get_by_role("button", name="Suggest").click()
    page.locator("#lists[aria-busy=false]").wait_for(state="attached")


def explain(page, button):
    """Click a label, and wait for its explanation."""
    button.click()
    page.locator("#why").wait_for()


def copied(page, form):
    """Copy what is shown, and return the text."""
    page.get_by_role("button", name=f"Copy {form}").click()
    page.get_by_text(f"Copied as {form}.").wait_for()
    return page.evaluate("navigator.clipboard.readText()")


def names(page, place=0):
    return page.locator("#lists ol").nth(place).locator(".name").all_inner_texts()


def only(page, model):
    page.get_by_label(model).wait_for()
    for box in page.get_by_role("checkbox").all():
        box.set_checked(page.get_by_label(model).get_attribute("value") == box.input_value())


def test_labels_appear_filtered_by_number_and_score(open_page, address, models):
    page = open_page(address)
    only(page, "tree")
    page.locator("#input").fill(TEXT)  # without the button: labels follow the text
    page.locator("#lists ol button").first.wait_for()
    wanted, scores = models["tree"].predict_topk([TEXT], k=3)
    assert names(page) == wanted[0].tolist()
    assert page.locator(".score").all_inner_texts() == [f"{score:.3f}" for score in scores[0]]
    bars = [bar.bounding_box()["width"] for bar in page.locator("#lists .bar span").all()]
    page.wait_for_timeout(200)
    assert bars == sorted(bars, reverse=True)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    limit = float(scores[0, :2].mean())
    page.get_by_label("From score").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        str(limit),
    )
    assert names(page) == wanted[0, :1].tolist()
    assert page.get_by_role("status").inner_text() == "1 of 3 labels"
    assert requests == []
    page.get_by_label("From score").fill("0")
    page.get_by_label("At most").fill("2")
    page.locator("#lists li").nth(2).wait_for(state="detached")
    assert names(page) == wanted[0, :2].tolist()
    page.get_by_label("At most").fill("0")
    page.get_by_text("must be from 1 to 1,000").wait_for()
    page.locator("#input").fill("")
    page.get_by_text("They appear here").wait_for()
    page.get_by_label("At most").fill("5")
    write(page, "unheard")
    page.get_by_text("No labels").wait_for()


def test_a_label_is_explained_by_its_words(open_page, address, models):
    page = open_page(address)
    only(page, "tree")
    write(page, TEXT)
    button = page.locator("#lists ol button").first
    explain(page, button)
    label = names(page)[0]
    why = models["tree"].explain(TEXT, label)
    assert page.get_by_role("heading", name=f"Why {label}?").is_visible()
    assert f"Score {why.score:.3f} in tree" in page.locator("#answer").inner_text()
    assert page.locator("#highlighted").text_content() == TEXT
    marked = {text.lower() for text in page.locator("#highlighted mark").all_inner_texts()}
    assert {"sorting", "large", "files"} <= marked
    assert not {"img", "script", "alert"} & marked  # words that the model does not know
    rows = page.locator("#parts tr").all_inner_texts()
    first = why.top(1)[0]
    cells = rows[0].split("\t")
    assert cells[0] == first.name
    assert cells[1].strip() == f"{first.contribution:+.3f}".replace("-", "\u2212")
    assert cells[2] == f"{first.without:.3f}"
    assert button.get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Close the explanation").click()
    assert not page.locator("#why").is_visible()
    assert button.get_attribute("aria-pressed") == "false"


def test_html_stays_text(open_page, address):
    page = open_page(address)
    only(page, "tree")
    write(page, TEXT)
    assert NASTY in names(page)
    explain(page, page.get_by_role("button", name=NASTY).first)
    assert page.locator("#question").inner_text() == f"Why {NASTY}?"
    assert page.locator("main img, main script, main b").count() == 0


def test_two_models_stand_side_by_side(open_page, address, models):
    page = open_page(address)
    write(page, TEXT)
    assert page.locator("#lists h3").all_inner_texts() == ["tree 3 labels", "flat 2 labels"]
    left, right = (page.locator("#lists section").nth(i).bounding_box() for i in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    flat = models["flat"].predict_topk([TEXT], k=2)[0][0].tolist()
    assert [name.split("\n")[0] for name in names(page, 1)] == flat
    assert page.locator("#lists small", has_text="only here").count() == 1
    page.locator("#lists ol").nth(1).get_by_role("button").first.click()
    page.get_by_text(" in flat;").wait_for()
    page.get_by_label("flat").uncheck()
    page.locator("#lists ol").nth(1).wait_for(state="detached")
    assert not page.locator("#why").is_visible()


def test_a_row_of_features_is_asked_of_matrix_models(open_page, address, models):
    page = open_page(address)
    page.get_by_label("Features").check()
    pairs = list(zip(ROW.indices.tolist(), ROW.data.tolist(), strict=True))
    wanted = [str(label) for label in models["rows"].predict_topk(ROW, k=10)[0][0] if label >= 0]
    for given in (
        " ".join(f"f{j}:{x!r}" for j, x in pairs),
        json.dumps({f"f{j}": x for j, x in pairs}),
    ):
        write(page, given)
        assert names(page) == wanted
    explain(page, page.locator("#lists ol button").first)
    assert page.locator("#parts tr").count() > 0
    assert not page.locator("#highlighted").is_visible()
    page.locator("#input").fill("f1:x")
    page.get_by_text('"f1:x" should be name:value').wait_for()


def test_the_keyboard_is_enough(open_page, address):
    page = open_page(address)
    only(page, "tree")
    page.locator("#input").focus()
    page.keyboard.type("sorting large files")
    page.keyboard.press("Control+Enter")
    page.locator("#lists ol button").first.focus()
    page.keyboard.press("ArrowDown")
    second = names(page)[1]
    page.keyboard.press("Enter")
    page.locator("#why").wait_for()
    assert page.evaluate("document.activeElement.textContent") == f"Why {second}?"
    page.keyboard.press("Escape")
    assert not page.locator("#why").is_visible()
    assert page.evaluate("document.activeElement.innerText").startswith(second)


def test_what_is_shown_is_copied(open_page, address, models):
    page = open_page(address, permissions=CLIPBOARD)
    only(page, "tree")
    write(page, TEXT)
    wanted, scores = models["tree"].predict_topk([TEXT], k=3)
    pairs = list(zip(wanted[0].tolist(), scores[0].tolist(), strict=True))
    assert json.loads(copied(page, "JSON")) == [
        {"model": "tree", "labels": [{"label": label, "score": score} for label, score in pairs]}
    ]
    lines = copied(page, "TSV").splitlines()
    assert lines[0] == "model\tlabel\tscore"
    assert [line.split("\t")[:2] for line in lines[1:]] == [["tree", label] for label, _ in pairs]


def test_names_of_the_thesaurus_are_shown_and_copied(serve, open_page, models):
    best, second = models["tree"].predict_topk([TEXT], k=2)[0][0].tolist()
    subjects = Subjects("topics", Thesaurus.of([{"id": best, "name": "A subject"}]), given=True)
    page = open_page(serve({"tree": models["tree"]}, subjects=subjects), permissions=CLIPBOARD)
    write(page, TEXT)
    assert names(page)[:2] == ["A subject", second]
    assert page.get_by_text("A subject").get_attribute("title") == best
    explain(page, page.get_by_role("button", name="A subject"))
    assert page.locator("#question").inner_text() == "Why A subject?"
    lines = copied(page, "TSV").splitlines()
    assert lines[0] == "model\tlabel\tname\tscore"
    assert lines[1].split("\t")[:3] == ["tree", best, "A subject"]
    assert lines[2].split("\t")[2] == ""


def test_a_token_is_asked_for(serve, open_page, models):
    page = open_page(serve({"tree": models["tree"]}, token="secret"))  # noqa: S106 - of this test
    for word in ("wrong", "secret"):
        assert not page.locator("#ask").is_visible()
        page.get_by_label("Token of this server").fill(word)
        page.get_by_role("button", name="Open").click()
        if word == "wrong":
            page.get_by_text("The token is wrong.").wait_for()
    write(page, TEXT)
    assert len(names(page)) == 3
    # Browsers report the refusals themselves: the first request, and the wrong token.
    assert all("401" in message for message in open_page.said)
    assert len(open_page.said) == 2
    open_page.said.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everybody_can_use_it(open_page, check_access, address, width, scheme):
    page = open_page(address, width, color_scheme=scheme, reduced_motion="reduce")
    check_access(page, width)
    write(page, f"{TEXT} {'x' * 300} sorting")
    check_access(page, width)
    explain(page, page.locator("#lists ol button").first)
    check_access(page, width)
    page.get_by_label("Features").check()
    write(page, "f1 f2:2")
    check_access(page, width)
