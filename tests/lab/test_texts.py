"""Runs on raw texts: metrics against their definitions, our model and another program, on files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from defrag import TextClassifier
from defrag.io import read_texts
from defrag.lab import Job, Store, run_jobs, text_program
from defrag.lab.planning import plan
from defrag.lab.records import values_of
from defrag.lab.studies import STUDIES, Line
from defrag.lab.texts import TextCorpus, metrics_of
from tests.lab.small import PROGRAM, install

TOPICS = [f"http://a.org/{j}" for j in range(8)]


def test_metrics_are_those_of_the_definitions():
    rng = np.random.default_rng(0)
    n, n_labels = 30, 12
    Y, Y_train, answers = (rng.random((n, n_labels)) < share for share in (0.2, 0.15, 0.25))
    Y_train[:, 3] = False
    labels = np.array([rng.permutation(n_labels)[:10] for _ in range(n)], dtype=np.int32)
    labels[4, 6:] = -1
    found = metrics_of(labels, *(sparse.csr_array(one * 1.0) for one in (answers, Y, Y_train)))
    rows = [i for i in range(n) if Y[i].any()]
    right = [[bool(j >= 0 and Y[i, j]) for j in labels[i]] for i in rows]
    best = [sum(one[:5]) for one in right]
    n_true = [int(Y[i].sum()) for i in rows]
    mean = lambda values: 100 * float(np.mean(list(values)))  # noqa: E731 - one line
    pairs = list(zip(best, n_true, strict=True))
    assert found["P@1"] == pytest.approx(mean(one[0] for one in right))
    assert found["RP@5"] == pytest.approx(mean(a / min(5, m) for a, m in pairs))
    assert found["F1@5"] == pytest.approx(mean(2 * a / (5 + m) for a, m in pairs))
    assert found["R@50"] == pytest.approx(
        mean(sum(one) / m for one, m in zip(right, n_true, strict=True))
    )
    both, chosen, true = (Y & answers)[rows], answers[rows], Y[rows]
    assert found["micro-F1"] == pytest.approx(200 * both.sum() / (chosen.sum() + true.sum()))
    by_label = [2 * both[:, j].sum() / (chosen[:, j].sum() + true[:, j].sum())
                for j in range(n_labels) if true[:, j].any()]  # fmt: skip
    assert found["macro-F1"] == pytest.approx(100 * np.mean(by_label))
    seen = Y_train.sum(axis=0)
    for name, low, high in (("unseen", 0, 1), ("1-2", 1, 3), ("3-10", 3, 11), ("more", 11, 99)):
        wanted = [
            (i, j) for i in rows for j in range(n_labels) if low <= seen[j] < high and Y[i, j]
        ]
        hit = sum(j in labels[i, :5] for i, j in wanted)
        assert found.get(f"R@5 {name}", -1) == pytest.approx(
            100 * hit / len(wanted) if wanted else -1
        )


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A data set of the form of makupalat, whose words are its topics."""
    folder = tmp_path / "makupalat"
    folder.mkdir()
    for seed, (part, n_texts) in enumerate((("train", 300), ("validate", 120), ("test", 40))):
        rng = np.random.default_rng(seed)
        lines = []
        for _ in range(n_texts):
            topics = rng.choice(8, rng.integers(1, 3), replace=False)
            words = " ".join(f"word{j} topic{j} noise{rng.integers(20)}" for j in topics)
            lines.append(words + "\t" + " ".join(f"<{TOPICS[j]}>" for j in topics) + "\n")
        (folder / f"makupalat-{part}.tsv").write_text("".join(lines))
    monkeypatch.setenv("DEFRAG_DATA", str(tmp_path))
    monkeypatch.setitem(
        sys.modules["defrag.lab.texts"]._FILES,
        "makupalat",
        ("makupalat-{}.tsv", ("train", "validate", "test"), ""),
    )
    return TextCorpus("makupalat")


def job_of(corpus, line):
    return Job(line.name, corpus.facts, line.spec(), 0, 1, ("texts",))


