"""Names of labels in texts: found as the slow twin does, counted without leaks, explained."""

import copy
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import defrag
from defrag import TextClassifier, Thesaurus, _native
from defrag.exceptions import ModelFormatError
from defrag.text.naming import LabelNames, NameEvidence, Naming, with_names
from defrag.text.ranker import Found, Ranker, fit_logistic, join_candidates, learn_ranker
from tests.oracles import names as oracle

N_LABELS, N_UNSEEN = 600, 8
WORDS = ["heat", "pumps", "cities", "city", "glass", "bus", "boxes", "été", "42", "x", "größe"]


@settings(deadline=None, max_examples=200)
@given(st.data(), st.sampled_from([WORDS, WORDS[:3], ["gas", "ga", "axes", "ax", "axe"]]))
def test_names_are_found_as_the_oracle_does(data, words):
    word = st.sampled_from(words)
    names = data.draw(st.lists(st.lists(word, max_size=3), min_size=1, max_size=8))
    ends = st.sampled_from([" ", " ", " ", ". ", "\n", ".", ": ", "; "])
    pieces = data.draw(st.lists(st.tuples(word, ends), max_size=60))
    names = [" ".join(words) for words in names]
    texts = ["".join(map("".join, pieces)), "", " ".join(word for word, _ in pieces * 3)]
    found = _native.NameIndex(names).find(texts, n_threads=2)
    begin = 0
    for text, end in zip(texts, found.ends.tolist(), strict=True):
        columns = (found.times, found.title, found.inside, found.first, found.cover, found.density)
        got = dict(
            zip(found.names[begin:end].tolist(), np.array(columns).T[begin:end], strict=True)
        )
        begin = end
        expected = oracle.find_names(names, text)
        assert got.keys() == expected.keys()
        for name, values in expected.items():
            assert got[name] == pytest.approx(np.array(values, dtype=float), rel=1e-6)


def test_name_counts_as_inside_only_if_it_always_is():
    index = _native.NameIndex(["heat pumps", "pumps"])
    found = index.find(["heat pumps", "heat pumps. pumps"], n_threads=1)
    assert found.names.tolist() == [0, 1, 0, 1]
    assert found.inside.tolist() == [0, 1, 0, 0]


def naming_of(names, seed, n_points=3):
    """Return made-up counts of texts with names, and of those with the label."""
    rng = np.random.default_rng(seed)
    texts = rng.integers(0, 6, len(names.names)).astype(np.int32)
    hits = rng.integers(0, texts + 1).astype(np.int32)
    points = rng.integers(0, 9, n_points).astype(np.int32)
    return Naming("no gain", texts, hits, points, np.zeros(0))


@pytest.mark.parametrize(("seed", "scale"), [(0, 1.0), (1, 1.25), (2, 0.5)])
def test_evidence_is_that_of_the_oracle(seed, scale):
    concepts = [
        {"id": f"c{i}", "name": f"one{i}", "alternatives": [f"two{i}", f"one{i} two{i}"]}
        for i in range(60)
    ]
    concepts[7]["withdrawn"] = True
    names = LabelNames(np.array([f"c{i}" for i in range(58)], object), Thesaurus.of(concepts))
    naming = naming_of(names, seed)
    rng = np.random.default_rng(seed)
    words = [f"{kind}{i}" for kind in ("one", "two") for i in range(60)]
    texts = [" ".join(rng.permutation(words)[:size]) for size in (120, 40, 1, 0)]
    found = NameEvidence(names, naming, scale).find(texts, n_threads=2)
    rows = [(int(row), int(label)) for row, label in zip(found.rows, found.labels, strict=True)]
    expected = oracle.evidence(names, naming, texts, scale)
    assert rows == list(expected)
    assert np.bincount(found.rows).max() == 50  # of 57 labels in the first text
    # Other columns come from the kernel.
    np.testing.assert_allclose(found.numbers[[0, 2, 9, 10]].T, list(expected.values()))
    assert found.points.tolist() == [*(scale * naming.points), *[0.0] * 55]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("adds", [False, True])
