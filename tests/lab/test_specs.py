from __future__ import annotations

import json

import numpy as np
import pytest

from defrag import Agglomerated, Defrag, LabelTree, registry
from defrag.lab.specs import build, describe, title


@pytest.mark.parametrize("entry", registry.entries(), ids=lambda entry: entry.word)
def test_every_estimator_of_the_registry_survives_json(entry):
    spec = describe(entry.estimator()())
    again = build(json.loads(json.dumps(spec)))
    assert type(again) is entry.estimator()
    assert describe(again) == spec


def test_parameters_of_inner_estimators_survive():
    model = Agglomerated(LabelTree(4, C=2.5), Defrag("xy", max_cluster_size=3), random_state=9)
    again = build(json.loads(json.dumps(describe(model))))
    assert again.base.n_trees == 4
    assert again.base.C == 2.5
    assert again.agglomeration.representation == "xy"
    assert again.agglomeration.max_cluster_size == 3
    assert again.random_state is None  # the seed is the job's


def test_what_is_not_plain_is_refused():
    with pytest.raises(ValueError, match="representation of Defrag must be a number, a word"):
        describe(Defrag(np.eye(3)))
    with pytest.raises(ValueError, match="estimators of the registry, got Stranger"):
        describe(type("Stranger", (LabelTree,), {})())


def test_title_has_what_is_not_default():
    assert title(describe(LabelTree())) == "LabelTree()"
    assert title(describe(LabelTree(3, arity=8))) == "LabelTree(arity=8, n_trees=3)"
