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
from tests.helpers import model_drafts as drafts
from tests.helpers.bits import bits
from tests.helpers.model_drafts import INDICATOR, LETTERS, X, Y

BASE = Parabel(2, max_leaf_size=4)
GROUPS = Defrag(max_cluster_size=3, sample_points=1.0)
SIX = Hybrid(n_clusters=6)
NEAR = {"cluster_size": 60, "n_components": 12, "random_state": 0}

CLUSTERINGS = {
    "defrag": drafts.small_defrag,
    "no scale": lambda: drafts.small_defrag(scale=None),
    "mean of present": lambda: drafts.small_defrag(pooling="mean_nonzero"),
    "one group": lambda: drafts.small_defrag(max_cluster_size=99),
    "groups of one": lambda: drafts.small_defrag(max_cluster_size=1),
    "no tree": lambda: drafts.small_defrag(rest="hash"),
    "dropped": lambda: drafts.small_defrag(rest="drop", singletons=0.5),
    "all dropped": lambda: drafts.small_defrag(rest="drop"),
    "singletons and tree": lambda: drafts.small_defrag(singletons=0.4, n_clusters=5),
    "hybrid": drafts.small_hybrid,
}
IMPUTATIONS = {
    "imputation": lambda: Fiat(random_state=0).fit(X),
    "product": lambda: Fiat("paper", random_state=0).fit(X),
    "fixed blend": lambda: Fiat(beta=0.5, row_norm=False, random_state=0).fit(X),
    "imputation by groups": lambda: Fiat(agglomeration=GROUPS, random_state=0).fit(X),
}
CLASSIFIERS = {
    "label tree": drafts.small_label_tree,
    "three trees": lambda: drafts.small_label_tree(n_trees=3),
    "one leaf": lambda: drafts.small_label_tree(max_leaf_size=99),
    "no weights": lambda: drafts.small_label_tree(weight_threshold=1e9),
    "wide leaf": lambda: LabelTree(max_leaf_size=400, random_state=0).fit(
        np.repeat(X, 10, axis=0), [[i] for i in range(300)]
    ),
    "dense labels": lambda: drafts.small_label_tree().fit(X, INDICATOR),
    "sparse labels": lambda: drafts.small_label_tree().fit(X, sparse.csr_array(INDICATOR)),
    "parabel": lambda: Parabel(max_leaf_size=1, random_state=0).fit(X, Y),
    "agglomerated": drafts.small_agglomerated,
    "shared groups": lambda: drafts.small_agglomerated(per_member=False),
    "defaults": lambda: Agglomerated(random_state=1).fit(X, LETTERS),
    "agglomerated twice": lambda: drafts.small_agglomerated(
        base=Agglomerated(Parabel(2), Defrag())
    ),
    "flat": drafts.small_dismec,
    "flat without weights": lambda: drafts.small_dismec(weight_threshold=1e9),
    "flat, dense labels": lambda: drafts.small_dismec().fit(X, INDICATOR),
    "flat, classes": lambda: drafts.small_dismec().fit(X, LETTERS),
    "flat on groups": lambda: drafts.small_agglomerated(base=DiSMEC("fast", batch_size=16)),
    "given vectors": lambda: drafts.small_agglomerated(
        agglomeration=Defrag(representation=np.eye(12))
    ),
    "factors": drafts.small_leml,
    "clusters of labels": drafts.small_lpsr,
    "neighbours by labels": drafts.small_sleec,
    "many neighbours": lambda: SLEEC(3, **NEAR).fit(X, Y),
    "neighbours by cosine": lambda: AnnexML(3, **NEAR).fit(X, Y),
    "forest": drafts.small_forest,
    "forest of leaves": lambda: FastXML(3, max_leaf_size=100, random_state=0).fit(X, Y),
    "forest with prototypes": drafts.small_pfastrexml,
    "hashed forest": drafts.small_craftml,
}
COMPOSITES = {
    "re-ranked": lambda: drafts.small_refrag(gamma=4, propensity_weight=0.5),
    "re-ranked as chosen": lambda: drafts.small_refrag(widen=2),
    "re-ranked by blocks": lambda: drafts.small_refrag(
        co_occurrence="cosine", agglomeration=GROUPS, gamma=4.0
    ),
    "re-ranked classes": lambda: drafts.small_refrag().fit(X, np.arange(30) % 3),
    "imputed": drafts.small_imputed,
    "imputed by lists": lambda: drafts.small_imputed(companions=3),
    "imputed by given groups": lambda: drafts.small_imputed(
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
    "above and below groups": lambda: drafts.small_refrag(
        base=Agglomerated(Imputed(BASE, Fiat(beta=0.5)), SIX), gamma=1.0, propensity_weight=0.2
    ),
    "both by default": lambda: drafts.small_refrag(
        base=Imputed(), gamma=1.0, propensity_weight=0.0
    ),
    "rare": drafts.small_rare,
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


def test_trade_off_is_stored(tmp_path):
    model = drafts.small_refrag(widen=2)
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    table, kept = model.trade_off_, loaded.trade_off_
    assert kept.n_rows == table.n_rows == 30
    for name, values in table.measures.items():
        np.testing.assert_array_equal(kept.measures[name], values)
    for one, other in zip(loaded.choose(max_loss=50.0).predict_topk(X, 4),
                          model.choose(max_loss=50.0).predict_topk(X, 4), strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, other)
    drafts.small_refrag(gamma=4, propensity_weight=0.5).save(tmp_path / "a")
    assert load(tmp_path / "a").trade_off_ is None