def test_candidates_are_ranked_as_by_the_oracle(seed, adds):
    rng = np.random.default_rng(seed)
    labels = np.array([rng.permutation(12)[:5] for _ in range(9)])
    labels[rng.random(labels.shape) < 0.2] = -1
    scores = -np.sort(-rng.random(labels.shape), axis=1).astype(np.float32)
    pairs = np.argwhere(rng.random((9, 12)) < 0.4)
    points = rng.integers(0, 3, 12).astype(float)
    found = Found(pairs[:, 0], pairs[:, 1], rng.normal(size=(2, len(pairs))), points)
    joined = join_candidates(labels, scores, found)
    expected = oracle.candidates(labels, scores, found)
    assert list(zip(joined.rows.tolist(), joined.labels.tolist(), strict=True)) == list(expected)
    assert joined.kinds.tolist() == [kind for kind, _ in expected.values()]
    np.testing.assert_allclose(joined.numbers.T, [numbers for _, numbers in expected.values()])
    weights = np.zeros((4, 13))
    weights[:, 0] = [1.0, 2.0, 2.0, 0.0]  # many candidates are equally good
    ranked, values = Ranker(weights, adds).rank(joined, 9, 7)
    for row in range(9):
        own = [(kind, label) for (at, label), (kind, _) in expected.items() if at == row]
        own = sorted((-weights[kind, 0], label) for kind, label in own if adds or kind < 2)[:7]
        assert ranked[row].tolist() == [label for _, label in own] + [-1] * (7 - len(own))
        wanted = [1.0 / (1.0 + np.exp(logit)) for logit, _ in own] + [0.0] * (7 - len(own))
        np.testing.assert_allclose(values[row], wanted, rtol=1e-6)
    first = joined.at(joined.rows == 0)
    alone = np.array([1.0, 1.0, 0.0, 0.0])[first.kinds] / (1.0 + np.exp(-1.0))
    found = [Ranker(weights, adds).shares(first, label)[1] for label in first.labels.tolist()]
    np.testing.assert_allclose(found, alone)


def test_logistic_regression_ends_where_the_gradient_is_zero():
    rng = np.random.default_rng(0)
    numbers = np.vstack([rng.normal(3.0, 2.0, (2, 500)), np.zeros(500)])
    truth = rng.random(500) < 1.0 / (1.0 + np.exp(2.0 - numbers[0]))
    weights = fit_logistic(numbers, truth)
    assert weights[3] == 0.0  # a number that never changes
    slope = oracle.logistic_gradient(weights[:3], numbers[:2], truth, 1.0)
    np.testing.assert_allclose(slope, 0.0, atol=0.05)
    assert fit_logistic(numbers, np.zeros(500, dtype=bool))[0] == pytest.approx(-np.log(1001))
    heavy = np.exp(rng.normal(0.0, 3.0, (2, 300)))  # whole steps of Newton's go too far
    truth = heavy[0] > np.quantile(heavy[0], 0.99)
    slope = oracle.logistic_gradient(fit_logistic(heavy, truth), heavy, truth, 1.0)
    np.testing.assert_allclose(slope, 0.0, atol=0.05)


def corpus(seed, n_texts=2600):
    """Return texts with the names of their labels, most of them rare; the last have no text."""
    rng = np.random.default_rng(seed)
    share = 1.0 / (5.0 + np.arange(N_LABELS - N_UNSEEN))
    texts, labels = [], []
    for _ in range(n_texts):
        own = rng.choice(len(share), 2, replace=False, p=share / share.sum())
        words = [f"noise{i}" for i in rng.integers(0, 300, 6)]
        words += [f"kind{i} thing{i}" for i in own]
        texts.append(" ".join(rng.permutation(words)))
        labels.append([f"l{i:03}" for i in own])
    return texts, labels


THESAURUS = Thesaurus.of(
    {"id": f"l{i:03}", "name": f"Kind{i} thing{i} (sort)"} for i in range(N_LABELS)
)
TEXTS, LABELS = corpus(0)


@pytest.fixture(scope="module")
def trained():
    return TextClassifier(random_state=0, n_jobs=1).fit(TEXTS, LABELS, thesaurus=THESAURUS)


@pytest.fixture
def model(trained):
    return copy.copy(trained)


