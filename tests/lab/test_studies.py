import dataclasses
from collections import Counter

import numpy as np
import pytest

from defrag import DiSMEC, LabelTree, registry
from defrag.agglomeration import Tight
from defrag.classifiers._support import Cost
from defrag.io.datasets import _FOLDERS, REPOSITORY
from defrag.lab import Store, planning, texts
from defrag.lab.comparison import FIGURES
from defrag.lab.page import COLUMNS
from defrag.lab.peers import run_seconds
from defrag.lab.planning import Plan, cut, plan, schedule
from defrag.lab.published import PUBLISHED
from defrag.lab.records import MEASURES, collect
from defrag.lab.runs import attempt
from defrag.lab.studies import STUDIES, Line, suited
from defrag.lab.texts import NGRAM_SETS, TEXT_SETS
from defrag.specs import describe
from tests.lab.small import small_corpus


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_studies_are_well_formed(study):
    names = [line.name for line in study.lines]
    assert len(set(names)) == len(names)
    specs = [str(line.spec()) for line in study.lines]
    assert len(set(specs)) == len(specs), "a method is there twice"
    assert set(study.columns) <= set(COLUMNS)
    assert set(study.figures) <= set(FIGURES)
    assert set(study.measures) <= set(MEASURES)
    known = {"debian", *(TEXT_SETS if study.texts else (*_FOLDERS, *NGRAM_SETS))}
    assert set(study.data) <= known
    assert "d0 = 8" in " ".join(names) or study.name not in {"tradeoffs", "ndcg"}


def test_ngrams_of_texts_are_redundant(monkeypatch):
    monkeypatch.setattr(texts, "_NGRAM_TEXTS", 300)
    monkeypatch.setattr(texts, "_NGRAM_LABELS", 20)
    corpus = texts.ngram_corpus("debian-ngrams")
    assert corpus.facts.labels == 20
    assert 100 < corpus.facts.points <= 300  # those with a label
    assert np.diff(corpus.train.Y.indptr).min() == 1
    assert corpus.train.X.nnz > 100 * corpus.facts.points
    assert Tight(random_state=0).fit(corpus.train.X).saving_ > 0.3
    assert corpus.facts == texts.ngram_corpus("debian-ngrams").facts
    (planned,) = plan(STUDIES["ngrams"], corpus, seeds=1)
    words = {line.classifier.partition(":")[0] for line in STUDIES["ngrams"].lines}
    assert words >= {"label-tree", "dismec", "ppd-sparse", "proxml", "sleec", "leml", "annexml",
                     "fastxml", "parabel"}  # fmt: skip
    tried = {"LabelTree", "LabelTree, tight and Focus", "LEML, DEFRAG-X"}
    pairs = [(job, attempt(job.to_json(), corpus.train, corpus.test)[0])
             for job in planned.jobs if job.method in tried]  # fmt: skip
    found = collect((job.method, "", {**job.to_json(), **result, "finished": "2026-01-01"})
                    for job, result in pairs)  # fmt: skip
    assert [one.method for one in found] == [line.name for line in STUDIES["ngrams"].lines
                                             if line.name in tried]  # fmt: skip
    assert found[1].statistics["dimension"].mean < found[0].statistics["dimension"].mean
    *_, front = FIGURES["pareto"](found)[0].series
    assert front.front
    assert 1 <= len(front.x) <= len(tried)
    assert (list(front.x), list(front.y)) == (sorted(front.x), sorted(front.y))


def test_table2_has_every_classifier():
    words = {line.classifier.partition(":")[0] for line in STUDIES["table2"].lines}
    assert words == {entry.word for entry in registry.entries("classifier")}
    known = {"debian", "eurlex-4k", "tibkat-core", "yso-finna-en"}
    assert set(STUDIES["peers"].data) == set(STUDIES["table2"].data) == known


