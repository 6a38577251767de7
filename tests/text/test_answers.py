"""Which labels are answers: cuts against brute force, and what a model makes of them."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from defrag import TextClassifier, Thesaurus, load
from defrag.distributed import fit_part, join, load_plan, plan, save_plan
from defrag.exceptions import ModelFormatError
from defrag.metrics._ranked import hits_of
from defrag.persistence import describe
from defrag.text import answers
from defrag.text._texts import check_text_labels
from defrag.text.answers import Answers, Promise, held_out, learn_answers, learn_promises


def ranking(n_texts=60, n_labels=12, seed=0):
    """Return a ranking of all labels, whether each is right, and the labels."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n_texts, n_labels)) < 0.2
    scores = np.clip(0.3 * truth + rng.random(truth.shape).round(1) * 0.7, 0.01, 1.0)
    labels = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)
    scores = np.take_along_axis(scores, labels, axis=1).astype(np.float32)
    return labels, scores, np.take_along_axis(truth, labels, axis=1), sparse.csr_array(truth * 1.0)


def quality(name, kept, hits, n_true, number):
    """Return what a cut is chosen for, from its definition."""
    right, n_kept = (kept & hits).sum(), kept.sum()
    if name == "f1":
        sizes = np.maximum(kept.sum(axis=1) + n_true, 1)
        return np.mean(2 * (kept & hits).sum(axis=1) / sizes)
    if name == "precision":  # as many answers as possible that are right often enough
        return n_kept if right >= number * n_kept else -1
    if name == "recall":  # as few as possible that find enough
        return -n_kept if right >= number * n_true.sum() else -1e9
    return 2 * right / (n_kept + n_true.sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("name", "number"), [("total", 0), ("f1", 5), ("precision", 0.6), ("recall", 0.5)]
)
def test_cuts_are_best_of_all(name, number, seed):
    _, scores, hits, Y = ranking(seed=seed)
    n_true = np.diff(Y.indptr)
    odds = np.log(scores.astype(np.float64))
    cut = answers._CUTS.get(name, answers._cut_of_total)(odds, hits, n_true, number)
    tried = [-np.inf, *np.unique(odds)]
    best = max(quality(name, odds > one, hits, n_true, number) for one in tried)
    assert quality(name, odds > cut, hits, n_true, number) == pytest.approx(best)


def test_unreachable_precision_leaves_no_answer():
    labels, scores, hits, Y = ranking()
    none = np.zeros_like(hits)
    assert answers._cut_of_precision(scores.astype(float), none, None, 0.5) == answers._NEVER
    n_points = np.ones(Y.shape[1])
    made, said = learn_answers(labels, scores, Y, n_points, aim="micro-f1", least_precision=1.0)
    best = made.log_odds(labels, scores)[:, 0]
    answered = made.chosen(labels, scores).any(axis=1)
    assert not answered.all()
    assert hits[best > made.least, 0].all()
    assert f"of which {answered.sum()} have an answer" in said


def test_log_odds_are_those_of_the_numbers():
    labels, scores, _, Y = ranking()
    labels[3, 7:] = -1
    points = np.arange(1, 13, dtype=np.int32)
    weights = np.random.default_rng(1).normal(size=9)
    none = np.zeros(0, np.int32), np.zeros(0)
    made = Answers(weights, points, 0.0, -1e30, 4, *none)
    odds, chosen = made.log_odds(labels, scores), made.chosen(labels, scores)
    for row in range(len(labels)):
        for place, label in enumerate(labels[row].tolist()):
            if label < 0:
                assert odds[row, place] == -np.inf
                continue
            log, n = np.log(float(scores[row, place])), np.log1p(points[label])
            numbers = [1, log, log**2, np.log1p(place), scores[row, place],
                       np.log(float(scores[row, 0])), n, n * n, n * log]  # fmt: skip
            assert odds[row, place] == pytest.approx(float(np.dot(weights, numbers)), rel=1e-4)
            assert chosen[row, place] == (odds[row, place] > 0 and place < 4)
    own = Answers(weights, points, 1e9, -1e30, 12, np.array([2, 5], np.int32), np.full(2, -1e9))
    np.testing.assert_array_equal(own.chosen(labels, scores), np.isin(labels, [2, 5]))
    assert Y.shape == (60, 12)


def test_rankings_in_blocks_have_the_same_bits(monkeypatch):
    labels, scores, hits, Y = ranking()
    made, _ = learn_answers(labels, scores, Y, np.ones(12), aim="micro-f1", least_precision=None)
    expected = made.log_odds(labels, scores)
    monkeypatch.setattr(answers, "_AT_A_TIME", 100)
    monkeypatch.setattr("defrag.metrics._ranked._LABELS_AT_A_TIME", 100)
    np.testing.assert_array_equal(made.log_odds(labels, scores), expected)
    np.testing.assert_array_equal(hits_of(labels, Y), hits)


