"""Explanations of every way in which scores come about, against slow twins and predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from defrag import (
    Agglomerated,
    Defrag,
    DiSMEC,
    Fiat,
    Focus,
    Focused,
    Imputed,
    LabelTree,
    Refrag,
    load_dataset,
)
from defrag.baselines import LEML, LPSR, PLT, Bonsai, FastXML, Parabel
from defrag.classifiers._support import unit_rows
from defrag.explain.explainers import logarithmic_mean, secant
from tests.data import make_data
from tests.oracles.explain import integrated_gradients, tree_score

X, Y = make_data(n=200, d=60, n_labels=24, seed=1)
ROWS = np.argsort(-np.diff(X.indptr), kind="stable")[:4].tolist()
ROW = X[[ROWS[0]]]
WIDE = {"beam_size": 1000}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (LabelTree(max_leaf_size=3, root_arity=3), ("squared_hinge", 1.0, 0.4, 3)),
        (LabelTree(max_leaf_size=3, root_arity=3, hard_negatives=False),
         ("squared_hinge", 1.0, 1.0, 3)),
        (Parabel(1, max_leaf_size=4), ("squared_hinge", 1.0, 1.0, 2)),
        (Bonsai(1, arity=3), ("squared_hinge", 0.98, 0.98, 2)),
        (PLT(max_leaf_size=4), ("logistic", 1.0, 1.0, 2)),
    ],
    ids=["label-tree", "label-tree-plain", "parabel", "bonsai", "plt"],
)  # fmt: skip
def test_contributions_are_integrated_gradients(model, rule):
    model.set_params(random_state=0).fit(X, Y)
    loss, discount, leaf_discount, power = rule
    tree = model.trees_[0]
    row = ROW.toarray()[0].astype(np.float64)
    unit = row / np.linalg.norm(row)
    for one in model.explain(ROW, k=2):
        score = tree_score(
            tree.tree, tree.weights, one.label_id, len(unit),
            loss=loss, discount=discount, leaf_discount=leaf_discount, power=power,
        )  # fmt: skip
        assert one.score == pytest.approx(score(unit), abs=1e-6)
        assert one.base == pytest.approx(score(0 * unit), abs=1e-6)
        slow = integrated_gradients(lambda x, score=score: np.log(score(x)), unit)
        scale = (one.score - one.base) / np.log(one.score / one.base)
        np.testing.assert_allclose(one.contributions, (slow * scale)[one.features], atol=2e-4)
        by_step = np.sum([step.contributions for step in one.path], axis=0)
        np.testing.assert_allclose(by_step, one.contributions, atol=1e-12)
        assert np.prod([step.score for step in one.path]) == pytest.approx(one.score)
        assert np.prod([step.base for step in one.path]) == pytest.approx(one.base)


@pytest.mark.parametrize(
    "model",
    [
        LabelTree(2, max_leaf_size=3, root_arity=3, **WIDE),
        DiSMEC(),
        LEML(n_components=8),
        FastXML(5),
        Focused(LabelTree(max_leaf_size=3, root_arity=3, **WIDE), Focus(0.7)),
        Agglomerated(LabelTree(2, max_leaf_size=3, **WIDE), Defrag(max_cluster_size=3)),
        Agglomerated(DiSMEC(), Defrag(max_cluster_size=3, pooling="mean_nonzero")),
        Imputed(LabelTree(max_leaf_size=3, **WIDE), Fiat(beta=0.5)),
    ],
    ids=lambda model: str(model).split("(")[0],
)
def test_without_is_prediction_without_feature(model):
    model.set_params(random_state=0).fit(X, Y)
    checked = 0
    for number in ROWS:
        for one in model.explain(X[[number]], k=3):
            for feature, without in zip(one.features, one.without, strict=True):
                row = X[[number]].toarray()
                row[0, feature] = 0.0
                if not row.any():
                    continue
                labels, scores = model.predict_topk(row, k=24)
                place = np.flatnonzero(labels[0] == one.label_id)
                wanted = scores[0, place[0]] if len(place) else 0.0
                if len(place) or without > 1e-6:
                    assert without == pytest.approx(wanted, abs=1e-6)
                    checked += 1
    assert checked > 20


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), trees=st.integers(1, 3), beam_size=st.integers(1, 4))
def test_score_is_that_of_search(seed, trees, beam_size):
    points, labels = make_data(n=80, d=25, n_labels=15, seed=seed)
    model = LabelTree(trees, max_leaf_size=2, root_arity=2, arity=2, beam_size=beam_size,
                      random_state=0).fit(points, labels)  # fmt: skip
    for number in (1, 2, 3):
        if not points[[number]].nnz:
            continue
        ranked, scores = model.predict_topk(points[[number]], k=6)
        found = model.explain(points[[number]], k=6)
        assert [one.label_id for one in found] == ranked[0][ranked[0] >= 0].tolist()
        for one, score in zip(found, scores[0], strict=False):
            assert one.score == pytest.approx(score, abs=1e-6)
            assert bool(one.notes) == (len({step.member for step in one.path}) < trees)


def test_label_missed_by_search_is_explained():
    model = LabelTree(2, max_leaf_size=2, root_arity=2, arity=2, beam_size=1, random_state=0)
    model.fit(X, Y)
    found = {*model.predict_topk(ROW, k=24)[0][0].tolist()}
    missed = next(label for label in range(20) if label not in found)
    one = model.explain(ROW, label=missed)
    assert "does not find this label" in one.notes[0]
    wide = model.set_params(beam_size=1000).explain(ROW, label=missed)
    assert one.score == pytest.approx(wide.score, abs=1e-12)


@pytest.mark.parametrize("widen", [0, 5])
def test_re_ranked_score_has_parts_of_base_and_prototype(widen):
    base = LabelTree(max_leaf_size=3, root_arity=3, beam_size=1, random_state=0)
    model = Refrag(base, gamma=8, propensity_weight=0.3, widen=widen, candidates=3, random_state=0)
    model.fit(X, Y)
    for number in ROWS:
        ranked, scores = model.predict_topk(X[[number]], k=6)
        found = model.explain(X[[number]], k=6)
        assert len(found) == np.count_nonzero(ranked >= 0)
        for one, score in zip(found, scores[0], strict=False):
            assert one.score == pytest.approx(score, abs=1e-6)
            assert one.base + one.contributions.sum() == pytest.approx(one.score, abs=1e-9)
            assert one.notes[-1].startswith("re-ranked; the base gives the label 0.")
    other = next(label for label in range(20) if label not in ranked)
    note = model.explain(X[[ROWS[-1]]], other).notes[-1]
    assert "not one of the labels that are re-ranked" in note


def test_members_of_group_share_contribution():
    model = Agglomerated(DiSMEC(), Defrag(max_cluster_size=4), random_state=0).fit(X, Y)
    groups, inner = model.members_[0]
    outside, inside = model.explain(ROW), inner.explain(groups._apply(ROW))
    row = ROW.toarray()[0]
    for group, whole in zip(inside.features, inside.contributions, strict=True):
        own = np.flatnonzero(groups.labels_[outside.features] == group)
        values = row[outside.features[own]]
        shares = whole * values / values.sum()
        np.testing.assert_allclose(outside.contributions[own], shares, rtol=1e-6)


@pytest.mark.parametrize("mode", ["blend", "cosine", "missing"])
def test_imputed_entries_belong_to_source_features(mode):
    fiat = Fiat(mode, beta=0.7, companions=None, max_growth=None, random_state=0).fit(X)
    for number in ROWS:
        imputed = fiat._apply(X[[number]])
        shares = fiat._shares(X[[number]], imputed).matrix.toarray()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-6)
        # A row of one feature imputes in proportion to the parts of that feature.
        unit = X[[number]].toarray()[0] / np.linalg.norm(X[[number]].toarray())
        related = fiat.co_occurrence_.of_features(X[[number]].indices).toarray()
        product = unit[X[[number]].indices] @ related
        if mode == "blend":
            product = unit + 0.7 * product / np.linalg.norm(product)
        if mode == "missing":
            product = np.where(unit, unit, product / np.linalg.norm(product))
            imputed = unit_rows(imputed, 1)
        wanted = product / np.linalg.norm(product)
        np.testing.assert_allclose(imputed.toarray()[0], wanted, atol=1e-5)


def test_label_outside_cluster_is_noted():
    model = LPSR(DiSMEC(), cluster_size=20, labels_per_cluster=3, random_state=0).fit(X, Y)
    labels = model.predict_topk(ROW, k=24)[0][0]
    other = next(label for label in range(20) if label not in labels)
    one = model.explain(ROW, label=other)
    note = "not a label of the point's cluster, so not predicted: the score is that of the base"
    assert one.notes == (note,)
    assert one.score == pytest.approx(model.base_.explain(ROW, label=other).score)


def test_removing_largest_contributions_lowers_score_most():
    model = FastXML(10, random_state=0).fit(X, Y)  # a method without a decomposition
    draw = np.random.default_rng(0)
    wins = total = 0
    for number in range(1, 60):
        row = X[[number]]
        if row.nnz < 6:
            continue
        one = model.explain(row)
        if one.score < 0.2:
            continue
        total += 1
        kept = row.toarray()
        kept[0, one.features[np.argsort(-one.contributions)[:2]]] = 0.0
        random = row.toarray()
        random[0, draw.choice(row.indices, 2, replace=False)] = 0.0
        after, by_chance = (
            model.explain(sparse.csr_array(rest), label=one.label_id).score
            for rest in (kept, random)
        )
        wins += after <= by_chance
    assert total > 15
    assert wins >= 0.9 * total


@pytest.mark.slow
@pytest.mark.parametrize("model", [LabelTree(), Focused(LabelTree(2))], ids=repr)
def test_largest_contributions_lower_score_more_than_random_ones(model):
    data = load_dataset("debian")
    model = clone(model).set_params(random_state=0).fit(data.train.X[:4000], data.train.Y[:4000])
    draw = np.random.default_rng(0)
    long_enough = np.flatnonzero(np.diff(data.test.X.indptr) >= 6)
    wins = []
    for number in draw.choice(long_enough, 200, replace=False):
        row = data.test.X[[number]]
        one = model.explain(row)
        largest = one.features[np.argsort(-one.contributions)[:3]]
        scores = []
        for gone in (largest, draw.choice(row.indices, 3, replace=False)):
            kept = ~np.isin(row.indices, gone)
            rest = np.zeros((1, row.shape[1]), dtype=np.float32)
            rest[0, row.indices[kept]] = row.data[kept]
            search = model._explainer(row, np.array([one.label_id], dtype=np.int32), 5)
            scores.append(search.scores(sparse.csr_array(rest))[0, 0])
        wins.append(scores[0] < scores[1])
    assert np.mean(wins) >= 0.95


def test_long_rows_leave_small_entries_out_together():
    classes = np.arange(40) % 2
    points = np.ones((40, 400), dtype=np.float32)
    points[:, 250:] = 0.01 + 0.5 * (np.arange(150) % 2 == classes[:, None])
    one = FastXML(5, random_state=0).fit(points, classes).explain(points[[0]])
    assert len(one.features) == 400
    assert one.base + one.contributions.sum() == pytest.approx(one.score, abs=1e-9)
    # The entries of the group share what it contributes in proportion to their squares.
    group = np.argsort(-points[0], kind="stable")[255:]
    shares, energy = one.contributions[np.argsort(one.features)][group], points[0, group] ** 2
    assert abs(shares.sum()) > 0.1
    np.testing.assert_allclose(shares / shares.sum(), energy / energy.sum(), rtol=1e-5)


def test_score_without_feature_that_dwarfs_all_others():
    """The length of the rest is no difference of two large numbers."""
    model = DiSMEC(random_state=0).fit(X, Y)
    row = ROW.copy()
    row.data[3] *= 1e7
    rest = row.toarray()
    rest[0, row.indices[3]] = 0.0
    labels, scores = model.predict_topk(rest, k=24)
    for one in model.explain(row, k=3):
        without = one.without[one.features.tolist().index(row.indices[3])]
        assert without == pytest.approx(scores[0, labels[0] == one.label_id][0], abs=1e-6)


def test_means_and_slopes_have_limits():
    at, start = np.array([2.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0 + 1e-9])
    np.testing.assert_allclose(secant(np.square, at, start), [2.0, 2.0, 2.0], rtol=1e-6)
    logs = np.log([4.0, 3.0, 3.0])
    others = np.log([1.0, 3.0, 3.0 + 1e-13])
    np.testing.assert_allclose(logarithmic_mean(logs, others), [3 / np.log(4), 3, 3], rtol=1e-9)
    assert logarithmic_mean(np.array(-1.0), np.array(-5000.0)) == pytest.approx(np.exp(-1) / 4999)


def test_without_is_computed_for_largest_of_many_features(monkeypatch):
    monkeypatch.setattr("defrag.explain.explainers._MAX_ENTRIES", 3 * ROW.nnz)
    one = FastXML(3, random_state=0).fit(X, Y).explain(ROW)
    assert np.isnan(one.without).tolist() == [False] * 3 + [True] * (ROW.nnz - 3)
    assert "nan" not in str(one)
