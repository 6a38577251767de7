"""Shortlists: what is promised of them, and that other texts keep it."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from defrag import TextClassifier, Thesaurus, load
from defrag.exceptions import ModelFormatError
from defrag.text.shortlist import Promise, learn_promises
from tests.text.test_answers import corpus


@pytest.fixture(scope="module")
def fitted():
    names = [{"id": f"topic {i}", "name": {"en": f"Topic {i}!", "de": f"Thema {i}!"},
              "description": {"de": f"Über {i}"}} for i in range(20)]  # fmt: skip
    model = TextClassifier(features="words", random_state=0)
    return model.fit(*corpus(), thesaurus=Thesaurus.of(names))


def test_promises_are_those_of_slow_loops():
    rng = np.random.default_rng(0)
    labels = np.argsort(rng.random((40, 25)), axis=1).astype(np.int32)[:, :12]
    scores = -np.sort(-rng.random((40, 12)), axis=1).astype(np.float32)
    Y = sparse.csr_array((rng.random((40, 25)) < 0.1).astype(np.float32))
    odds = np.log(scores) + rng.normal(size=scores.shape)
    found = learn_promises(labels, scores, Y, lambda *_: odds)
    truth = Y.toarray() > 0
    hits = np.array([[truth[i, label] for label in row] for i, row in enumerate(labels)])
    reachable, best = hits.sum(), sorted(odds[hits], reverse=True)
    for share, low, high, of_all, size, cut in found:
        assert (odds > cut).sum() == 40 * size
        n_found = (hits & (odds > cut)).sum()
        assert n_found >= share * reachable - 1e-9
        fewer = (hits & (odds > best[n_found - 1])).sum()  # without the last one
        assert fewer < share * reachable
        assert of_all == n_found / Y.nnz
        assert low <= n_found / reachable <= high + 1e-9
    assert (np.diff(found[:, 4]) >= 0).all()


def test_interval_is_wilsons_where_texts_have_one_label():
    labels = np.zeros((400, 1), np.int32)
    Y = sparse.csr_array(np.ones((400, 1), np.float32))
    odds = np.arange(400.0)[:, np.newaxis]
    found = learn_promises(labels, odds.astype(np.float32), Y, lambda *_: odds)
    low, high = found[40, 1:3]  # 360 of 400, and as many others: worth 200
    assert found[40, 0] == pytest.approx(0.9)
    assert (low, high) == (pytest.approx(0.8506, abs=2e-4), pytest.approx(0.9343, abs=2e-4))


@pytest.mark.parametrize("recall", [0.5, 0.8, 0.95])
def test_other_texts_keep_the_promise(fitted, recall):
    texts, labels = corpus(1000, seed=5)
    found = fitted.shortlist(texts, recall)
    within = fitted.predict_topk(texts, 1000)[0]
    promise = fitted.promise(recall)
    assert promise.recall == recall
    listed = [[one.label for one in row] for row in found]
    total, hits = (
        sum(len({*row} & {*true}) for row, true in zip(some, labels, strict=True))
        for some in (within, listed)
    )
    assert hits / total >= promise.low
    assert np.mean(list(map(len, found))) == pytest.approx(promise.size, rel=0.25)


def test_candidates_are_the_best_labels_with_names_and_words(fitted):
    texts, _ = corpus(5, seed=6)
    names, scores = fitted.predict_topk(texts, 30)
    for text, row, best, values in zip(
        texts, fitted.shortlist(texts, 0.9, words=2, language="de"), names, scores, strict=True
    ):
        score_of = dict(zip(best.tolist(), values.tolist(), strict=True))
        assert row == sorted(row, key=lambda one: -one.score)
        for one in row:
            assert one.score == score_of[one.label]
            number = one.label.removeprefix("topic ")
            named = int(number) < 20
            assert one.name == (f"Thema {number}!" if named else None)
            assert one.description == (f"Über {number}" if named else None)
            why = fitted.explain(text, one.label).top(2)
            assert one.words == tuple(part.name for part in why if part.contribution > 0)
    plain = fitted.shortlist(texts, 0.9)
    assert {one.words for row in plain for one in row} == {()}
    assert plain[0][0].name == f"Topic {plain[0][0].label.removeprefix('topic ')}!"
    assert fitted.shortlist(["unheard-of"]) == [[]]
    denied = plain[0][0].label
    assert denied not in {one.label for one in fitted.shortlist(texts[:1], 0.9, deny=[denied])[0]}


def test_loaded_models_promise_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "a")
    loaded, (texts, _) = load(tmp_path / "a"), corpus(20, seed=7)
    assert loaded.promise(0.9) == fitted.promise(0.9)
    assert loaded.shortlist(texts) == fitted.shortlist(texts)
    said = str(Promise(0.9, 0.885, 0.913, 0.75, 12.34, 0.0))
    assert said == ("90% (88.5 to 91.3) of the labels among the best 1,000, 75.0% of all known "
                    "ones, in 12.3 candidates per text")  # fmt: skip


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda rows: rows[:, :3].copy(), "'.*promises' must have 6 columns"),
        (lambda rows: rows[::-1].copy(), "'.*promises' must have rows of increasing shares"),
        (lambda rows: rows[:0], "'.*promises' must have rows of increasing shares"),
        (lambda rows: rows * np.inf, "'.*promises' must"),
    ],
)
def test_promises_of_files_are_checked(fitted, tmp_path, harm, message):
    harmed = copy(fitted)
    harmed.answers_ = replace(fitted.answers_, promises=harm(fitted.answers_.promises))
    with pytest.raises(ModelFormatError, match=message):
        harmed.save(tmp_path / "a")


def test_given_texts_decide_on_the_size():
    model = TextClassifier(features="words", random_state=0)
    model.fit(*corpus(300), validation=corpus(500, seed=8))
    assert model.promise(0.9).low < 0.9
    with pytest.raises(ValueError, match=r"recall must be a finite number in .*, got 1\.5"):
        model.shortlist(["t1w1"], 1.5)
    few = TextClassifier(random_state=0).fit(*corpus(300))
    with pytest.raises(ValueError, match="fit has learnt no shortlist: it needs answers"):
        few.shortlist(["t1w1"])
