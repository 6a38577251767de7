import dataclasses

import pytest

from defrag.lab.comparison import FIGURES
from defrag.lab.records import Result
from defrag.lab.results import Findings, checks, study_page, study_tables
from defrag.lab.studies import STUDIES
from tests.lab.made_up import record

GROUPS = {"n_clusters": 5, "cpu": 0.2, "sizes": {"1": 3, "8": 2}, "quality": {"LMI": 0.4}}


def result(method, p, data="eurlex-4k"):
    return Result(method, data, [record(method, p=p + 1, data=data, groups=GROUPS)])


def findings(name, *results):
    return Findings(STUDIES[name], results, ["A remark."])


def test_published_rows_are_below_ours():
    table, *_ = study_tables(findings("table2", result("Parabel", 82.0), result("LabelTree", 83.0)))
    names = [row.name for row in table.rows]
    assert names == [
        "Parabel", "Parabel: XMC repository, 2019", "Parabel: the paper", "LabelTree",
    ]  # fmt: skip
    assert [row.published for row in table.rows] == [False, True, True, False]


@pytest.mark.parametrize(
    ("p", "verdict", "reason"), [(78.2, "within 1.0", False), (81.0, "OUTSIDE 1.0", True)]
)
def test_differences_beyond_band_are_explained(p, verdict, reason):
    (check,) = checks([result("Parabel, DEFRAG-X", p)])
    assert check.verdict == verdict
    assert check.difference == pytest.approx(p - 78.97)
    assert verdict in check.sentence()
    assert ("10/9" in check.sentence()) == reason


def test_curves_become_tables():
    two = [Result("FIAT", "eurlex-4k", [record("FIAT", seed, p=p, data="eurlex-4k")
                                       for seed, p in ((0, 70.0), (1, 72.0))])]  # fmt: skip
    tables = study_tables(findings("erasure", result("Parabel", 60.0), *two))
    assert [table.title.partition(", ")[2] for table in tables[1:]] == [
        "P@1 when features are missing",
        "macro P@1 from frequent to rare labels",
    ]
    assert "| FIAT | **71.0 ± 1.4** | **51.0 ± 1.4** |" in tables[1].to_markdown()
    assert "| Parabel | 40.0 | 5.0 |" in tables[2].to_markdown().replace("**", "")


def test_published_numbers_of_other_data_are_not_compared():
    assert checks([result("Parabel", 82.0, data="eurlex-4k, 100 points")]) == []


@pytest.mark.slow
def test_page_lists_left_out_runs_and_differences():
    page = study_page("All", "defrag reproduce all", [findings("table2", result("Parabel", 70.0))])
    html, text = page.to_html(), page.to_markdown()
    assert "A remark." in html
    assert "different by more than their band: 2" in html
    assert '<li class="warning">✗ Parabel on eurlex-4k' in html
    assert "1 study, 1 run." in text
    assert "defrag reproduce all" in text


@pytest.mark.slow
def test_every_kind_of_figure_is_drawn():
    pytest.importorskip("matplotlib")
    sizes = [result(f"{name}, d0 = {size}", p) for name in ("X", "XY")
             for size, p in ((4, 60.0), (8, 55.0))]  # fmt: skip
    for kind, draw in FIGURES.items():
        plots = draw(sizes)
        assert plots, kind
        for plot in plots:
            assert plot.svg.startswith("<svg viewBox=")
            assert len(plot.series) >= 2
    tradeoff = FIGURES["tradeoff"](sizes)
    assert len(tradeoff) == 5
    assert tradeoff[0].series[0].notes == ["4", "8"]
    assert tradeoff[0].series[0].x == pytest.approx([0.8, 0.8])
    assert FIGURES["erasure"](sizes)[0].series[0].y == [61.0, 41.0]


def test_page_is_written_despite_failed_runs():
    failed = Result("ITDC, 512", "eurlex-4k", [record(status="failed", error="took too long")])
    study = dataclasses.replace(STUDIES["table1"], figures=tuple(FIGURES))
    html = study_page("t", "c", [Findings(study, [failed])]).to_html()
    assert "failed: took too long" in html


@pytest.mark.slow
def test_page_has_versions_of_other_programs():
    spec = {"kind": "pecos", "parameters": {"groups": None}}
    kept = Result("PECOS", "toy", [record("PECOS", data="toy", estimator=spec, version="1.2.8")])
    page = study_page("Peers", "defrag reproduce peers", [Findings(STUDIES["peers"], [kept])])
    assert "- other programs: pecos 1.2.8\n" in page.to_markdown()