def test_published_numbers_have_methods_of_studies():
    run = {(place, line.name) for study in STUDIES.values()
           for place in (*study.data, *study.further) for line in study.lines
           if not line.data or place in line.data}  # fmt: skip
    assert {(one.data, one.method) for one in PUBLISHED if one.method} <= run
    keys = ("P@1", "PSP@1", "nDCG@5")
    assert all(0 < next(one.values[k] for k in keys if k in one.values) < 100 for one in PUBLISHED)
    table2 = [one for one in PUBLISHED if one.data in REPOSITORY and "groups of" not in one.method
              and "512" not in one.method and "8192" not in one.method]  # fmt: skip
    paper = [one for one in table2 if one.source not in {"XMC repository, 2019", "craftml-rs"}]
    counts = Counter(one.data for one in paper if "P@1" in one.values)
    # Table 2, without its four rows of the repository's page.
    assert counts == {"eurlex-4k": 12, "wiki10-31k": 11, "amazon-670k": 9, "amazoncat-13k": 7,
                      "delicious-200k": 4, "wikilshtc-325k": 7, "wikipedia-500k": 5,
                      "amazon-3m": 3}  # fmt: skip
    parabel = next(one for one in paper if (one.data, one.method) == ("amazon-3m", "Parabel"))
    assert parabel.values == {"P@1": 47.42, "P@3": 44.66, "P@5": 42.55, "train_cpu": 11304.0,
                              "learn_cpu": 11304.0, "predict_ms": 0.73,
                              "model_bytes": 31.43e9}  # fmt: skip


def test_methods_have_constants_and_clusterings_of_their_data():
    line = next(one for one in STUDIES["table3"].lines if one.name == "REFRAG identity")
    spec, wiki = line.spec(), {"A": 0.5, "B": 0.4}
    found = suited(spec, "wikipedia-500k, 1,000 points", wiki)["parameters"]
    assert (found["A"], found["B"]) == (0.5, 0.4)
    assert suited({"kind": "refrag", "parameters": {"A": 0.7, "B": 1.5}}, "wikilshtc-325k", wiki)[
        "parameters"] == {"A": 0.7, "B": 1.5}  # fmt: skip
    grouped = next(one for one in STUDIES["table2"].lines if one.name == "Parabel, DEFRAG-X")
    for place, own in (("wikipedia-500k", False), ("amazon-3m", False), ("wiki10-31k", True)):
        of_groups = suited(grouped.spec(), place, {"A": 0.6, "B": 2.6})["parameters"]
        assert of_groups["per_member"] is own
    forest = Line("f", "pfastrexml", "x").spec()
    inner = suited(forest, "amazon-3m", {"A": 0.6, "B": 2.6})["parameters"]["base"]["parameters"]
    assert (inner["A"], inner["B"]) == (0.6, 2.6)


def test_seeds_and_lines_are_those_of_the_data():
    study = dataclasses.replace(STUDIES["table3"], seeds=3, first_seeds=5)
    assert [study.seeds_on(place) for place in ("eurlex-4k", "debian")] == [5, 3]
    lines = [Line("here", "label-tree", data=("small",)), Line("there", "parabel", data=("x",))]
    (planned,) = plan(dataclasses.replace(study, lines=lines), small_corpus())
    assert [job.method for job in planned.jobs] == ["here"] * 3


def small_study(**changes):
    lines = [Line("cheap", "label-tree"), Line("dear", "dismec")]
    changes = {"seeds": 3, **changes}
    return dataclasses.replace(STUDIES["table2"], lines=lines, data=("small",), **changes)


def test_plan_has_every_method_and_seed():
    corpus = small_corpus()
    (planned,) = plan(small_study(seeds=2), corpus)
    assert [(job.method, job.seed) for job in planned.jobs] == [
        ("cheap", 0), ("cheap", 1), ("dear", 0), ("dear", 1),
    ]  # fmt: skip
    assert planned.remarks == []
    assert planned.corpus is corpus
    (more,) = plan(small_study(), corpus, seeds=5)
    assert len(more.jobs) == 10
    lines = [Line("few", "label-tree"), Line("many", "parabel", seeds=5)]
    study = dataclasses.replace(small_study(seeds=2), lines=lines)
    (planned,) = plan(study, corpus)
    assert [job.method for job in planned.jobs] == ["few"] * 2 + ["many"] * 5
    (fewer,) = plan(study, corpus, seeds=1)
    assert len(fewer.jobs) == 2


