"""Pages of the manual in a browser: no error, no overflow, light and dark."""

import shutil
import warnings
from pathlib import Path

import pytest

from defrag.lab.results import write_pages

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("index", "choosing", "experiments", "results/table2")
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
    for page in PAGES[:-1]:
        shutil.copy(DOCS / f"{page}.md", folder / f"{page}.md")
    built = folder / "build"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tools, which tests make errors
        Sphinx(folder, folder, built, built / "cache", "html", status=None, warning=None).build()
    return built


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_pages_of_manual_fit_browser_without_errors(browser, manual, name, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((manual / f"{name}.html").as_uri())
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").count() == 1
    assert page.locator("table, pre").count() >= 1
    page.close()
