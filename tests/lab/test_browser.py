"""Reports and the manual in a browser: figures, sorting, no error, no overflow, contrast."""

import shutil
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

from defrag.lab.comparison import comparison_page
from defrag.lab.demo import SHOWN, Demo, Example, demo_page
from defrag.lab.page import Row
from defrag.lab.records import Result, single
from defrag.lab.results import Findings, study_page, write_pages
from defrag.lab.studies import STUDIES
from tests.lab.small import record, results

pytestmark = pytest.mark.slow

# Ratio of luminances by WCAG 2, of every text against the first background behind it.
CONTRAST = """
() => {
  const rgb = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = (c) => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  const behind = (node) => {
    for (let n = node; n; n = n.parentElement) {
      const c = rgb(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || (c.length === 4 && c[3] > 0)) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const node of document.querySelectorAll("body *:not(script)")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own) continue;
    const style = getComputedStyle(node);
    const ink = rgb(node.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${node.tagName} ${node.textContent.slice(0, 30)} ${ratio}`);
  }
  return bad;
}
"""


def a_study():
    groups = {"n_clusters": 5, "cpu": 0.2, "sizes": {"8": 2}}
    found = [
        Result(name, "eurlex-4k", [record(name, p=p, data="eurlex-4k", groups=groups)])
        for name, p in (("Parabel", 70.0), ("A method with an extraordinarily long name", 60.0))
    ]
    return study_page("All", "defrag reproduce all", [Findings(STUDIES["erasure"], found, ["No."])])


def a_demo():
    word = "libboost-serialization1.92.0-of-a-package-with-a-long-name"
    example = Example(f"alpha {word}", [word, "b"], [True, False], [False, True], [word])
    numbers = {"texts": 9.0, **dict.fromkeys(SHOWN, 40.0), "R@5 more": 50.0}
    row = Row("9 texts", single(numbers))
    made = Demo(7, [row], [numbers, {**numbers, "texts": 20.0}], [example] * 3, {"a": "b"})
    return demo_page(made, command="c")


PAGES = {
    "comparison": lambda: comparison_page("A report", results(), "defrag compare"),
    "study": a_study,
    "demo": a_demo,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("reports")
    for name, page in PAGES.items():
        (folder / f"{name}.html").write_text(page().to_html(), "utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in PAGES}


@pytest.fixture(scope="module")
def report(reports):
    return reports["comparison"]


@contextmanager
def opened(browser, address, screen):
    """Open a page, which must say nothing and fit the screen; give what it has requested, too."""
    width, scheme = screen
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    yield page, asked
    page.close()


SCREENS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_page_is_readable_in_browser(browser, reports, name, screen):
    with opened(browser, reports[name], screen) as (page, asked):
        assert asked == [reports[name]]
        drawn = page.locator("figure svg")
        assert drawn.count() >= 3
        for place in range(drawn.count()):
            box = drawn.nth(place).bounding_box()
            assert 250 <= box["width"] <= screen[0]
            assert box["height"] > 150
        assert page.evaluate(CONTRAST) == []


DOCS = Path(__file__).resolve().parents[2] / "docs"
MANUAL = ("index", "choosing", "experiments", "results/table2")
CONF = """
extensions = ["myst_parser"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
"""


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    """Build some pages, without the API reference, which takes long."""
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason="the manual's tools are not installed")
    from sphinx.application import Sphinx  # noqa: PLC0415 - may not be installed

    folder = tmp_path_factory.mktemp("manual") / "docs"
    (folder / "results").mkdir(parents=True)
    shutil.copy(DOCS.parent / "README.md", folder.parent)  # the first page shows a part of it
    (folder / "conf.py").write_text(CONF)
    for name in ("_static", "pictures"):
        shutil.copytree(DOCS / name, folder / name)
    shutil.copytree(DOCS / "results" / "records", folder / "results" / "records")
    write_pages(folder / "results")
    for page in MANUAL[:-1]:
        shutil.copy(DOCS / f"{page}.md", folder / f"{page}.md")
    built = folder / "build"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tools, which tests make errors
        Sphinx(folder, folder, built, built / "cache", "html", status=None, warning=None).build()
    return built


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", MANUAL)
def test_pages_of_manual_fit_browser_without_errors(browser, manual, name, screen):
    with opened(browser, (manual / f"{name}.html").as_uri(), screen) as (page, _):
        assert page.locator("h1").count() == 1
        assert page.locator("table, pre").count() >= 1


def test_headings_sort_tables(browser, report):
    page = browser.new_page()
    page.goto(report)
    table = page.locator("table").first

    def names():
        return [text.strip() for text in table.locator("tbody th").all_inner_texts()]

    before = names()
    assert before == ["slow <b>", "fast", "broken"]
    head = table.locator("thead th").nth(1)
    head.locator("button").click()
    assert names() == ["fast", "slow <b>", "broken"]
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert names() == ["slow <b>", "fast", "broken"]
    assert head.get_attribute("aria-sort") == "descending"
    table.locator("thead th").nth(0).locator("button").click()
    assert names() == ["broken", "fast", "slow <b>"]
    assert head.get_attribute("aria-sort") is None
    page.close()


def test_page_is_complete_without_scripts(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert page.locator("tbody tr").count() == 3 + 1 + 3 + 1
    assert page.locator("th button").count() == 0
    context.close()
