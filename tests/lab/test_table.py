import io

import pytest
from rich.console import Console

from defrag.lab.page import COLUMNS, Row, Table, table_of
from defrag.lab.records import Statistic
from tests.lab.made_up import results


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
