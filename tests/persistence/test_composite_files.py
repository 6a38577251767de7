"""Imputation and re-ranking in model files: saved, loaded, and every broken promise refused."""

import numpy as np
import pytest

from defrag import Agglomerated, Refrag, load
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from tests.helpers.model_drafts import (
    Draft,
    X,
    Y,
    inside,
    item,
    put,
    refuse,
    small_imputed,
    small_refrag,
)


def test_trade_off_is_stored(tmp_path):
    model = small_refrag(widen=2)
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    table, kept = model.trade_off_, loaded.trade_off_
    assert kept.n_rows == table.n_rows == 30
    for name, values in table.measures.items():
        np.testing.assert_array_equal(kept.measures[name], values)
    for one, other in zip(loaded.choose(max_loss=50.0).predict_topk(X, 4),
                          model.choose(max_loss=50.0).predict_topk(X, 4), strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, other)
    small_refrag(gamma=4, propensity_weight=0.5).save(tmp_path / "a")
    assert load(tmp_path / "a").trade_off_ is None


def base(**changes):
    return lambda draft: draft.model["children"]["base"]["state"].update(changes)


def member(**changes):
    return lambda draft: draft.model["children"]["bases"][0]["state"].update(changes)


def nested(levels):
    """Nest the stored base parameter in a number of re-rankers."""

    def change(draft):
        one = draft.model["parameters"]["base"]
        for _ in range(levels):
            one = {"kind": "refrag", "parameters": {**one["parameters"], "base": one}}
        draft.model["parameters"]["base"] = one

    return change


def item_breaks(name, index, value, rule):
    return item(name, index, value), f"'{name}' {rule}"


def array_breaks(name, array, rule):
    return put(name, array), f"'{name}' {rule}"


def inner(**changes):
    return lambda draft: draft.model["children"]["imputation"]["state"].update(changes)