def test_labels_with_many_texts_have_cuts_of_their_own():
    labels, scores, hits, Y = ranking(600, 3)
    aims = {"aim": "macro-f1", "least_precision": None}
    made, _ = learn_answers(labels, scores, Y, np.full(3, 50.0), **aims)
    assert made.labels.tolist() == [0, 1, 2]
    odds = made.log_odds(labels, scores)
    for label, cut in zip(made.labels, made.own, strict=True):
        here = labels == label
        n_true = np.array([Y[:, [label]].sum()])
        values = [-np.inf, *np.unique(odds[here])]
        best = max(quality("total", odds[here] > one, hits[here], n_true, 0) for one in values)
        assert quality("total", odds[here] > cut, hits[here], n_true, 0) == pytest.approx(best)
    few, _ = learn_answers(labels[:50], scores[:50], Y[:50], np.ones(3), **aims)
    assert len(few.labels) < 3


def test_equal_texts_are_held_out_together():
    texts = [f"text {i % 700}" for i in range(2100)]
    Y = sparse.csr_array(np.ones((2100, 1)))
    held, kept = held_out(texts, Y)
    assert not {texts[i] for i in held} & {texts[i] for i in kept}
    assert 250 < len(held) < 600
    assert 800 < len(kept) < 1300
    assert held_out(texts[:999], Y[:999]) is None


# --- Models.