def test_default_has_three_trees_if_names_rank(model):
    again = TextClassifier(random_state=0, features="words")
    few = again.fit(TEXTS[:600], LABELS[:600], thesaurus=THESAURUS)
    assert (model.base_.base_.n_trees, few.base_.base_.n_trees) == (3, 1)
    plain = TextClassifier(random_state=0).fit(TEXTS[:600], LABELS[:600])
    kept = TextClassifier(random_state=0).fit(TEXTS, LABELS, shape=plain, thesaurus=THESAURUS)
    assert kept.base_.base_.n_trees == 1


def test_unseen_labels_are_found_by_their_names(model):
    assert model.naming_.use == "added"
    assert model._labels_.score_kind == "probability"
    names, scores = model.predict_topk(["kind599 thing599 and noise3", "kind599 noise3"], k=3)
    assert names[0, 0] == "l599"
    assert "l599" not in names[1]  # half of a name
    assert (np.diff(scores, axis=1) <= 0).all()
    texts, labels = corpus(1, 300)
    plain = TextClassifier(random_state=0, n_jobs=1).fit(TEXTS, LABELS)
    assert model.score(texts, labels) > plain.score(texts, labels)


def test_same_bits_for_any_number_of_threads_and_block(model, monkeypatch):
    other = TextClassifier(random_state=0, n_jobs=3).fit(TEXTS, LABELS, thesaurus=THESAURUS)
    np.testing.assert_array_equal(model.naming_.weights, other.naming_.weights)
    expected = model.predict_topk(TEXTS[:50], k=60)
    assert expected[0].shape == (50, 60)
    monkeypatch.setattr("defrag.text.ranker._TEXTS_AT_A_TIME", 7)
    np.testing.assert_equal(other.predict_topk(TEXTS[:50], k=60), expected)


def test_file_and_copy_keep_the_ranker(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    expected = model.predict_topk(TEXTS[:20])
    for same in (defrag.load(path), copy.deepcopy(model)):
        np.testing.assert_equal(same.predict_topk(TEXTS[:20]), expected)
    defrag.load(path).save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros(3)}, "weights.* must have 104 items, got 3"),
        (dict.fromkeys(("texts", "hits"), np.zeros(2, np.int32)),
         "counts of the 600 names of the thesaurus, got 2"),
        ({"texts": np.zeros(600, np.int32), "hits": np.ones(600, np.int32)}, "at most .*texts"),
        ({"points": np.zeros(2, np.int32)}, r"counts of the \d+ labels, got 2"),
    ],
)  # fmt: skip
def test_counts_of_other_names_are_refused(model, tmp_path, change, message):
    model.naming_ = replace(model.naming_, **change)
    with pytest.raises(ModelFormatError, match=message):
        model.save(tmp_path / "model.safetensors")  # what is written is read first


def test_new_labels_are_found_without_training(model):
    text = "quantum foam noise3"
    assert "new" not in model.predict_topk([text], k=5)[0]
    before = model.predict_topk(TEXTS[:20])
    model.add_labels(Thesaurus.of([{"id": "new", "name": "Quantum foam"}]))
    assert model.predict_topk([text], k=5)[0][0, 0] == "new"
    np.testing.assert_equal(model.predict_topk(TEXTS[:20]), before)


@pytest.mark.parametrize("label", ["l003", "l599", "l017"])
def test_explanation_adds_up_to_the_probability(model, label):
    text = "kind3 thing3 with noise3, kind599 and thing599"
    names, scores = model.predict_topk([text], k=N_LABELS)
    found = model.explain(text, label)
    assert found.base + found.contributions.sum() == pytest.approx(found.score, abs=1e-6)
    expected = dict(zip(names[0], scores[0], strict=True)).get(label, 0.0)
    assert found.score == pytest.approx(float(expected), abs=1e-6)
    best = model.explain(text, k=2)
    assert [one.label for one in best] == names[0, :2].tolist()
    said = {"l003": r"of \d+ texts with it, \d+ have the label", "l599": "no training text has it"}
    if label in said:
        name = f"Kind{int(label[1:])} thing{int(label[1:])}"
        expected = rf'name "{name} \(sort\)" in the title \({said[label]}\)'
        assert any(re.fullmatch(expected, one) for one in found.names)


