import re

import pytest

from defrag.lab import comparison
from defrag.lab.comparison import comparison_page, cost_plots
from defrag.lab.plots import NO_PLOTS, Series, bars, lines, log_ticks
from defrag.lab.records import Result
from tests.lab.made_up import record, results


@pytest.fixture(scope="module")
def page():
    pytest.importorskip("matplotlib")
    return comparison_page("A <report>", results(), "defrag compare a b")


def test_page_requests_nothing(page):
    html = page.to_html()
    assert "Content-Security-Policy" in html
    assert "default-src 'none'" in html
    # Names of XML namespaces are no requests.
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert not re.findall(r"https?://|@import|src=|<link|url\((?!#)", outside)


def test_page_has_runs_tables_and_figures(page):
    html = page.to_html()
    assert "<title>A &lt;report&gt;</title>" in html
    assert html.count("<table") == 4
    assert html.count("<svg") == html.count("<figure>") == 5
    for part in ("defrag compare a b", "fingerprint f00d", "5, of which 1 failed"):
        assert part in html
    assert html == comparison_page("A <report>", results(), "defrag compare a b").to_html()


def test_ids_inside_figures_are_unique(page):
    names = re.findall(r'\bid="([^"]+)"', page.to_html())
    assert len(names) == len(set(names))
    used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page.to_html())
    assert {a or b for a, b in used} <= set(names)


def test_figures_use_colours_of_page(page):
    figures = re.findall(r"<svg.*?</svg>", page.to_html(), re.DOTALL)
    colours = {c for figure in figures for c in re.findall(r"#[0-9a-f]{6}\b", figure)}
    assert colours <= {"#000000"}, colours  # of invisible patches
    assert all("var(--s1)" in figure and "currentColor" in figure for figure in figures)


def test_markdown_has_tables_and_best_methods(page):
    text = page.to_markdown()
    assert text.startswith("# A <report>\n")
    assert "| **59.50 ± 0.71** |" in text
    assert "## Best method by measure" in text
    assert "- first label right (P@1): slow <b>: 59.50" in text
    assert "- training time (CPU s): fast: 1.00" in text


def test_page_without_matplotlib_says_so(monkeypatch):
    monkeypatch.setattr(comparison, "can_plot", lambda: False)
    html = comparison_page("A", results(), "c").to_html()
    assert "<svg" not in html
    assert NO_PLOTS.replace("'", "&#x27;") in html


def test_figures_have_same_bytes_each_time():
    pytest.importorskip("matplotlib")
    series = [Series("a", [1, 2], [3, 4]), Series("b", [1, 2], [5, 1], ["n", "m"])]
    assert lines("t", "c", series, ("x", "y")).svg == lines("t", "c", series, ("x", "y")).svg
    drawn = bars("t", "c", series, ["p", "q"], ("x", "y")).svg
    assert "var(--s1)" in drawn
    assert "<pattern" in drawn  # the second series is hatched


@pytest.mark.slow
def test_many_methods_share_series_by_variant():
    pytest.importorskip("matplotlib")
    names = [f"{base}{variant}" for base in "ABCDEFG" for variant in ("", ", X")]
    found = [Result(name, "toy", [record(name, p=50.0 + place)])
             for place, name in enumerate(names)]  # fmt: skip
    plots = cost_plots(found)
    for plot in plots:
        assert [one.name for one in plot.series] == ["all features", "X"]
        assert [list(one.notes) for one in plot.series] == [list("ABCDEFG"), []]
    assert len(cost_plots(found[:12])[0].series) == 12
    # Figures of two data sets on one page have different names.
    other = [Result(one.method, "other", one.records) for one in found]
    assert not {plot.title for plot in plots} & {plot.title for plot in cost_plots(other)}


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.17, 3.1, [0.2, 0.5, 1, 2]),
        (0.023, 0.066, [0.025, 0.03, 0.04, 0.05, 0.06]),
        (6.5, 17.0, [7, 8, 9, 10, 12, 15]),
        (9.2, 9.4, [9.2, 9.3, 9.4]),
        (0.9, 1.5e6, [1, 100, 1e4, 1e6]),
    ],
)
def test_logarithmic_axis_has_few_round_numbers(low, high, ticks):
    assert log_ticks(low, high) == pytest.approx(ticks)
