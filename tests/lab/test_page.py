"""Reports: tables, gains and losses by label, and the page of a comparison."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from defrag.io import Split
from defrag.lab import comparison
from defrag.lab.comparison import changes, comparison_page, cost_plots, label_plots, label_tables
from defrag.lab.measures import run
from defrag.lab.page import COLUMNS, Row, Section, Table, table_of
from defrag.lab.plots import NO_PLOTS, Series, bars, lines, log_ticks
from defrag.lab.records import Result, Statistic
from defrag.registry import find
from defrag.specs import describe
from tests.data import make_data
from tests.lab.small import record, results


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


@pytest.fixture
def table():
    return table_of("toy", results(), ["P@1", "train_cpu", "model_bytes", "dimension"])


def test_best_is_largest_or_smallest(table):
    assert table.best(COLUMNS["P@1"]) == {0}
    assert table.best(COLUMNS["train_cpu"]) == {1}
    assert table.best(COLUMNS["model_bytes"]) == {0}
    assert table.best(COLUMNS["dimension"]) == set()


def test_equal_formatted_numbers_are_both_best():
    rows = [Row(name, {"P@1": Statistic(value)}) for name, value in
            (("a", 50.001), ("b", 50.004), ("c", 49.9))]  # fmt: skip
    assert Table("t", [COLUMNS["P@1"]], rows).best(COLUMNS["P@1"]) == {0, 1}


def test_published_numbers_are_never_best():
    paper = Row("theirs", {"P@1": Statistic(99.0)}, published=True)
    ours = [Row(name, {"P@1": Statistic(value)}) for name, value in (("a", 1), ("b", 2))]
    table = Table("t", [COLUMNS["P@1"]], [paper, *ours])
    assert table.best(COLUMNS["P@1"]) == {2}
    assert "| *theirs* | 99.00 |" in table.to_markdown()
    assert '<tr class="published"><th scope="row">theirs</th>' in table.to_html()


def test_markdown_marks_best_in_bold(table):
    lines = table.to_markdown().splitlines()
    assert lines[0] == "|  | P@1 | training, s | model, MB | features |"
    assert lines[2] == "| slow <b> | **59.50 ± 0.71** | 9.00 ± 0.00 | **1.0 ± 0.0** | 30 ± 0 |"
    assert lines[4] == "| broken | failed: no \\| memory |  |  |  |"


def test_html_is_escaped_and_marks_best_with_star(table):
    html = table.to_html()
    assert "slow &lt;b&gt;" in html
    assert "<b>" not in html
    assert '<strong>59.50<span class="mark" title="best">★</span></strong>' in html
    assert 'data-value="59.5"' in html
    assert html.count("★") == 3


def test_terminal_marks_best_without_colour(table):
    out = io.StringIO()
    Console(file=out, width=100).print(table.to_rich())
    said = out.getvalue()
    assert "59.50*" in said
    assert "1.00*" in said
    assert "failed: no | memory" in said


def test_json_has_means_and_deviations(table):
    first, _, last = table.to_json()
    assert first["mean"]["P@1"] == 59.5
    assert first["deviation"]["P@1"] == pytest.approx(0.7071, abs=1e-4)
    assert first["runs"] == 2
    assert last["note"] == "failed: no | memory"


def runs(name, *values):
    return Row(name, {"P@1": Statistic(sum(values) / len(values), 1.0, len(values), values)})


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ([(5, 6, 7), (4, 5, 6)], {0}),  # by one with every seed
        ([(5, 6, 7), (6, 5, 6)], set()),
        ([(5,), (4,)], set()),
        ([(5, 6, 7), (4,)], {0}),  # a file of predictions
        ([(5, 6, 7), (4, 5)], set()),
        ([(5, 6, 7), (4, 5, 6), (6, 5, 6)], set()),
    ],
)
def test_clear_best_is_beyond_two_standard_errors(values, best):
    rows = [runs(str(place), *one) for place, one in enumerate(values)]
    assert Table("t", [COLUMNS["P@1"]], rows, clear=True).best(COLUMNS["P@1"]) == best
    assert Table("t", [COLUMNS["P@1"]], rows).best(COLUMNS["P@1"]) != set()


def test_csv_and_latex_have_all_rows():
    table = Table("t", [COLUMNS["P@1"]], [runs("a_b, 50%", 5, 6, 7), runs("b", 4, 5, 6)])
    assert table.to_csv() == 'method,runs,P@1,P@1 deviation\n"a_b, 50%",3,6.0,1.0\nb,3,5.0,1.0\n'
    latex = table.to_latex()
    assert r"a\_b, 50\% & \textbf{6.00 $\pm$ 1.00} \\" in latex
    assert latex.startswith("\\begin{tabular}{lr}\n\\toprule\nmethod & P@1 ")


def result(method, *hits):
    labels = {"ids": [1, 4, 6, 7], "points": [100, 50, 40, 9]}  # the last one has too few
    hits = [[10 * n for n in one] + [9 * (method == "a")] for one in hits]
    runs = [record(method, seed, labels={**labels, "hits": one}) for seed, one in enumerate(hits)]
    return Result(method, "toy", runs)


def test_gains_come_first_and_losses_last():
    found = changes(result("a", [5, 5, 1]), result("b", [6, 1, 3]))
    assert [(one.label, one.points) for one in found] == [(6, 40), (1, 100), (4, 50)]
    assert [one.difference for one in found] == pytest.approx([50.0, 10.0, -80.0])
    assert changes(result("a", [5, 5, 1]), result("b", [6, 1, 3]), most=1) == [found[0], found[2]]
    assert changes(result("a", [5, 5, 1]), result("b", [5, 5, 1])) == []


def test_gains_are_means_over_seeds():
    (one,) = changes(result("a", [4, 5, 1], [6, 5, 1]), result("b", [7, 5, 1]))
    assert (one.label, one.before, one.after) == (1, 50.0, 70.0)


def test_labels_without_counts_give_no_table():
    counted, other = result("a", [5, 5, 1]), Result("b", "toy", [record("b", labels=None)])
    assert changes(counted, other) == []
    assert label_tables([counted, other]) == []


def test_tables_and_plots_show_label_names():
    pytest.importorskip("matplotlib")
    both = [result("a", [5, 5, 1]), result("b", [6, 1, 1])]
    (table,) = label_tables(both, np.array(list("tuvwxyz"), dtype=object))
    assert table.title == "toy: labels that gain and lose most, b against a"
    assert "| u | 100 | 50.0 | 60.0 | 10.0 |" in table.to_markdown()
    assert "| x | 50 | 100.0 | 20.0 | -80.0 |" in table.to_markdown()
    assert '<th scope="col">label</th>' in table.to_html()
    assert "best of" not in Section("Labels", (), [table]).to_html()
    (plot,) = label_plots(both)
    assert "label 4" in plot.svg
    assert plot.series[0].y == pytest.approx([10.0, -80.0])


def test_run_counts_hits_by_label():
    X, Y = make_data(n=120)
    half = Split(X, Y)
    job = {"estimator": describe(find("label-tree").estimator()()), "seed": 0, "n_jobs": 1,
           "measures": ["ranking", "labels"]}  # fmt: skip
    values, model, _ = run(job, half, half)
    labels = model.predict_topk(X, 5)[0]
    dense = Y.toarray().astype(bool)
    expected = [
        sum(label in row for row in labels[dense[:, label]]) for label in values["labels"]["ids"]
    ]
    assert values["labels"]["hits"] == expected
    assert values["labels"]["points"] == dense.sum(axis=0)[values["labels"]["ids"]].tolist()
    assert values["labels"]["ids"] == np.flatnonzero(dense.any(axis=0)).tolist()
