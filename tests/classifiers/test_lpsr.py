"""LPSR: the labels of a cluster are chosen as promised, and the scorer ranks no others."""

import numpy as np
import pytest
from scipy import sparse

from defrag import DiSMEC, LabelTree
from defrag.baselines import LEML, LPSR
from defrag.baselines._neighbours import route
from defrag.baselines.lpsr import optimise_assignment
from tests.data import make_data
from tests.helpers.model_drafts import inside, item, put, refuse

X, Y = make_data()
SMALL = {"cluster_size": 40, "labels_per_cluster": 8, "random_state": 0}
BASES = [DiSMEC(), LEML(10), LabelTree(1, max_leaf_size=4)]


@pytest.mark.parametrize("base", BASES, ids=["dismec", "leml", "label_tree"])
def test_the_scorer_ranks_the_labels_of_the_cluster(base):
    model = LPSR(base, **SMALL).fit(X, Y)
    home = route(X, model.router_, n_threads=1)
    every, scores = model.base_._rank(X, Y.shape[1], exhaustive=True)
    labels, found = model.predict_topk(X, k=5)
    for i, c in enumerate(home):
        allowed = model.labels_[model.label_ptr_[c] : model.label_ptr_[c + 1]]
        kept = np.isin(every[i], allowed)
        wanted = every[i][kept][:5]
        np.testing.assert_array_equal(labels[i, : len(wanted)], wanted)
        np.testing.assert_array_equal(found[i, : len(wanted)], scores[i][kept][:5])
        assert (labels[i, len(wanted) :] == -1).all()


def test_the_most_frequent_labels_of_a_cluster():
    model = LPSR(**SMALL).fit(X, Y)
    home = route(X, model.router_, n_threads=1)
    assert len(model.label_ptr_) - 1 == len(np.unique(home)) > 2
    for c in np.unique(home):
        counts = Y.toarray()[home == c].sum(axis=0)
        best = sorted(np.flatnonzero(counts), key=lambda label: (-counts[label], label))[:8]
        chosen = model.labels_[model.label_ptr_[c] : model.label_ptr_[c + 1]]
        assert chosen.tolist() == sorted(best)


def objective(alpha, candidates, Y, ranked):
    """Compute what the assignment maximises, label by label."""
    weight = dict(zip(candidates.tolist(), alpha, strict=True))
    total = 0.0
    for t, row in enumerate(Y.toarray()):
        order = {label: r + 1 for r, label in enumerate(ranked[t].tolist()) if label in weight}
        for label in order.keys() & set(np.flatnonzero(row).tolist()):
            before = sum(weight[other] for other, r in order.items() if r < order[label])
            phi = 1 / (1 + np.exp(5 - before))
            total += weight[label] / order[label] * (1 - phi) / row.sum()
    return total


def test_the_optimised_assignment_raises_its_objective():
    rng = np.random.default_rng(0)
    few = sparse.csr_array((rng.random((30, 40)) < 0.1).astype(np.float32))
    ranked = np.array([rng.permutation(40) for _ in range(30)], dtype=np.int32)
    candidates = np.arange(0, 40, 2)
    alpha = optimise_assignment(candidates, few, ranked)
    assert ((alpha >= 0) & (alpha <= 1)).all()
    best = objective(alpha, candidates, few, ranked)
    for other in (np.full(20, 0.5), np.ones(20)):
        assert best > objective(other, candidates, few, ranked)
    model = LPSR(assignment="optimised", **SMALL).fit(X, Y)
    assert np.diff(model.label_ptr_).max() == model._max_ranked() == 8
    plain = LPSR(**SMALL).fit(X, Y)
    assert not np.array_equal(model.labels_, plain.labels_)


BROKEN = {
    "no cluster": (put("label_ptr", np.zeros(1, np.int64)), "must have at least one cluster"),
    "labels fall": (item("labels", 1, 0), "'labels' must increase"),
    "other features": (inside("state", n_features=89), "must have the features"),
    "no base": (lambda draft: draft.model["children"].clear(), "children of the model must be"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused_by_name(tmp_path, case):
    LPSR(**SMALL).fit(*make_data()).save(tmp_path / "a")
    refuse(tmp_path, (tmp_path / "a").read_bytes(), *BROKEN[case])
