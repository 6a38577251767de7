"""scikit-learn's checks of further settings; one configuration of each is in test_contract.py."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from defrag import Agglomerated, Defrag, DiSMEC, Fiat, Focus, Focused, Imputed, LabelTree, Refrag
from defrag.agglomeration import Hybrid
from defrag.baselines import (
    BCLS,
    ITDC,
    LEML,
    LPSR,
    LSC,
    PLT,
    SCBC,
    SLEEC,
    AnnexML,
    Bonsai,
    Parabel,
    PPDSparse,
    ProXML,
)
from tests.agglomeration.test_rivals import ALL
from tests.contract.test_contract import declared

SINGLE = {"max_cluster_size": 1}
SETTINGS = [
    LabelTree(),
    LabelTree(2, preset="fast", max_leaf_size=2, arity=2, root_arity=2),
    Parabel(1, max_leaf_size=2),
    Bonsai(),
    Bonsai(arity=2),
    PLT(),
    PLT(max_leaf_size=1),
    DiSMEC(),
    DiSMEC("exact", weight_threshold=0.0),
    PPDSparse(),
    ProXML(),
    ProXML(solution="minimum"),
    LEML(),
    SLEEC(2, cluster_size=20, n_components=20),
    AnnexML(2, cluster_size=20, n_components=20),
    LPSR(cluster_size=20),
    LPSR(LabelTree(), cluster_size=20),
    Agglomerated(LabelTree(2), Hybrid(max_cluster_size=1)),
    Agglomerated(Parabel(1), Defrag(max_cluster_size=1)),
    Agglomerated(DiSMEC(), Defrag(max_cluster_size=1)),
    Focused(),
    Refrag(Parabel(1, max_leaf_size=2), max_loss=0.0),
    Refrag(LabelTree(), gamma=4.0, propensity_weight=0.25, widen=2),
    Refrag(Parabel(1), co_occurrence="block", gamma=2.0, propensity_weight=0.0),
    Imputed(Parabel(1)),
    Imputed(Parabel(1), Fiat(beta=0.1)),
    Fiat(),
    Fiat("paper"),
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
    ITDC(**SINGLE),
    SCBC(**SINGLE, balance=1.0),
    LSC("xy", **SINGLE),
    BCLS("xy", **SINGLE, max_iter=50),
]


@pytest.mark.slow
@parametrize_with_checks(SETTINGS, expected_failed_checks=declared)
def test_scikit_learn(estimator, check):
    check(estimator)
