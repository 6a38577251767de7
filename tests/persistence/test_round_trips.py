"""Models in files: every structure comes back with the same bits, small weights come back close."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from defrag import Agglomerated, Defrag, DiSMEC, Fiat, Imputed, LabelTree, Refrag, load
from defrag.agglomeration import Hybrid
from defrag.baselines import SLEEC, AnnexML, FastXML, Parabel
from defrag.persistence import describe, pack
from tests.contract.subject import answer_bits
from tests.helpers.bits import bits
from tests.helpers.model_drafts import (
    INDICATOR,
    LETTERS,
    X,
    Y,
    small_agglomerated,
    small_craftml,
    small_defrag,
    small_dismec,
    small_forest,
    small_hybrid,
    small_imputed,
    small_label_tree,
    small_leml,
    small_lpsr,
    small_pfastrexml,
    small_rare,
    small_refrag,
    small_sleec,
)

BASE = Parabel(2, max_leaf_size=4)
GROUPS = Defrag(max_cluster_size=3, sample_points=1.0)
SIX = Hybrid(n_clusters=6)
NEAR = {"cluster_size": 60, "n_components": 12, "random_state": 0}

CLUSTERINGS = {
    "defrag": small_defrag,
    "no scale": lambda: small_defrag(scale=None),
    "mean of present": lambda: small_defrag(pooling="mean_nonzero"),
    "one group": lambda: small_defrag(max_cluster_size=99),
    "groups of one": lambda: small_defrag(max_cluster_size=1),
    "no tree": lambda: small_defrag(rest="hash"),
    "dropped": lambda: small_defrag(rest="drop", singletons=0.5),
    "all dropped": lambda: small_defrag(rest="drop"),
    "singletons and tree": lambda: small_defrag(singletons=0.4, n_clusters=5),
    "hybrid": small_hybrid,
}
IMPUTATIONS = {
    "imputation": lambda: Fiat(random_state=0).fit(X),
    "product": lambda: Fiat("paper", random_state=0).fit(X),
    "fixed blend": lambda: Fiat(beta=0.5, row_norm=False, random_state=0).fit(X),
    "imputation by groups": lambda: Fiat(agglomeration=GROUPS, random_state=0).fit(X),
}
CLASSIFIERS = {
    "label tree": small_label_tree,
    "three trees": lambda: small_label_tree(n_trees=3),
    "one leaf": lambda: small_label_tree(max_leaf_size=99),
    "no weights": lambda: small_label_tree(weight_threshold=1e9),
    "wide leaf": lambda: LabelTree(max_leaf_size=400, random_state=0).fit(
        np.repeat(X, 10, axis=0), [[i] for i in range(300)]
    ),
    "dense labels": lambda: small_label_tree().fit(X, INDICATOR),
    "sparse labels": lambda: small_label_tree().fit(X, sparse.csr_array(INDICATOR)),
    "parabel": lambda: Parabel(max_leaf_size=1, random_state=0).fit(X, Y),
    "agglomerated": small_agglomerated,
    "shared groups": lambda: small_agglomerated(per_member=False),
    "defaults": lambda: Agglomerated(random_state=1).fit(X, LETTERS),
    "agglomerated twice": lambda: small_agglomerated(base=Agglomerated(Parabel(2), Defrag())),
    "flat": small_dismec,
    "flat without weights": lambda: small_dismec(weight_threshold=1e9),
    "flat, dense labels": lambda: small_dismec().fit(X, INDICATOR),
    "flat, classes": lambda: small_dismec().fit(X, LETTERS),
    "flat on groups": lambda: small_agglomerated(base=DiSMEC("fast", batch_size=16)),
    "given vectors": lambda: small_agglomerated(agglomeration=Defrag(representation=np.eye(12))),
    "factors": small_leml,
    "clusters of labels": small_lpsr,
    "neighbours by labels": small_sleec,
    "many neighbours": lambda: SLEEC(3, **NEAR).fit(X, Y),
    "neighbours by cosine": lambda: AnnexML(3, **NEAR).fit(X, Y),
    "forest": small_forest,
    "forest of leaves": lambda: FastXML(3, max_leaf_size=100, random_state=0).fit(X, Y),
    "forest with prototypes": small_pfastrexml,
    "hashed forest": small_craftml,
}
COMPOSITES = {
    "re-ranked": lambda: small_refrag(gamma=4, propensity_weight=0.5),
    "re-ranked as chosen": lambda: small_refrag(widen=2),
    "re-ranked by blocks": lambda: small_refrag(
        co_occurrence="cosine", agglomeration=GROUPS, gamma=4.0
    ),
    "re-ranked classes": lambda: small_refrag().fit(X, np.arange(30) % 3),
    "imputed": small_imputed,
    "imputed by lists": lambda: small_imputed(companions=3),
    "imputed by given groups": lambda: small_imputed(
        beta=0.5, agglomeration=GROUPS.fit(X), prefit=True
    ),
    "all": lambda: Imputed(
        Refrag(Agglomerated(BASE, SIX), gamma=2.0, propensity_weight=0.1), random_state=0
    ).fit(X, Y),
    "below groups": lambda: Agglomerated(
        Refrag(BASE, gamma=2.0, propensity_weight=0.1), SIX, random_state=0
    ).fit(X, Y),
    "imputed groups": lambda: Agglomerated(
        Imputed(Refrag(BASE), Fiat(agglomeration=GROUPS)), SIX, random_state=0
    ).fit(X, Y),
    "above and below groups": lambda: small_refrag(
        base=Agglomerated(Imputed(BASE, Fiat(beta=0.5)), SIX), gamma=1.0, propensity_weight=0.2
    ),
    "both by default": lambda: small_refrag(base=Imputed(), gamma=1.0, propensity_weight=0.0),
    "rare": small_rare,
}
MODELS = CLUSTERINGS | IMPUTATIONS | CLASSIFIERS | COMPOSITES
LEARNT = ("classes_", "n_labels_", "n_features_in_", "multilabel_", "dense_answers_", "labels_",
          "energy_", "scale_", "n_clusters_", "n_iter_")  # fmt: skip


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_loaded_model_equals_saved_one(tmp_path, name, mmap):
    model = MODELS[name]()
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a", mmap=mmap)
    assert type(loaded) is type(model)
    wanted = answer_bits(model, X)
    for other in (loaded, pickle.loads(pickle.dumps(loaded))):  # noqa: S301 - its own bytes
        assert answer_bits(other.set_params(n_jobs=2), X) == wanted
    loaded.set_params(n_jobs=None)
    assert repr(loaded).replace("'given'", "").split() == repr(model).split() or "given" in name
    for one in LEARNT:
        assert bits(getattr(loaded, one, None)) == bits(getattr(model, one, None)), one
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    if "given" not in name:
        assert answer_bits(loaded.fit(X, INDICATOR), X) == answer_bits(model.fit(X, INDICATOR), X)


@pytest.mark.parametrize("name", [*CLASSIFIERS, "re-ranked as chosen"])
@pytest.mark.parametrize(("weights", "step"), [("float16", 2**-11), ("int8", 1 / 253)])
def test_small_weights_are_close_and_resave_to_same_bytes(tmp_path, name, weights, step):
    model = MODELS[name]()
    model.save(tmp_path / "a", weights=weights)
    loaded = load(tmp_path / "a")
    wanted, found = pack(model), pack(loaded)
    assert found.keys() == wanted.keys()
    for one, array in wanted.items():
        allowed = step * np.abs(array).max(initial=0) if array.dtype.kind == "f" else 0
        np.testing.assert_allclose(found[one], array, rtol=0, atol=allowed, err_msg=one)
    loaded.save(tmp_path / "b", weights=weights)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert describe(tmp_path / "a")["weight_type"] == weights
