"""Re-ranking: kernels against dense computations, invariants, and the choice of settings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from defrag import Defrag, LabelTree, Refrag, _native, load_dataset, metrics
from defrag.baselines import Parabel
from defrag.exceptions import DataWarning
from defrag.reranking import Candidates, Tally, TradeOff, add_nearest
from defrag.trees import member_seeds
from tests.data import make_data
from tests.helpers.bits import bits
from tests.oracles import imputation as oracles
from tests.oracles.agglomeration import co_occurrence as dense_blocks
from tests.oracles.rankings import rank_candidates

X, Y = make_data()
BASE = Parabel(2, max_leaf_size=5)
FIXED = {"gamma": 30.0, "propensity_weight": 0.5, "random_state": 0}


@pytest.fixture(scope="module")
def base():
    return clone(BASE).set_params(random_state=0).fit(X, Y)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 6))
def test_candidates_are_ranked_as_by_sorting(seed, k):
    rng = np.random.default_rng(seed)
    labels = np.stack([rng.permutation(9)[:6] for _ in range(8)]).astype(np.int32)
    labels[rng.random((8, 6)) < 0.2] = -1
    # Few values, so that there are ties.
    logs, cosines = (np.float32(rng.integers(0, 3, (8, 6))) for _ in range(2))
    bonus = np.float32(rng.integers(0, 3, 9))
    strengths, weights = np.float32([0, 1, 2]), np.float32([0, 0.5, 1])
    found = Candidates(labels, logs, cosines, bonus).best(strengths, weights, k, n_threads=1)
    for i, row in enumerate(zip(labels, logs, cosines, strict=True)):
        for w, (strength, weight) in enumerate(zip(strengths, weights, strict=True)):
            wanted = rank_candidates(*row, bonus, strength=strength, weight=weight, k=k)
            assert found[i, w].tolist() == wanted


def test_many_candidates_are_ranked_as_by_sorting():
    # More than 128 are kept in a heap.
    rng = np.random.default_rng(0)
    labels = rng.permutation(400).astype(np.int32)[None, :]
    logs, cosines = (np.float32(rng.integers(0, 40, (1, 400))) for _ in range(2))
    candidates = Candidates(labels, logs, cosines, np.zeros(400, np.float32))
    found = candidates.best(np.float32([1]), np.float32([0]), 300, n_threads=1)
    order = np.lexsort((labels[0], -(logs + cosines)[0]))
    np.testing.assert_array_equal(found[0, 0], order[:300])


@pytest.mark.parametrize("n_features", [5, 400])
def test_products_with_prototypes_equal_dense_ones(n_features):
    # Prototypes of 300 entries are looked up, shorter ones are walked along.
    rng = np.random.default_rng(0)
    rows = sparse.random_array((30, n_features), density=4 / n_features, rng=rng, format="csr")
    prototypes = sparse.random_array((12, n_features), density=0.75, rng=rng, format="csr")
    labels = rng.integers(-1, 12, (30, 7)).astype(np.int32)
    found = _native.candidate_products(rows, labels, prototypes, n_threads=1)
    products = (rows @ prototypes.T).toarray()
    wanted = np.where(labels >= 0, np.take_along_axis(products, np.maximum(labels, 0), 1), 0)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    for threads in (2, 3):
        again = _native.candidate_products(rows, labels, prototypes, n_threads=threads)
        assert bits(again) == bits(found)


def test_a_prototype_ends_where_the_next_begins():
    # The first is looked up, since it is long; the feature of the row is the first of the second.
    prototypes = np.zeros((2, 400), dtype=np.float32)
    prototypes[0, :300] = prototypes[1, 350:] = 1.0
    row = sparse.csr_array((np.float32([3]), ([0], [350])), shape=(1, 400))
    labels, prototypes = np.int32([[0, 1]]), sparse.csr_array(prototypes)
    assert _native.candidate_products(row, labels, prototypes, n_threads=1).tolist() == [[0, 3]]


@pytest.mark.parametrize("co_occurrence", ["identity", "cosine", "block"])
def test_cosines_are_those_of_the_formula(co_occurrence):
    model = Refrag(BASE, co_occurrence=co_occurrence, n_clusterings=2, prototype_entries=0, **FIXED)
    model.fit(X, Y)
    rows = np.stack([oracles.unit(row) for row in X.toarray().astype(np.float64)])
    sums = Y.T.toarray() @ rows
    if co_occurrence != "identity":
        scale = "cosine" if co_occurrence == "cosine" else "raw"
        points = sparse.csr_array(np.float32(rows))
        fitted = [Defrag(sample_points=1.0, random_state=seed).fit(points)
                  for seed in member_seeds(0, 2)]  # fmt: skip
        sums = sums @ sum(dense_blocks(points, one.labels_, scale=scale) for one in fitted)
    wanted = np.stack([oracles.unit(row) for row in sums])
    np.testing.assert_allclose(model.prototypes_.toarray(), wanted, atol=1e-5)
    assert not model.prototypes_[[37, 38, 39]].nnz  # labels without points


@pytest.mark.parametrize(
    "nothing", [{"alpha": 1.0, "gamma": 30.0}, {"gamma": 0.0}, {"alpha": 0.3, "gamma": 0.0}]
)
def test_zero_weights_give_scores_of_base(base, nothing):
    model = Refrag(BASE, propensity_weight=0.0, random_state=0, **nothing).fit(X, Y)
    assert bits(model.predict_topk(X, 7)) == bits(base.predict_topk(X, 7))


def test_almost_no_weight_gives_the_ranking_of_the_base(base):
    # Not by the shortcut: through candidates, sums and scores.
    model = Refrag(BASE, gamma=1e-30, propensity_weight=0.0, random_state=0).fit(X, Y)
    labels, scores = model.predict_topk(X, 7)
    wanted, wanted_scores = base.predict_topk(X, 7)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_allclose(scores, wanted_scores, rtol=2e-5)


def test_scores_are_those_computed_by_hand():
    model = Refrag(BASE, alpha=0.5, gamma=4.0, propensity_weight=1.0, random_state=0).fit(X, Y)
    labels, scores = model.predict_topk(X, 5)
    found, base_scores = model.base_._rank(X, 40, exhaustive=False)
    propensity = np.log(metrics.inverse_propensity(Y))
    rows = np.stack([oracles.unit(row) for row in X.toarray()])
    for row in (1, 2, 50):
        log_a = -4.0 * (1 - model.prototypes_.toarray() @ rows[row])
        known = found[row] >= 0
        ids, b = found[row][known], base_scores[row][known]
        sums = 0.5 * np.log(b) + 0.5 * log_a[ids] + propensity[ids]
        order = np.lexsort((ids, -sums))[:5]
        assert labels[row].tolist() == ids[order].tolist()
        shares = np.exp((sums[order] - sums[order[0]]) / 0.5)
        np.testing.assert_allclose(scores[row], b.max() * shares, rtol=1e-4)


def test_rare_labels_rise_and_labels_without_points_do_not(base):
    model = Refrag(BASE, gamma=0.0, propensity_weight=3.0, random_state=0).fit(X, Y)
    seen = np.append(np.bincount(Y.indices, minlength=40), 0)
    assert seen[model.predict_topk(X, 3)[0]].mean() < seen[base.predict_topk(X, 3)[0]].mean()
    widened = Refrag(BASE, gamma=60.0, propensity_weight=3.0, widen=40, random_state=0).fit(X, Y)
    assert not np.isin(widened.predict_topk(X, 20)[0], [37, 38, 39]).any()


def test_widening_reaches_labels_that_the_base_does_not_give():
    narrow = Parabel(1, max_leaf_size=2, beam_size=1)
    settings_ = {"gamma": 60.0, "alpha": 0.2, "propensity_weight": 0.0, "random_state": 0}
    closed, wide, wider, widest = (
        Refrag(narrow, widen=widen, **settings_).fit(X, Y) for widen in (0, 10, 40, 2**62)
    )
    assert (closed.predict_topk(X, 5)[0] >= 0).sum(axis=1).max() <= 2
    labels, scores = wide.predict_topk(X, 5)
    assert (labels >= 0).sum(axis=1).max() == 5
    for row in labels:
        known = row[row >= 0]
        assert len(set(known.tolist())) == len(known)
    assert np.isfinite(scores).all()
    assert wide._max_ranked() == closed._max_ranked() + 10
    np.testing.assert_array_equal(widest.predict_topk(X, 5)[0], wider.predict_topk(X, 5)[0])


def test_choice_respects_max_loss_on_held_out_points():
    model = Refrag(BASE, max_loss=2.0, target="PSP@1", random_state=0).fit(X, Y)
    table = model.trade_off_
    assert table.n_rows == 240
    assert (table.gamma[0], table.propensity_weight[0]) == (0.0, 0.0)
    settings_ = list(zip(table.gamma, table.propensity_weight, strict=True))
    chosen = settings_.index((model.gamma_, model.propensity_weight_))
    assert (table.loss("P@1") + 3 * table.errors["P@1"])[chosen] <= 2.0
    assert table.measures["PSP@1"][chosen] >= table.measures["PSP@1"][0]
    # Another word, without training: no loss is too large.
    model.choose("PSP@5", max_loss=100.0)
    assert (model.target, model.max_loss) == ("PSP@5", 100.0)
    best = np.argmax(table.measures["PSP@5"])
    assert (model.gamma_, model.propensity_weight_) == settings_[best]
    assert model.choose("PSP@1", guard="P@3", max_loss=0.0).guard == "P@3"
    with pytest.raises(ValueError, match=r"target of Refrag must be one of .* got 'R@1'"):
        model.choose("R@1")
    with pytest.raises(ValueError, match="choose requires gamma or propensity_weight to be 'auto'"):
        Refrag(BASE, **FIXED).fit(X, Y).choose(max_loss=1.0)


def test_tally_by_hand():
    # Two rows, three candidates; the second setting trusts the bonus alone.
    labels = np.int32([[0, 1, 2], [2, 1, -1]])
    logs = np.float32([[0, -1, -2], [0, -1, -9]])
    found = Candidates(labels, logs, np.zeros((2, 3), np.float32), np.float32([0, 1, 2]))
    tally = Tally(np.float32([0, 0]), np.float32([0, 10]))
    Y = sparse.csr_array(np.float32([[1, 0, 0], [0, 1, 1]]))
    tally.add(found, Y, np.array([1.0, 2.0, 4.0]), 1)
    measures = tally.measures()
    assert measures["P@1"].tolist() == [100, 50]
    assert measures["PSP@1"].tolist() == [100, 80]
    np.testing.assert_allclose(measures["P@3"], [50, 50])
    np.testing.assert_allclose(measures["coverage@1"], [200 / 3, 100 / 3])
    # The losses of the two rows are 1 and 0: their mean has a deviation of 1/2 over root 2.
    np.testing.assert_allclose(tally.errors()["P@1"], [0, 50 / 2**0.5])


def test_frontier_has_no_setting_that_another_beats():
    measures = {"P@1": np.array([80.0, 79, 79.5, 78]), "PSP@1": np.array([30.0, 33, 32, 31])}
    zeros = np.zeros(4)
    table = TradeOff(zeros, zeros, zeros, measures, {"P@1": zeros}, 10)
    assert table.choose("PSP@1", "P@1", 0.5) == 2
    assert table.choose("PSP@1", "P@1", 5.0) == 1
    assert table.choose("PSP@1", "P@1", 0.0) == 0
    assert table.frontier("PSP@1", "P@1").tolist() == [0, 2, 1]
    unsure = TradeOff(zeros, zeros, zeros, measures, {"P@1": np.array([0, 0.2, 0.2, 0.2])}, 10)
    assert unsure.choose("PSP@1", "P@1", 1.0) == 0
    assert unsure.choose("PSP@1", "P@1", 1.2) == 2
    lines = str(unsure).splitlines()
    assert lines[0].split() == [
        "alpha", "gamma", "propensity_weight", "P@1", "PSP@1", "loss", "of", "P@1",
    ]  # fmt: skip
    assert lines[2].split() == ["0", "0", "0", "79.50", "32.00", "0.50,", "at", "most", "1.10"]
    assert len(lines) == 4


def test_choice_without_effect_warns():
    model = Refrag(BASE, random_state=0).fit(X, Y)
    unsure = {name: 50.0 + 0 * errors for name, errors in model.trade_off_.errors.items()}
    model.trade_off_ = replace(model.trade_off_, errors=unsure)
    with pytest.warns(DataWarning, match="Refrag changes nothing: no setting raises PSP@3 with"):
        model.choose(max_loss=0.5)
    assert (model.gamma_, model.propensity_weight_) == (0.0, 0.0)
    assert bits(model.predict_topk(X)) == bits(model.base_.predict_topk(X))


@pytest.mark.slow
def test_the_loss_on_other_points_is_at_most_what_was_asked_for():
    data = load_dataset("debian").train
    for seed in (0, 1):
        order = np.random.default_rng(seed).permutation(data.X.shape[0])
        train, other = order[:3000], order[3000:7000]
        model = Refrag(LabelTree(preset="fast"), random_state=seed, n_jobs=2)
        model.fit(data.X[train], data.Y[train])
        found = [metrics.precision(data.Y[other], one.predict_topk(data.X[other], k=1)[0])
                 for one in (model.base_, model)]  # fmt: skip
        assert found[0] - found[1] <= 0.5


@pytest.mark.parametrize(
    ("given_", "tried"),
    [
        ({}, {"alpha": 1, "gamma": 8, "propensity_weight": 41}),
        ({"gamma": 30.0}, {"alpha": 1, "gamma": 2, "propensity_weight": 41}),
        ({"gamma": 30.0, "alpha": "auto", "propensity_weight": 0.0}, {"alpha": 9}),
        ({"alpha": "auto"}, {"alpha": 1, "gamma": 8}),
    ],
)
def test_auto_tries_expected_settings(given_, tried):
    table = Refrag(BASE, random_state=0, **given_).fit(X, Y).trade_off_
    for name, number in tried.items():
        assert len(np.unique(getattr(table, name))) == number, name


def test_rounds_hold_out_requested_rows():
    model = Refrag(BASE, held_out=0.25, held_out_rows=61, random_state=0)
    assert model.fit(X, Y).trade_off_.n_rows == 120
    held = [rows for rows, rest in model._rounds(Y, 0) if not np.isin(rows, rest).any()]
    assert len(np.unique(np.concatenate(held))) == 120


def test_no_label_is_lowered_by_its_propensity():
    # Of two points the formula makes inverse propensities below 1.
    Y = sparse.csr_array(np.float32([[1, 0, 1], [0, 1, 1]]))
    assert (metrics.inverse_propensity(Y) < 1).all()
    model = Refrag(LabelTree(), gamma=1.0, propensity_weight=1.0, random_state=0)
    np.testing.assert_array_equal(model.fit(np.eye(2), Y).bonus_, 0)


def test_opposite_prototypes_are_not_near():
    labels, logs = np.int32([[4, -1], [0, 1]]), np.float32([[-1, 0], [-2, -3]])
    nearest = sparse.csr_array(np.float32([[0, 0.5, 0, 0, 0.9], [0, 0, 0.2, -0.1, 0]]))
    found, scores = add_nearest(labels, logs, nearest, 3)
    assert found.tolist() == [[4, -1, 1, -1, -1], [0, 1, 2, -1, -1]]
    assert scores[0, 2] == -1  # the lowest of the row
    assert scores[1, 2] == -3


def test_too_few_labelled_points_are_refused():
    for n_labelled in (2, 1):
        few = sparse.csr_array(np.float32([[1, 0]] * n_labelled + [[0, 0]] * (10 - n_labelled)))
        with pytest.raises(ValueError, match=rf"more than 2 labelled .* n_samples = {n_labelled}"):
            Refrag(BASE).fit(np.eye(10), few)
    assert Refrag(BASE, **FIXED).fit(np.eye(10), few).predict_topk(np.eye(10), 2)[0].max() == 0
