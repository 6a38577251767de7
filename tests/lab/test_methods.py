from __future__ import annotations

import pytest

from defrag.lab.methods import combine, parse_estimator
from defrag.lab.specs import build


def test_every_combination_is_there():
    methods = combine(["label-tree", "dismec:C=2"], ["none", "x", "itdc:n_clusters=5"],
                      ["none", "identity"], ["none", "blend"])  # fmt: skip
    assert len(methods) == 2 * 3 * 2 * 2
    assert [method.name for method in methods[:6]] == [
        "LabelTree",
        "LabelTree, FIAT blend",
        "LabelTree, REFRAG identity",
        "LabelTree, REFRAG identity, FIAT blend",
        "LabelTree, DEFRAG-X",
        "LabelTree, DEFRAG-X, FIAT blend",
    ]
    whole = build(methods[-1].spec)
    assert type(whole).__name__ == "Imputed"
    assert type(whole.base).__name__ == "Refrag"
    assert whole.base.base.base.C == 2
    assert whole.base.base.agglomeration.n_clusters == 5


def test_values_have_their_types():
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
def test_wrong_words_are_refused(classifiers, groups, message):
    with pytest.raises(ValueError, match=message):
        combine(classifiers, groups)


def test_rows_can_be_focused():
    (found,) = combine(["label-tree"], ["focus:budget=4"])
    assert found.name == "LabelTree, Focus(budget=4)"
    assert found.spec["estimator"] == "focused"
    assert found.spec["parameters"]["focus"]["parameters"]["budget"] == 4
