"""Checks of further settings; one configuration of each estimator is in test_contract.py."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import defrag.baselines as published
from defrag import Agglomerated, Defrag, DiSMEC, Fiat, Focus, Focused, Imputed, LabelTree, Refrag
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from tests.agglomeration.test_rivals import ALL
from tests.contract.copies import check_threads
from tests.contract.subject import answers, check_answers
from tests.contract.test_contract import declared
from tests.data import make_data
from tests.helpers.bits import bits

SINGLE = {"max_cluster_size": 1}
SETTINGS = [
    LabelTree(),
    LabelTree(2, preset="fast", max_leaf_size=2, arity=2, root_arity=2),
    Parabel(1, max_leaf_size=2),
    published.Bonsai(),
    published.Bonsai(arity=2),
    published.PLT(),
    published.PLT(max_leaf_size=1),
    DiSMEC(),
    DiSMEC("exact", weight_threshold=0.0),
    published.PPDSparse(),
    published.ProXML(),
    published.ProXML(solution="minimum"),
    published.LEML(),
    published.SLEEC(2, cluster_size=20, n_components=20),
    published.AnnexML(2, cluster_size=20, n_components=20),
    published.LPSR(cluster_size=20),
    published.LPSR(LabelTree(), cluster_size=20),
    Agglomerated(LabelTree(2), Hybrid(max_cluster_size=1)),
    Agglomerated(Parabel(1), Defrag(max_cluster_size=1)),
    Agglomerated(DiSMEC(), Defrag(max_cluster_size=1)),
    Focused(),
    Refrag(Parabel(1, max_leaf_size=2), max_loss=0.0),
    Refrag(LabelTree(), gamma=4.0, propensity_weight=0.25, widen=2),
    Refrag(Parabel(1), co_occurrence="block", gamma=2.0, propensity_weight=0.0),
    Refrag(Parabel(1), co_occurrence="paper", gamma=1e-9, propensity_weight=0.0),
    Imputed(Parabel(1)),
    Imputed(Parabel(1), Fiat(beta=0.1)),
    Fiat(),
    Fiat("paper"),
    Fiat("missing"),
    Fiat("cosine", row_norm=False),
    Fiat(beta=0.3, max_growth=None),
    Fiat(companions=None),
    Focus(),
    Defrag(),
    Defrag(split="ndcg", max_cluster_size=2, representation="x", row_norm="l2"),
    Defrag("xy", max_cluster_size=3, random_state=0, unseen="drop"),
    Defrag(max_cluster_size=1, pooling="mean", singletons=0.5),
    Hybrid(max_cluster_size=2),
    *ALL,
    published.ITDC(**SINGLE),
    published.SCBC(**SINGLE, balance=1.0),
    published.LSC("xy", **SINGLE),
    published.BCLS("xy", **SINGLE, max_iter=50),
]


@pytest.mark.slow
@parametrize_with_checks(SETTINGS, expected_failed_checks=declared)
def test_scikit_learn(estimator, check):
    check(estimator)


MORE = [
    LabelTree(2, preset="exact", max_leaf_size=4, arity=2, root_arity=3),
    LabelTree(2, max_leaf_size=4, arity=3, root_arity=3),
    published.Bonsai(n_trees=2, arity=4, max_depth=3),
    published.Bonsai(n_trees=1, arity=3, label_representation="xy"),
    published.PLT(n_trees=2, arity=4, max_leaf_size=2, search="beam"),
    published.LEML(20),
    published.FastXML(5, C=4.0),
    published.PfastreXML(5, C=4.0),
    published.CRAFTML(5),
    Agglomerated(Parabel(2), Defrag("xy", max_cluster_size=2), per_member=False),
    Agglomerated(DiSMEC(), Hybrid(max_cluster_size=2, pooling="mean")),
    Refrag(Parabel(2), co_occurrence="cosine"),
    Refrag(Parabel(2), co_occurrence="block", gamma=30.0, propensity_weight=0.5, widen=6),
    Refrag(Agglomerated(LabelTree(2), Hybrid(max_cluster_size=2))),
    Defrag("xy"),
    Defrag(split="ndcg"),
    Defrag(singletons=0.3, unseen="drop"),
]
ROWS = (0, 1, 23, 77, 239)


@pytest.mark.parametrize("model", [*SETTINGS, *MORE], ids=str)
def test_answers_to_many_points_agree(model, tmp_path, monkeypatch):
    # Small blocks, so that several threads work on dense products, too.
    monkeypatch.setattr("defrag.baselines._neighbours._BLOCK_ROWS", 50)
    X, Y = make_data()
    model = check_threads(clone(model).set_params(random_state=0), X, Y, tmp_path)
    wanted = check_answers(model, X)
    order = np.random.default_rng(0).permutation(X.shape[0])
    shuffled = answers(model, X[order])
    for name in wanted.keys() - {"classes"}:
        assert bits(shuffled[name]) == bits(wanted[name][order]), name
    for row in ROWS:
        alone = answers(model, X[[row]])
        for name in wanted.keys() - {"classes"}:
            assert bits(alone[name]) == bits(wanted[name][[row]]), (name, row)
    if hasattr(model, "labels_") and hasattr(model, "transform"):
        groups = model.labels_
        assert groups.dtype == np.int32
        assert (
            -1 <= groups.min() <= groups.max() < model.n_clusters_ == wanted["transformed"].shape[1]
        )
    if "labels" in wanted:
        check_ranking(model, X, Y, wanted)


def check_ranking(model, X, Y, wanted):
    """Check that forms of an answer are one ranking, that of labels which have points."""
    labels, found = wanted["labels"], wanted["labels"] >= 0
    assert not np.isin(labels, [37, 38, 39]).any()  # labels without points
    rows = np.nonzero(found)[0]
    few = model.decision_function(X, k=4)
    assert bits(np.asarray(few[rows, labels[found]]).ravel()) == bits(wanted["scores"][found])
    np.testing.assert_array_equal(
        wanted["predicted"].toarray() == 1, wanted["decision"].toarray() > 0.5
    )
    every, scores = model.predict_topk(X, k=Y.shape[1])
    assert bits((every[:, :4], scores[:, :4])) == bits((labels, wanted["scores"]))
    for ids, own in zip(every, scores, strict=True):
        pairs = list(zip(-own[ids >= 0], ids[ids >= 0], strict=True))
        assert pairs == sorted(pairs)
    hits = np.asarray(Y[np.arange(len(labels)), np.maximum(labels[:, 0], 0)]).ravel()
    assert hits[np.diff(Y.indptr) > 0].mean() > 0.5
