"""Estimators as words and as JSON."""

import json

import numpy as np
import pytest

from defrag import Agglomerated, Defrag, LabelTree, registry
from defrag.lab.studies import combine
from defrag.specs import build, describe, parse_estimator, parse_value, title


@pytest.mark.parametrize("entry", registry.entries(), ids=lambda entry: entry.word)
def test_json_restores_every_estimator(entry):
    spec = describe(entry.estimator()())
    again = build(json.loads(json.dumps(spec)))
    assert type(again) is entry.estimator()
    assert describe(again) == spec


def test_json_restores_inner_estimators():
    model = Agglomerated(LabelTree(4, C=2.5), Defrag("xy", max_cluster_size=3), random_state=9)
    again = build(json.loads(json.dumps(describe(model))))
    assert again.base.n_trees == 4
    assert again.base.C == 2.5
    assert again.agglomeration.representation == "xy"
    assert again.agglomeration.max_cluster_size == 3
    assert again.random_state is None  # the seed is the job's


def test_describe_refuses_arrays_and_strangers():
    with pytest.raises(ValueError, match="representation of Defrag must be a number, a word"):
        describe(Defrag(np.eye(3)))
    with pytest.raises(ValueError, match="registry can be described, got Stranger"):
        describe(type("Stranger", (LabelTree,), {})())


def test_title_names_what_is_not_default():
    assert title(describe(LabelTree())) == "LabelTree()"
    assert title(describe(LabelTree(3, arity=8))) == "LabelTree(arity=8, n_trees=3)"


def test_combine_gives_every_combination():
    methods = combine(["label-tree", "dismec:C=2"], ["none", "x", "itdc:n_clusters=5"],
                      ["none", "identity"], ["none", "blend"])  # fmt: skip
    assert len(methods) == 2 * 3 * 2 * 2
    assert list(methods)[:6] == [
        "LabelTree",
        "LabelTree, FIAT blend",
        "LabelTree, REFRAG identity",
        "LabelTree, REFRAG identity, FIAT blend",
        "LabelTree, DEFRAG-X",
        "LabelTree, DEFRAG-X, FIAT blend",
    ]
    whole = build(list(methods.values())[-1])
    assert type(whole).__name__ == "Imputed"
    assert type(whole.base).__name__ == "Refrag"
    assert whole.base.base.base.C == 2
    assert whole.base.base.agglomeration.n_clusters == 5


def test_words_give_values_their_types():
    model = parse_estimator("label-tree:n_trees=3,C=0.5,preset=fast", "classifier")
    assert (model.n_trees, model.C, model.preset) == (3, 0.5, "fast")
    assert parse_estimator("dismec:C=1e-2", "classifier").C == 0.01
    assert parse_estimator("defrag:scale=none", "clustering").scale is None


@pytest.mark.parametrize(
    ("classifiers", "groups", "message"),
    [
        (["nothing"], ["none"], "no classifier is called 'nothing': use one of label-tree, "),
        (["refrag"], ["none"], "no classifier is called 'refrag'"),
        (["label-tree"], ["z"], "no groups of features are called 'z': use none, focus, x, xy"),
        (["label-tree:trees=3"], ["none"], "a parameter of LabelTree, got 'trees=3'"),
        (["label-tree:n_trees"], ["none"], "expected parameter=value"),
        (["label-tree:n_trees=0"], ["none"], "n_trees of LabelTree must be an int >= 1, got 0"),
        (["label-tree", "label-tree:n_trees=1"], ["none"], "LabelTree is there twice"),
    ],
)
def test_combine_refuses_wrong_words(classifiers, groups, message):
    with pytest.raises(ValueError, match=message):
        combine(classifiers, groups)


def test_focus_is_a_word_for_groups():
    ((name, spec),) = combine(["label-tree"], ["focus:budget=4"]).items()
    assert name == "LabelTree, Focus(budget=4)"
    assert spec["kind"] == "focused"
    assert spec["parameters"]["focus"]["parameters"]["budget"] == 4


def test_values_of_all_languages_are_read_alike():
    words = {"7": 7, "-.5": -0.5, "3,5": (3, 5), "3-5": (3, 5), "no": False, "": None, "inf": "inf"}
    assert {word: parse_value(word) for word in words} == words
