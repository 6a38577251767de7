"""Every item of the paper is in the table of items, and its command runs on small data."""

import dataclasses
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from defrag.io import write_xmc
from defrag.io.datasets import REPOSITORY
from defrag.lab import studies
from defrag.lab.claims import CLAIMS, UNKNOWN, Known, instances
from defrag.lab.peers import PEERS_PYTHON, missing_peer
from defrag.lab.records import read_records
from tests.data import make_data
from tests.helpers.cli_running import run_warned
from tests.helpers.processes import environment


class Item(NamedTuple):
    label: str
    what: str
    command: str
    verdict: str


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
ROWS = PAGE.partition("| in the source |")[2].splitlines()[2:]
ITEMS = [Item(*(cell.strip(" `") for cell in row.strip("|").split("|")))
         for row in ROWS if row.startswith("|")]  # fmt: skip
LABELS = set(
    """
    algo:defrag algo:kmeans algo:ndgc app:clustering app:method app:method-ensemble fig:agglo
    fig:app-compare-class-time fig:app-compare-feature-dim fig:app-compare-model-size
    fig:app-compare-test-time fig:app-compare-total-time fig:app-ndcg fig:app-noise fig:app-rerank
    fig:fig1 fig:fig2 lem:approx sec:analysis sec:formulation sec:method tab:clustering tab:metrics
    tab:prop-metrics tab:statistics thm:defragx thm:defragxy
    """.split()  # noqa: SIM905 - a list of words
)
"""The labels of the paper's source; ``WITHOUT`` are those of text only, or of repetitions."""
WITHOUT = {"app:exps", "app:exps-supp", "app:proofs", "app:proofs-defragxy", "replem:approx",
           "repthm:defragx", "sec:exps", "sec:intro", "sec:related"}  # fmt: skip
NAMED = ("DEFRAG-X:", "DEFRAG-XY:", "DEFRAG-N:", "DEFRAG-N without", "DEFRAG-G:", "FIAT: C x",
         "FIAT: missing", "REFRAG:", "averaging", "simplified bound", "quarter of the points",
         )  # fmt: skip
"""What the text defines without a label."""


def test_every_item_of_the_paper_is_in_the_table():
    assert {one.label for one in ITEMS} == LABELS
    assert len({(one.label, one.what) for one in ITEMS}) == len(ITEMS)
    for name in NAMED:
        assert sum(name in one.what for one in ITEMS) == 1, name
    for one in ITEMS:
        assert all(one), one
        assert one.command.startswith(("defrag ", "python -c ")), one


def test_labels_are_those_of_the_source(data_folder):
    source = data_folder.parent / "paper.tex"
    if not source.is_file():
        pytest.skip(f"no {source}")
    found = set(re.findall(r"\\label\{([^}]*)\}", source.read_text(encoding="utf-8")))
    assert found == LABELS | WITHOUT


def test_every_claim_has_a_study_and_is_judged(tmp_path):
    assert {claim.study for claim in CLAIMS} <= set(studies.STUDIES)
    judged = [claim.judged(Known(tmp_path)) for claim in CLAIMS]
    named = [claim.study in text for claim, (text, verdict) in zip(CLAIMS, judged, strict=True)
             if verdict == UNKNOWN]  # fmt: skip
    assert all(named)
    assert len(named) == len(CLAIMS) - 1  # the instances of the paper's own table are counted
    assert len(list(instances())) == 21


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make small files in the forms and under the names of the repository."""
    folder = tmp_path_factory.mktemp("paper")
    X, Y = make_data(n=300)
    write_xmc(folder / "train.txt", X[:200], Y[:200])
    words = "".join(f"w{i} {i % 7} {i % 5}\n" for i in range(X.shape[1]))
    (folder / "words.txt").write_text(words)
    (folder / "vocabulary.txt").write_text("".join(f"w{i}\n" for i in range(X.shape[1])))
    for name in ("wiki10-31k", "wikipedia-500k"):
        one = REPOSITORY[name]
        (folder / one.folder).mkdir()
        for part, rows in (("train", slice(200)), ("test", slice(200, 300))):
            path = folder / one.folder / f"{one.prefix}{part}.txt"
            write_xmc(path, X[rows], Y[rows])
            path.write_bytes(path.read_bytes().replace(b"\n", b" \r\n"))
    return folder


@pytest.fixture
def few(monkeypatch, place):
    """Leave the first and the last method of each study on a data set, with few groups."""
    for name, study in list(studies.STUDIES.items()):
        lines = [dataclasses.replace(one, groups=one.groups.replace("8192", "16"), seeds=None)
                 for one in study.lines if not one.data or "wiki10-31k" in one.data]  # fmt: skip
        lines = [lines[0], *(one for one in lines if one.name == "Parabel, DEFRAG-X"), lines[-1]]
        changed = dataclasses.replace(study, lines=lines, seeds=1, first_seeds=None)
        monkeypatch.setitem(studies.STUDIES, name, changed)
    monkeypatch.chdir(place)
    monkeypatch.setenv("DEFRAG_DATA", str(place))
    monkeypatch.setenv(PEERS_PYTHON, "/nowhere/python")
    missing_peer.cache_clear()
    yield
    missing_peer.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("command", sorted({one.command for one in ITEMS}))
def test_command_runs_on_small_data(command):
    program, *words = shlex.split(command)
    if program == "python":
        done = subprocess.run([sys.executable, *words], env=environment(), capture_output=True,
                              text=True, check=True)  # fmt: skip
        assert "wiki10-31k" in done.stdout or "change" in done.stdout
        return
    result = run_warned(*words)
    if words[0] == "reproduce":
        assert "failed" not in result.stdout + result.stderr
        assert re.search(r"P@1 \d+\.\d\d, training", result.stderr)  # without a terminal, too
        if words[1] == "table2" and "wiki10-31k" in words:
            assert re.search(r"DEFRAG-X on wiki10-31k: P@1 .*, the paper 84.99", result.stdout)
        if "wikipedia-500k" in words:
            kept = read_records("defrag-records/records.jsonl")
            of_data = [one for one in kept if one["data"]["name"] == "wikipedia-500k"]
            assert {(one["data"]["A"], one["data"]["B"]) for one in of_data} == {(0.5, 0.4)}
            grouped = [one["estimator"]["parameters"] for one in of_data
                       if one["method"] == "Parabel, DEFRAG-X"]  # fmt: skip
            assert [one["per_member"] for one in grouped] == [False]