@pytest.mark.slow
def test_run_reads_trains_and_answers(corpus, tmp_path):
    line = Line("default", "label-tree", "focus", texts=True)
    ((_, record),) = run_jobs([job_of(corpus, line)], corpus, Store(tmp_path / "records"))
    assert record["status"] == "done", record.get("error")
    assert (record["data"]["points"], record["data"]["test_points"]) == (300, 40)
    train, dev, test = (read_texts(tmp_path / "makupalat" / f"makupalat-{part}.tsv")
                        for part in ("train", "validate", "test"))  # fmt: skip
    model = TextClassifier(random_state=0, n_jobs=1).fit(*train, validation=dev)
    best = model.predict_topk(test.texts, 1)[0][:, 0]
    hits = [one in row for one, row in zip(best, test.labels, strict=True)]
    assert record["metrics"]["P@1"] == pytest.approx(100 * np.mean(hits))
    assert "on 120 held-out texts" in record["chosen"]["answers"]
    values = values_of(record)
    assert values["file_cpu"] == record["reading"]["cpu"] + record["training"]["cpu"]
    assert values["model_bytes"] > 1000


@pytest.mark.slow
def test_other_programs_rank_texts(corpus, tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    install(tmp_path / "site", monkeypatch, PROGRAM)
    line = Line("napkinXC, PLT", "napkinxc-plt")
    ((_, record),) = run_jobs([job_of(corpus, line)], corpus, Store(tmp_path / "records"))
    assert record["status"] == "done", record.get("error")
    assert (record["version"], record["settings"]) == ("9.8", {"tried": 1})
    assert record["model_bytes"] > 1000
    test = read_texts(tmp_path / "makupalat" / "makupalat-test.tsv")
    train = read_texts(tmp_path / "makupalat" / "makupalat-train.tsv")
    counts = {topic: sum(topic in row for row in train.labels) for topic in TOPICS}
    best = max(TOPICS, key=lambda topic: (counts[topic], -TOPICS.index(topic)))
    hits = [best in row for row in test.labels]
    assert record["metrics"]["P@1"] == pytest.approx(100 * np.mean(hits))


def test_omikuji_is_given_no_text_without_features(tmp_path, monkeypatch):
    given = []

    class Model:
        default_hyper_param = SimpleNamespace

        @classmethod
        def train_on_data(cls, path, *_, **__):
            given.extend(Path(path).read_text().splitlines())

    monkeypatch.setitem(sys.modules, "omikuji", SimpleNamespace(Model=Model))
    (tmp_path / "train.json").write_text(
        json.dumps({"texts": ["one two"] * 5 + ["three"] * 6 + ["rare"], "labels": [[0], [1]] * 6})
    )
    text_program.omikuji(text_program.Texts(tmp_path / "train.json"), 2, tmp_path)
    assert given[0] == "11 4 2"
    assert [len(line.split()) for line in given[1:]] == [4] * 5 + [2] * 6
    assert given[1].startswith("0 ")


def test_best_labels_of_dense_and_sparse_scores_agree():
    scores = np.random.default_rng(0).permuted(np.tile(np.arange(1.0, 91.0), (7, 1)), axis=1)
    best = np.argsort(-scores, axis=1)[:, : text_program.DEPTH]
    for given in (scores, sparse.csr_matrix(scores)):
        labels, values = text_program.best_of(given)
        assert labels.tolist() == best.tolist()
        assert values.tolist() == [list(range(90, 40, -1))] * 7


def test_lines_with_names_need_a_thesaurus_and_slow_programs_are_named(corpus, monkeypatch):
    monkeypatch.setattr("defrag.lab.planning.missing_peer", lambda _: None)
    monkeypatch.setattr(TextCorpus, "seconds", lambda _, spec: 1e4 * (spec["kind"] != "fasttext"))
    whole, left_out = plan(STUDIES["texts"], corpus, budget=100.0)
    assert [job.method for job in whole.jobs] == ["fastText"]
    assert not any("names" in remark for remark in left_out.remarks)
    said = "default on makupalat is left out: a run is estimated at 10,000 s, the budget"
    assert any(remark.startswith(said) for remark in left_out.remarks)
