"""Results of studies: committed records, tables inside the manual, and pages of studies."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest

from defrag.lab.claims import CLAIMS, FAILS, HOLDS, PART, Known
from defrag.lab.comparison import FIGURES
from defrag.lab.records import Result, read_records, summarise, values_of
from defrag.lab.results import (
    Findings,
    checks,
    draw_picture,
    filled,
    findings_of,
    picture_points,
    results_page,
    study_page,
    study_tables,
    write_pages,
    write_records,
)
from defrag.lab.studies import STUDIES
from tests.lab.small import record

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "results"
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
         if "<!-- records " in path.read_text(encoding="utf-8")]  # fmt: skip
# What no study compares: explanations, retraining, texts, parts, servers. Their tables are printed
# by the script that the page names.
MEASURED_ELSEWHERE = ("annif", "distributed", "explain", "retraining", "shortlist", "text")
RECORDS = sorted((FOLDER / "records").glob("*.jsonl"))


def test_manual_has_results():
    assert RECORDS
    assert ROOT / "README.md" in PAGES
    assert {path.stem for path in RECORDS} <= set(STUDIES)


def test_every_study_with_records_has_page_of_its_numbers(tmp_path):
    shutil.copytree(FOLDER / "records", tmp_path / "records")
    pages = {page.stem: page.read_text(encoding="utf-8") for page in write_pages(tmp_path)}
    claims = filled((ROOT / "docs" / "claims.md").read_text(encoding="utf-8"), FOLDER)
    assert set(pages) == {path.stem for path in RECORDS}
    for claim in CLAIMS:
        row = f"| {claim.where} | {claim.says} | "
        assert row in claims
        measured, verdict = claim.judged(Known(FOLDER / "records"))
        assert f"{row}{measured} | **{verdict}** |" in claims
        assert verdict in {HOLDS, PART, FAILS} or claim.study in measured
    committed = (FOLDER / "texts.md").read_text(encoding="utf-8")  # the README names it
    assert committed == pages["texts"], "texts.md: run make results"
    for name, page in pages.items():
        done = [one for one in read_records(FOLDER / "records" / f"{name}.jsonl")
                if one["status"] == "done"]  # fmt: skip
        assert all(f"\n| {method} | " in page for method in {one["method"] for one in done})
    linked = {name for page in (ROOT / "docs").glob("*.md")
              for name in re.findall(r"results/(\w+)\.md\)", page.read_text("utf-8"))}  # fmt: skip
    linked |= set(re.findall(r"\((\w+)\.md\)", (FOLDER / "index.md").read_text("utf-8")))
    assert linked == set(pages) | {"index"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_tables_of_records_are_made(page):
    text = page.read_text(encoding="utf-8")
    tables = filled(text, FOLDER).count("|---|")
    assert tables >= text.count("|---|") + text.count("-->\n<!-- end of records")
    if page.stem == "README":
        assert filled(text, FOLDER) == text, "run make results"


def test_numbers_of_manual_come_from_records_or_named_benchmark():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        typed = re.sub(r"<!-- records .*?<!-- end of records -->", "", text, flags=re.DOTALL)
        rows = [row for row in typed.splitlines() if row.lstrip().startswith("|")]
        measured = [row for row in rows if len(re.findall(r"\|[ *]*\d*\.\d", row)) > 1]
        assert not measured or page.stem in MEASURED_ELSEWHERE, f"{page.name}: {measured[0]}"
    for name in MEASURED_ELSEWHERE:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert re.search(r"benchmarks/bench_\w+\.py|`annif eval", text), name


def test_picture_equals_records():
    svg = (ROOT / "docs" / "pictures" / "texts.svg").read_text("utf-8")
    assert f"<desc>{json.dumps(picture_points(FOLDER))}</desc>" in svg
    assert svg == draw_picture(FOLDER)
    wanted = {"defrag, default", "defrag, DiSMEC", "BERT-base (Chalkidis et al., 2019)"}
    assert wanted <= set(picture_points(FOLDER))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_records_are_of_finished_runs_on_named_data(path):
    records = read_records(path)
    names = {line.name for line in STUDIES[path.stem].lines}
    assert {one["method"] for one in records} <= names
    fingerprints = {(one["data"]["name"], one["data"]["fingerprint"]) for one in records}
    assert len(dict(fingerprints)) == len(fingerprints)
    assert any(one["status"] == "done" for one in records)


def test_all_records_have_one_code():
    # Those of texts are made by commands of their own: other programs take hours.
    groups = {"texts": 1, "presets": 2, "presets_rows": 2}
    for group in range(3):
        paths = [path for path in RECORDS if groups.get(path.stem, 0) == group]
        records = [one for path in paths for one in read_records(path)]
        assert len({one.get("versions", {}).get("code") for one in records}) == 1


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_differences_from_published_numbers_are_explained(path):
    findings = findings_of(STUDIES[path.stem], read_records(path))
    for check in checks(findings.results):
        assert "OUTSIDE" not in check.verdict or check.published.reason, check.sentence()


FLOORS = [
    ("eurlex-4k", "LabelTree, 1 tree, Focus", "PECOS", {"train_cpu": 15, "predict_ms": 9}),
    ("eurlex-4k", "LabelTree, 3 trees, Focus", "omikuji", {"train_cpu": 15}),
    ("debian", "LabelTree, 1 tree, Focus", "PECOS", {"train_cpu": 10, "predict_ms": 8}),
    ("debian", "LabelTree, 3 trees, Focus", "omikuji", {"train_cpu": 15}),
    ("tibkat-core", "LabelTree, 1 tree, Focus", "PECOS", {"train_cpu": 15, "predict_ms": 9}),
    ("tibkat-core", "LabelTree, 3 trees, Focus", "omikuji", {"train_cpu": 15}),
]
"""How many times as fast as other programs, at least, by the least time over seeds."""


@pytest.mark.parametrize(("data", "ours", "theirs", "floors"), FLOORS)
def test_records_beside_other_programs_keep_floors(data, ours, theirs, floors):
    done = [one for one in read_records(FOLDER / "records" / "peers.jsonl")
            if one["status"] == "done"]  # fmt: skip
    assert len({(str(one["versions"]), str(one["machine"])) for one in done}) == 1
    mine, other = (
        [one for one in done if one["data"]["name"] == data and one["method"] == name]
        for name in (ours, theirs)
    )
    for key, least in floors.items():
        took = [min(values_of(one)[key] for one in runs) for runs in (mine, other)]
        assert took[1] / took[0] >= least, key
    for metric in ("P@1", "P@3", "P@5"):
        assert summarise(mine)[metric].mean >= summarise(other)[metric].mean


def test_methods_are_in_order_of_study(tmp_path):
    study = STUDIES["table3"]
    kept = [record(name, data="debian") for name in ("REFRAG block", "Parabel")]
    findings = findings_of(study, kept)
    assert [one.method for one in findings.results] == ["Parabel", "REFRAG block"]
    write_records(tmp_path, findings)
    again = read_records(tmp_path / "records" / "table3.jsonl")
    assert [one["method"] for one in again] == ["Parabel", "REFRAG block"]
    page = results_page(study, again)
    assert page.startswith("# Re-ranking for rare labels\n")
    assert page.index("| Parabel |") < page.index("| REFRAG block |")
    assert "defrag reproduce table3" in page
    assert "- No record on eurlex-4k: all methods." in page
    assert "- No record on debian: PfastreXML; REFRAG as printed; REFRAG cosine; " in page


@pytest.mark.slow
def test_remarks_are_stored_beside_records(tmp_path):
    kept = [record("Parabel", data="debian")]
    for name, remarks in (("table3", ["eurlex-4k is left out: gone"]), ("rare", ["late"])):
        write_records(tmp_path, findings_of(STUDIES[name], kept, remarks))
    pages = {page.stem: page.read_text(encoding="utf-8") for page in write_pages(tmp_path)}
    assert "\n- eurlex-4k is left out: gone\n" in pages["table3"]
    assert "No record on eurlex-4k" not in pages["table3"]
    assert "\n- late\n" in pages["rare"]


BEGIN, END = "<!-- records ", "<!-- end of records -->"


@pytest.fixture
def folder(tmp_path):
    kept = [record("PECOS", data="eurlex-4k", p=82.0, train=20.0),
            record("LabelTree, 1 tree", data="eurlex-4k", p=82.3, train=2.0)]  # fmt: skip
    write_records(tmp_path, findings_of(STUDIES["peers"], kept))
    return tmp_path


def block(what, old="old\n"):
    return f"before\n\n{BEGIN}{what} -->\n{old}{END}\n\nafter\n"


def test_filled_replaces_tables_between_comments_only(folder):
    what = "peers | eurlex-4k | P@1,train_cpu"
    text = filled(block(what), folder)
    assert text.startswith(f"before\n\n{BEGIN}{what} -->\n\n|  | P@1 | training, s |\n")
    assert text.endswith(f"|\n\n{END}\n\nafter\n")
    # The order is that of the study.
    assert text.index("| LabelTree, 1 tree | 81.30 | 2.00 |") < text.index("| PECOS |")
    assert "old" not in text
    assert filled(text, folder) == text


def test_comment_chooses_and_orders_methods(folder):
    text = filled(block("peers | eurlex-4k | P@1 | PECOS"), folder)
    assert "PECOS" in text.split("-->")[1]
    assert "LabelTree" not in text


def test_comment_may_ask_for_other_tables(folder):
    assert "| PECOS | 82.0 |" in filled(block("peers | eurlex-4k | erasure | PECOS"), folder)
    assert "| PECOS | 40.0 |" in filled(block("peers | eurlex-4k | rare | PECOS"), folder)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("table9 | eurlex-4k | P@1", "there are no records of 'table9'"),
        ("table1 | eurlex-4k | P@1", "there are no records of 'table1'"),
        ("peers | debian | P@1", "no record on 'debian'"),
        ("peers | eurlex-4k | P@1 | Nobody", "no record of 'Nobody' on 'eurlex-4k'"),
    ],
)
def test_comment_with_unknown_words_is_refused(folder, what, message):
    with pytest.raises(ValueError, match=message):
        filled(block(what), folder)


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
