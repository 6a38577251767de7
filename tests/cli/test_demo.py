"""``defrag demo``, on part of the bundled texts."""

import pytest

from tests.helpers.cli_running import run_well, told


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_quick_demo_trains_measures_and_explains(folder):
    said = told("demo", "--quick")
    assert [row["texts"] for row in said["models"]] == [400, 1200, 4000]
    for measure, least in (("P@1", 60), ("micro_F1", 30)):
        gains = [row[measure] for row in said["models"]]
        assert gains == sorted(gains)
        assert gains[-1] > least
    assert len(said["examples"]) == 10
    for example in said["examples"]:
        assert len(example["predicted"]) == len(example["right"]) == len(example["answers"]) == 5
    assert any(example["because"] for example in said["examples"])
    html = (folder / "defrag-demo.html").read_text(encoding="utf-8")
    for part in ("Ten packages", "Rare labels", "More texts", "✓", "✗", "held-out texts"):
        assert part in html
    assert html.count("<figure>") == 3
    again = told("demo", "--quick", "--report", "none")
    assert again["examples"] == said["examples"]
    other = told("demo", "--quick", "--report", "none", "--seed", "1")
    assert other["examples"] != said["examples"]


@pytest.mark.slow
def test_demo_marks_right_and_wrong_labels(folder):
    said = run_well("demo", "--quick", "--report", "page.html")
    for part in ("Models of more and more texts", "+ right, - wrong; bold: answers", " 4,000 "):
        assert part in said
    assert said.strip().splitlines()[-1].startswith("report: ")
    html = (folder / "page.html").read_text(encoding="utf-8")
    assert '<span class="right">✓ ' in html
    assert '<span class="wrong">✗ ' in html