RULE = "imputation/rule"
SIZES = f"{RULE}/log_sizes"
BREACHES = {
    "chosen": [
        (inside("state", gamma="auto"), "gamma of refrag must be .* got 'au"),
        (inside("state", gamma=1e9), "gamma of refrag must be .* got 1000000000"),
        (inside("state", alpha=0.0), "alpha of refrag must be .* got 0.0"),
        (
            inside("state", propensity_weight=-1.0),
            "propensity_weight of refrag must be .* got -1.0",
        ),
        (inside("state", measured_rows=-1), "measured_rows of refrag"),
        item_breaks("prototypes/indices", -1, 12, r"must be in \[0, 12\), got 12"),
        item_breaks("prototypes/indices", 0, 11, "must increase within each row"),
        item_breaks("prototypes/indptr", 1, 2**40, "must not decrease"),
        item_breaks("prototypes/data", 0, 3e38, "must be at most 1e.16 in size, got 3e.38"),
        item_breaks("bonus", 2, -1, "must be .* got -1.0 at 2"),
        array_breaks("trade_off/p_at_1", None, "of the kind 'refrag' is missing"),
        item_breaks("trade_off/alpha", 0, 7.0, r"must be in \(0, 1\], got 0.8 to 7.0"),
        (base(n_labels=11), r"'base' must have the labels .*\(10\), got 11"),
        (base(n_features=13), r"'base' must have the features .* got 13"),
        (
            lambda d: d.model["children"]["base"].update(kind="hybrid"),
            "kind of model 'base/' must be one of .* got 'hybrid'",
        ),
    ],
    "below groups": [
        (member(n_labels=11), r"'bases/0/base' must have the labels .*\(11\), got 10"),
        (member(n_features=12), r"'bases/0/base' must have the features .*\(12\), got 6"),
        (
            inside("state", n_features=13),
            r"'agglomerations/0' must have the features of its ensemble \(13\), got 12",
        ),
        (
            lambda d: d.model["children"]["bases"][0].update(kind="tree"),
            "kind of model 'bases/0/' must be one of .* got 'tree'",
        ),
        (
            lambda d: d.model["parameters"]["base"].update(kind="fiat"),
            "base of agglomerated must be None, or the kind .*imputed",
        ),
        item_breaks("bases/0/prototypes/indices", -1, 6, r"must be in \[0, 6\), got 6"),
        (nested(8), "base of agglomerated must be None"),
    ],
    "imputed": [
        (lambda d: d.model["children"].pop("imputation"), "'imputation' is missing"),
        (
            lambda d: (d.put(f"{RULE}/coefficients", None), d.put(SIZES, None)),
            f"'{RULE}/coefficients' must be present if and only if beta is 'auto' in a blend",
        ),
        array_breaks(SIZES, None, "of the kind 'fiat' is missing"),
        item_breaks("imputation/rule/coefficients", 0, 1e300, "must be at most"),
        (inner(usual_size=-1), "usual_size of 'imputation/' .* must be .* got -1"),
        (
            lambda d: [
                d.put(f"imputation/companions/{name}", np.zeros(0, dtype))
                for name, dtype in (
                    ("indptr", np.int64),
                    ("indices", np.int32),
                    ("data", np.float32),
                )
            ],
            "'imputation/companions/indptr' must be present if and only if a blend has companions",
        ),
        item_breaks("imputation/blocks/0/groups", 0, 12, r"must be in \[-1, 12\), got 12 at 0"),
        (item("imputation/blocks/0/groups", 0, -2), r"blocks/0/groups' must be in .* got -2"),
        (
            lambda d: (
                d.put("imputation/blocks/0/groups", np.zeros(2, np.int32)),
                d.put("imputation/blocks/0/entries", np.zeros(4, np.float32)),
            ),
            "'imputation/blocks/0/groups' must have 12 items, got 2",
        ),
        (
            item("imputation/blocks/0/groups", slice(None), 0),
            "'imputation/blocks/0/entries' must have 144 items",
        ),
        item_breaks("imputation/blocks/1/entries", 0, 1e30, "must be at most"),
        (inner(n_features=13), "'imputation/blocks/0/groups' must have 13 items, got 12"),
    ],
    "listed": [
        (
            lambda d: [
                d.put(f"imputation/companions/{n}", None) for n in ("indptr", "indices", "data")
            ],
            "'imputation/companions/indptr' must be present if and only if a blend has companions",
        ),
        item_breaks("imputation/companions/indptr", 1, 2**40, "must not decrease"),
        item_breaks("imputation/companions/indices", -1, 12, r"must be in \[0, 12\), got 12"),
        item_breaks("imputation/companions/indices", 0, 11, "must increase within each row"),
        item_breaks("imputation/companions/data", 0, 1e30, "must be at most"),
    ],
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    small_refrag(widen=2).save(folder / "chosen")
    small_imputed().save(folder / "imputed")
    small_imputed(companions=3).save(folder / "listed")
    Agglomerated(
        Refrag(Parabel(2, max_leaf_size=4), gamma=2.0, propensity_weight=0.1),
        Hybrid(n_clusters=6), random_state=0,
    ).fit(X, Y).save(folder / "below groups")  # fmt: skip
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("which", "change", "message"), [(which, *one) for which in BREACHES for one in BREACHES[which]]
)
def test_broken_composite_is_refused_by_name(tmp_path, stored, which, change, message):
    refuse(tmp_path, stored[which], change, message)


def without_blocks(draft):
    for name in [key for key in draft.header if key.startswith("imputation/blocks/")]:
        draft.put(name, None)
    draft.model["children"]["imputation"]["children"]["blocks"] = []


def test_imputation_has_either_blocks_or_companions(tmp_path, stored):
    other = Draft(stored["imputed"])

    def with_blocks(draft):
        inner = draft.model["children"]["imputation"]["children"]
        inner["blocks"] = other.model["children"]["imputation"]["children"]["blocks"]
        for name in [key for key in other.header if key.startswith("imputation/blocks/")]:
            draft.put(name, other.array(name))

    message = "'imputation/blocks' must be at least one, got none"
    refuse(tmp_path, stored["imputed"], without_blocks, message)
    message = "'imputation/blocks' must be empty if there are companions"
    refuse(tmp_path, stored["listed"], with_blocks, message)
