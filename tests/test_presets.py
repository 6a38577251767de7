"""Presets: which classifier they choose, what that may cost, and what models say of it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from defrag import DiSMEC, Focused, LabelTree, TextClassifier, load, presets
from defrag.distributed import plan
from defrag.io import write_xmc
from defrag.persistence import describe
from defrag.presets import Tried, choose, choose_for_rows, fold_of_rows, usual
from tests.helpers.bits import bits
from tests.helpers.cli_running import run_well
from tests.helpers.cli_text_data import write_lines

LABELS = [f"subject{i}" for i in range(40)]


@pytest.fixture(autouse=True)
def _few_points(monkeypatch):
    monkeypatch.setattr(presets, "LEAST_POINTS", 300)


def corpus(n_texts=600):
    rng = np.random.default_rng(0)
    labels = [sorted(rng.choice(LABELS, 2, replace=False).tolist()) for _ in range(n_texts)]
    noise = rng.integers(0, 80, (n_texts, 8)).tolist()
    texts = [
        " ".join([f"word{one[7:]}" for one in own] + [f"noise{i}" for i in others])
        for own, others in zip(labels, noise, strict=True)
    ]
    return texts, labels


def rows():
    texts, labels = corpus()
    words = sorted({word for text in texts for word in text.split()})
    X = sparse.csr_array([[float(word in text.split()) for word in words] for text in texts])
    Y = sparse.csr_array([[float(label in own) for label in LABELS] for own in labels])
    return X.astype(np.float32), Y.astype(np.float32)


def chosen(default, n_jobs=1, multiple=100.0, weights=None):
    X, Y = rows()
    fold = fold_of_rows(X)
    return choose(X, Y, weights, fold, default=default, multiple=multiple, n_jobs=n_jobs)


def test_a_default_is_replaced_by_what_is_better_for_any_number_of_threads():
    poor = Tried("poor", Focused(LabelTree(C=1e-4, weight_threshold=0.9)))
    base, reason = chosen(poor)
    assert base is not poor.base
    assert (repr(base), reason) == (repr(chosen(poor, 2)[0]), chosen(poor, 2)[1])
    assert " held-out points, +" in reason
    assert reason.count("±") == 2
    assert chosen(poor, multiple=1.0)[0] is poor.base  # nothing else may be tried
    weights = np.zeros(600, np.float32)
    weights[:310] = 1.0
    assert chosen(poor, weights=weights)[1] != reason
    weights[:20] = 0.0
    assert "not tried on fewer than 300 points" in chosen(poor, weights=weights)[1]
    good = Tried("all", Focused(DiSMEC()))
    assert chosen(good)[0] is good.base


def test_what_takes_too_long_is_not_tried(monkeypatch):
    cost = type(LabelTree()._training_cost(*rows()))
    monkeypatch.setattr(DiSMEC, "_training_cost", lambda *_: cost(1e6, 1.0))
    reason = chosen(usual())[1]
    assert "of 3 trees, one-vs-rest would take " in reason
    assert "times as long" in reason


def test_equal_rows_are_held_out_together():
    X = sparse.random_array((500, 60), density=0.1, rng=np.random.default_rng(0), format="csr")
    fold = fold_of_rows(sparse.csr_array(sparse.vstack([X, X])))
    np.testing.assert_array_equal(fold[:500], fold[500:])
    assert ((fold >= 0) & (fold < 1)).all()
    filled = fold[:500][np.diff(X.indptr) > 0]
    assert np.abs(np.histogram(filled, 5, (0, 1))[0] / len(filled) - 0.2).max() < 0.06


def test_model_says_why_it_has_its_base(tmp_path):
    texts, labels = corpus()
    best = TextClassifier(preset="best", random_state=0)
    models = [clone(best).set_params(n_jobs=n).fit(texts, labels) for n in (1, 2)]
    path = tmp_path / "m"
    models[0].save(path)
    told = describe(path)["chosen"]["text_classifier.chosen"]
    assert load(path).chosen_ == models[1].chosen_ == told
    assert told.startswith("one tree: nDCG@5 100.0 of one tree on ")
    assert load(path).preset == "best"
    assert bits(models[0].predict_topk(texts)) == bits(models[1].predict_topk(texts))
    again = clone(best).fit(texts[:400], labels[:400], shape=path)
    assert again.chosen_ == models[0].chosen_
    assert type(again.base_.base_) is type(models[0].base_.base_)


def test_presets_are_refused_where_they_choose_nothing():
    texts, labels = corpus(20)
    for parameters, message in (
        ({"preset": "slow"}, "preset of TextClassifier must be one of None, 'fast', 'best', got"),
        ({"preset": "best", "base": DiSMEC()}, "preset must be None with base, got 'best'"),
    ):
        with pytest.raises(ValueError, match=message):
            TextClassifier(**parameters).fit(texts, labels)
    with pytest.raises(ValueError, match="preset must not be 'best' in a plan"):
        plan(TextClassifier(preset="best"), texts, labels, n_parts=2)


@pytest.mark.parametrize("preset", ["best", "fast"])
def test_command_trains_what_a_preset_chooses(tmp_path, monkeypatch, preset):
    monkeypatch.chdir(tmp_path)
    X, Y = rows()
    write_xmc(tmp_path / "train.txt", X, Y)
    run_well("train", "train.txt", "m", "--preset", preset)
    base = choose_for_rows(preset, X, Y, random_state=0, n_jobs=1)[0].fit(X, Y)
    assert bits(load("m").predict_topk(X)) == bits(base.predict_topk(X))
    texts, labels = corpus()
    pairs = zip(texts, labels, strict=True)
    write_lines(tmp_path / "docs.jsonl", [{"text": text, "labels": own} for text, own in pairs])
    run_well("train", "docs.jsonl", "t", "--preset", preset)
    model = TextClassifier(preset=preset, random_state=0).fit(texts, labels)
    assert model.score(texts, labels) > 0.9
    assert model.base_.base.hard_negatives == (preset == "best")
    assert repr(load("t").base_.base) == repr(model.base_.base)
    assert load("t").chosen_ == model.chosen_
