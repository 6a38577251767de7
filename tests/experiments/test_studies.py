from __future__ import annotations

import dataclasses

import pytest

from defrag import DiSMEC, LabelTree, registry
from defrag.experiments import Store
from defrag.experiments.job import MEASURES
from defrag.experiments.planning import plan
from defrag.experiments.published import PUBLISHED
from defrag.experiments.specs import describe
from defrag.experiments.studies import STUDIES, Line
from defrag.io.datasets import _FOLDERS
from defrag.report import COLUMNS
from defrag.report.figures import FIGURES
from tests.experiments.small import small_corpus


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_studies_are_well_formed(study):
    methods = [line.method() for line in study.lines]
    names = [method.name for method in methods]
    assert len(set(names)) == len(names)
    specs = [str(method.spec) for method in methods]
    assert len(set(specs)) == len(specs), "a method is there twice"
    assert set(study.columns) <= set(COLUMNS)
    assert set(study.figures) <= set(FIGURES)
    assert set(study.measures) <= set(MEASURES)
    assert set(study.data) <= {"debian", *_FOLDERS}
    assert "d0 = 8" in " ".join(names) or study.name not in {"tradeoffs", "ndcg"}


def test_table2_has_every_classifier():
    words = {line.classifier.partition(":")[0] for line in STUDIES["table2"].lines}
    assert words == {entry.word for entry in registry.entries("classifier")}


def test_published_numbers_are_about_methods_that_are_run():
    run = {(place, line.name) for study in STUDIES.values()
           for place in study.data for line in study.lines}  # fmt: skip
    assert {(one.data, one.method) for one in PUBLISHED} <= run
    assert all(0 < one.values["P@1"] < 100 for one in PUBLISHED)


def small_study(**changes):
    lines = [Line("cheap", "label-tree"), Line("dear", "dismec")]
    return dataclasses.replace(STUDIES["table2"], lines=lines, data=("small",), **changes)


def test_a_plan_has_every_method_and_seed():
    corpus = small_corpus()
    planned = plan(small_study(seeds=2), corpus)
    assert [(job.method, job.seed) for job in planned.jobs] == [
        ("cheap", 0), ("cheap", 1), ("dear", 0), ("dear", 1),
    ]  # fmt: skip
    assert planned.remarks == []
    assert planned.corpus is corpus
    assert len(plan(small_study(), corpus, seeds=5).jobs) == 10


def test_what_is_too_slow_is_left_out_and_said(tmp_path, monkeypatch):
    corpus = small_corpus()
    cost = LabelTree().training_cost(corpus.train.X, corpus.train.Y)
    monkeypatch.setattr(DiSMEC, "training_cost", lambda *_: cost.times(1e6))
    planned = plan(small_study(seeds=1), corpus, budget=3 * cost.seconds)
    assert [job.method for job in planned.jobs] == ["cheap"]
    (remark,) = planned.remarks
    assert remark.startswith("dear on small is left out: training is estimated at ")
    # A record that is there is shown whatever the budget.
    store = Store(tmp_path)
    (job,) = [one for one in plan(small_study(seeds=1), corpus).jobs if one.method == "dear"]
    assert job.estimator == describe(DiSMEC())
    store.append({**job.to_json(), "status": "failed", "error": "once"})
    kept = plan(small_study(seeds=1), corpus, budget=3 * cost.seconds, store=store)
    assert [one.method for one in kept.jobs] == ["cheap", "dear"]
    assert kept.remarks == []


def test_large_data_are_sampled_and_said():
    corpus = small_corpus()
    study = small_study(samples={"small": 120}, seeds=1)
    planned = plan(study, corpus, budget=1e9)
    assert planned.corpus.facts.points == 120
    assert planned.remarks == ["small: 120 of 200 training points"]
    assert planned.jobs[0].data == planned.corpus.facts
    assert plan(study, corpus).corpus is corpus