def corpus(n_texts=1500, seed=0):
    """Return texts of one to three topics out of thirty, of which some say nothing."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_texts):
        topics = rng.choice(30, rng.integers(1, 4), replace=False)
        words = [f"t{topic}w{rng.integers(6)}" for topic in topics for _ in range(3)]
        texts.append(" ".join([*words, *(f"noise{i}" for i in rng.integers(0, 40, 6))]))
        labels.append([f"topic {topic}" for topic in topics])
    return texts, labels


def micro_f1(found, wanted):
    right = sum(len({*a} & {*b}) for a, b in zip(found, wanted, strict=True))
    return 2 * right / sum(len(a) + len(b) for a, b in zip(found, wanted, strict=True))


@pytest.fixture(scope="module")
def fitted():
    return TextClassifier(features="words", random_state=0).fit(*corpus())


def test_answers_are_better_than_scores_above_a_half(fitted):
    texts, labels = corpus(400, seed=1)
    assert micro_f1(fitted.predict(texts), labels) > micro_f1(fitted.predict(texts, 0.5), labels)
    assert fitted.answering_.startswith("labels with a probability above 0.")
    assert "held-out texts" in fitted.answering_


def test_answers_are_the_best_of_those_that_pass(fitted):
    texts, _ = corpus(50, seed=2)
    names, scores = fitted.predict_topk(texts, 30)
    ids = np.array([[fitted.classes_.tolist().index(name) for name in row] for row in names])
    kept = fitted.answers_.chosen(ids.astype(np.int32), scores)
    wanted = [row[good].tolist() for row, good in zip(names, kept, strict=True)]
    assert fitted.predict(texts) == wanted
    shown, values = fitted.predict_topk(texts, 5, answers=True)
    assert [[name for name in row if name] for row in shown.tolist()] == [row[:5] for row in wanted]
    assert ((values > 0) == (shown != "")).all()


def test_saved_answers_are_the_same_for_any_number_of_threads(fitted, tmp_path):
    fitted.save(tmp_path / "a")
    TextClassifier(features="words", random_state=0, n_jobs=2).fit(*corpus()).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded, (texts, _) = load(tmp_path / "a"), corpus(50, seed=2)
    assert loaded.predict(texts) == fitted.predict(texts)
    assert describe(tmp_path / "a")["chosen"]["text_classifier.answering"] == fitted.answering_


def test_matrices_have_the_answers_of_lists(fitted):
    texts, labels = corpus()
    encoder = MultiLabelBinarizer().fit(labels)
    model = TextClassifier(features="words", random_state=0).fit(texts, encoder.transform(labels))
    others, _ = corpus(50, seed=2)
    found = encoder.inverse_transform(model.predict(others))
    assert [set(row) for row in found] == [set(row) for row in fitted.predict(others)]


def test_given_texts_choose_the_answers():
    other = corpus(300, seed=3)
    model = TextClassifier(features="words", random_state=0).fit(*corpus(), validation=other)
    assert "on 300 held-out texts" in model.answering_
    ids, scores = model._predict_ids(other[0], 50)
    truth = check_text_labels(other[1], 300).in_columns_of(model.classes_)
    counts = np.bincount(check_text_labels(corpus()[1], 1500).matrix.indices)
    wanted, said = learn_answers(ids, scores, truth, counts, aim="micro-f1", least_precision=None)
    assert (model.answers_.cut, model.answering_.split("; ")[0]) == (wanted.cut, said)
    np.testing.assert_array_equal(model.answers_.points, counts)
    few = TextClassifier(features="words", random_state=0)
    assert few.fit(*corpus(200), validation=other).answers_ is not None
    few.fit(*corpus(200), validation=(["unheard-of"] * 2, [["topic 1"]] * 2))
    assert few.answers_ is None
    assert few.answering_ == "scores above 0.5: no held-out text has a known word"
    assert few.predict(["t1w1 t1w2", "unheard-of"])[1] == []


def test_few_texts_teach_nothing():
    model = TextClassifier(random_state=0).fit(*corpus(999))
    untaught = "scores above 0.5: nothing is learnt from fewer than 1,000 texts with labels"
    assert (model.answers_, model.answering_) == (None, untaught)
    texts, _ = corpus(20, seed=1)
    assert model.predict(texts) == model.predict(texts, 0.5)
    none = TextClassifier(answers=None, random_state=0).fit(*corpus(1100))
    assert (none.answers_, none.answering_) == (None, "")


@pytest.mark.parametrize("bad", ["f1", "f1@0", "precision=0", "recall=1.5", "best", 1])
def test_unknown_aims_are_refused(bad):
    with pytest.raises(ValueError, match="answers of TextClassifier must be micro-f1, macro"):
        TextClassifier(answers=bad).fit(["a"], [["b"]])


@pytest.mark.parametrize("n_parts", [1, 3])
def test_joined_parts_have_the_answers_of_fit(fitted, tmp_path, n_parts):
    todo = plan(fitted, *corpus(), n_parts=n_parts)
    save_plan(todo, tmp_path / "plan")
    todo = load_plan(tmp_path / "plan")
    joined = join(todo, [fit_part(todo, one, *corpus()) for one in todo.parts])
    joined.save(tmp_path / "a")
    fitted.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# --- Shortlists: what is promised of them, and that other texts keep it.


@pytest.fixture(scope="module")
def named():
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
def test_other_texts_keep_the_promise(named, recall):
    texts, labels = corpus(1000, seed=5)
    found = named.shortlist(texts, recall)
    within = named.predict_topk(texts, 1000)[0]
    promise = named.promise(recall)
    assert promise.recall == recall
    listed = [[one.label for one in row] for row in found]
    total, hits = (
        sum(len({*row} & {*true}) for row, true in zip(some, labels, strict=True))
        for some in (within, listed)
    )
    assert hits / total >= promise.low
    assert np.mean(list(map(len, found))) == pytest.approx(promise.size, rel=0.25)


def test_candidates_are_the_best_labels_with_names_and_words(named):
    texts, _ = corpus(5, seed=6)
    names, scores = named.predict_topk(texts, 30)
    for text, row, best, values in zip(
        texts, named.shortlist(texts, 0.9, words=2, language="de"), names, scores, strict=True
    ):
        score_of = dict(zip(best.tolist(), values.tolist(), strict=True))
        assert row == sorted(row, key=lambda one: -one.score)
        for one in row:
            assert one.score == score_of[one.label]
            number = one.label.removeprefix("topic ")
            has_name = int(number) < 20
            assert one.name == (f"Thema {number}!" if has_name else None)
            assert one.description == (f"Über {number}" if has_name else None)
            why = named.explain(text, one.label).top(2)
            assert one.words == tuple(part.name for part in why if part.contribution > 0)
    plain = named.shortlist(texts, 0.9)
    assert {one.words for row in plain for one in row} == {()}
    assert plain[0][0].name == f"Topic {plain[0][0].label.removeprefix('topic ')}!"
    assert named.shortlist(["unheard-of"]) == [[]]
    denied = plain[0][0].label
    assert denied not in {one.label for one in named.shortlist(texts[:1], 0.9, deny=[denied])[0]}


def test_loaded_models_promise_the_same(named, tmp_path):
    named.save(tmp_path / "a")
    loaded, (texts, _) = load(tmp_path / "a"), corpus(20, seed=7)
    assert loaded.promise(0.9) == named.promise(0.9)
    assert loaded.shortlist(texts) == named.shortlist(texts)
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
def test_promises_of_files_are_checked(named, tmp_path, harm, message):
    harmed = copy(named)
    harmed.answers_ = replace(named.answers_, promises=harm(named.answers_.promises))
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