def test_nothing_is_learnt_from_the_labels_of_held_out_texts(monkeypatch):
    counted, count = [], Naming.count.__func__
    monkeypatch.setattr(
        Naming, "count", lambda *given: counted.append(given[1]) or count(Naming, *given)
    )
    TextClassifier(random_state=0).fit(TEXTS, LABELS, thesaurus=THESAURUS)
    rest, everything, half = counted
    assert 0.4 < len(half) / len(TEXTS) < 0.6  # what answers are is learnt without the others
    assert everything == TEXTS
    assert 0.75 < len(rest) / len(TEXTS) < 0.85
    assert not set(rest) & (set(TEXTS) - set(rest))


class Hints:
    """Evidence that knows the labels of texts, more or less; counts are those of all labels."""

    def __init__(self, Y, noise):
        self.Y, self.noise, self.rng = Y.toarray(), noise, np.random.default_rng(1)

    def find(self, texts, *, n_threads):  # noqa: ARG002 - of the protocol
        numbers = [int(text.split()[1]) for text in texts]
        rows, labels = np.divmod(np.arange(4 * len(texts)), 4)
        truth = self.Y[2 * np.array(numbers)[rows], labels]
        guesses = truth + self.rng.normal(0.0, self.noise, len(rows))
        return Found(rows, labels, guesses[None], np.full(4, 50.0))

    def describe(self, text, label):
        return f"{text} {label}"


@pytest.mark.parametrize(("noise", "use"), [(0.3, "ranked"), (100.0, "no gain")])
def test_ranker_is_kept_only_where_it_is_better(noise, use):
    texts = [f"text {i // 2}" for i in range(4000)]
    Y = np.eye(4, dtype=np.float32)[np.repeat(np.random.default_rng(0).integers(0, 4, 2000), 2)]
    seen = []

    def train_without(held):
        seen.append(held)
        n_held = int(held.sum())
        ranking = np.tile(np.arange(4, dtype=np.int32), (n_held, 1))
        return ranking, np.full((n_held, 4), 0.25, "f"), Hints(sparse.csr_array(Y), noise)

    ranker, found = learn_ranker(texts, sparse.csr_array(Y), train_without, n_threads=1)
    assert found == use
    assert isinstance(ranker, Ranker) == (use == "ranked")
    (held,) = seen
    assert (held[::2] == held[1::2]).all()  # equal texts are held out together
    few = learn_ranker(texts[:2499], sparse.csr_array(Y[:2499]), train_without, n_threads=1)
    assert few == (None, "few texts")


def test_later_labels_are_not_certain_if_all_labels_had_texts():
    known = set().union(*LABELS)
    names = Thesaurus.of({"id": one, "name": THESAURUS.name(one)} for one in known)
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS, thesaurus=names)
    assert model.naming_.use == "added"
    model.add_labels(Thesaurus.of({"id": f"new{i}", "name": f"noise{i}"} for i in range(300)))
    found, scores = model.predict_topk(TEXTS[:300], k=4)
    new = np.vectorize(lambda label: label.startswith("new"))(found)
    assert not new[:, 0].any()
    assert scores[new].max() < 0.1


def test_names_of_labels_with_points_are_training_points(model):
    number = {label: place for place, label in enumerate(model.classes_)}
    X = model.vectorizer_.transform(TEXTS)
    owners = [(row, number[label]) for row, own in enumerate(LABELS) for label in own]
    rows, columns = np.array(owners).T
    shape = len(TEXTS), model.base_.n_labels_
    Y = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
    weights = np.full(len(TEXTS), 2.0, dtype=np.float32)
    points = X, Y, weights
    more_X, more_Y, more_weights = with_names(model._labels_.names, points, model._rows)
    trained = model.classes_[: shape[1]]
    assert more_X.shape[0] == more_Y.shape[0] == len(more_weights) == len(TEXTS) + len(trained)
    assert trained[more_Y.indices[Y.nnz :]].tolist() == trained.tolist()
    names = [f"Kind{int(one[1:])} thing{int(one[1:])} (sort)" for one in trained]
    assert (more_X[len(TEXTS) :] != model.vectorizer_.transform(names)).nnz == 0
    assert set(more_weights[len(TEXTS) :]) == {1.0}