@pytest.fixture
def seconds(monkeypatch):
    """Make DiSMEC take a second per training point, and everything else none."""
    cost = Cost(0.0, 0.0)
    monkeypatch.setattr(planning, "_MEASURED", {})
    monkeypatch.setattr(LabelTree, "_training_cost", lambda *_: cost)
    monkeypatch.setattr(
        DiSMEC, "_training_cost", lambda _, X, __: dataclasses.replace(cost, seconds=X.shape[0])
    )


@pytest.mark.usefixtures("seconds")
def test_slow_methods_are_sampled_with_remark():
    corpus = small_corpus()
    study = small_study(seeds=1)
    study.lines.append(Line("dear, groups", "dismec", "x"))
    whole, sample = plan(study, corpus, budget=100.0)
    assert [job.method for job in whole.jobs] == ["cheap"]
    assert whole.remarks == []
    # Variants of a classifier are compared with each other and with the first method.
    assert [job.method for job in sample.jobs] == ["cheap", "dear", "dear, groups"]
    assert {job.data for job in sample.jobs} == {sample.corpus.facts}
    assert sample.corpus.facts.points == 50
    because = "because a run on all is estimated at more than 100 s"
    assert sample.remarks == [f"dismec: on 50 of the 200 training points of small, {because}"]
    (everything,) = plan(study, corpus)
    assert len(everything.jobs) == 3


@pytest.mark.usefixtures("seconds")
def test_methods_too_slow_on_sample_are_left_out_with_remark(tmp_path):
    corpus = small_corpus()
    whole, sample = plan(small_study(seeds=1), corpus, budget=20.0)
    assert [job.method for job in whole.jobs] == ["cheap"]
    assert sample.jobs == []
    because = "a run on 50 points is estimated at 50 s, the budget of a run is 20 s"
    assert sample.remarks == [f"dear on small is left out: {because}"]
    # An existing record is shown for any budget.
    store = Store(tmp_path)
    (complete,) = plan(small_study(seeds=1), corpus)
    job = complete.jobs[1]
    assert job.estimator == describe(DiSMEC())
    store.append({**job.to_json(), "status": "failed", "error": "once"})
    (kept,) = plan(small_study(seeds=1), corpus, budget=20.0, store=store)
    assert [one.method for one in kept.jobs] == ["cheap", "dear"]


@pytest.mark.usefixtures("seconds")
def test_cheap_runs_come_before_further_seeds():
    study, corpus = small_study(seeds=2), small_corpus()
    study = dataclasses.replace(study, data=("the paper's", "another", "small"))
    study.lines.append(Line("dear, groups", "dismec", "x"))
    whole = Plan(corpus)
    whole.add(study, study.lines, study.seeds)
    sample = Plan(corpus.sampled(20))
    sample.add(study, study.lines[1:2], 1)
    order = schedule([whole, sample])
    names = [(task.job.method, task.job.data.points, task.job.seed) for task in order]
    assert names == [
        ("cheap", 200, 0), ("cheap", 200, 1), ("dear", 20, 0), ("dear", 200, 0),
        ("dear, groups", 200, 0), ("dear", 200, 1), ("dear, groups", 200, 1),
    ]  # fmt: skip
    # Half a minute of two at a time is over after the first run of 200 s.
    assert cut(order, 30.0, 2) == [task.seconds for task in order].index(200.0) + 1
    assert cut(order, 1e9, 1) == len(order)


def test_first_data_set_comes_before_cheap_runs_on_others():
    first, other = small_corpus(), small_corpus(1)
    other = type(other)("other", other.train, other.test)
    study = dataclasses.replace(small_study(seeds=2), data=("small", "other"))
    planned = [Plan(other), Plan(first)]
    for one in planned:
        one.add(study, study.lines, study.seeds)
    order = [(task.job.data.name, task.job.seed) for task in schedule(planned)]
    assert order[:2] == [("small", 0), ("small", 0)]
    assert ("small", 1) in order[2:]


def test_estimate_counts_slow_prediction_of_programs():
    train = small_corpus().train
    little, much = (run_seconds("omikuji", train.X, train.Y, n) for n in (0, 100_000))
    assert much - little == pytest.approx(50)
