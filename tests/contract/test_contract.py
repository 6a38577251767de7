"""Every estimator of the registry, under every check of the contract."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from defrag import Agglomerated, Defrag, LabelTree
from defrag.agglomeration import Hybrid
from tests.contract import hostile
from tests.contract.checks import CHECKS, SLOW_CHECKS
from tests.contract.subject import subjects

EVERY = pytest.mark.parametrize("subject", subjects(), ids=str)


def name_of(check):
    return check.__name__


@EVERY
@pytest.mark.parametrize("check", CHECKS, ids=name_of)
def test_contract(subject, check, tmp_path):
    check(subject, tmp_path)


SANITIZED = [
    hostile.hostile_parameters_are_refused_or_harmless,
    hostile.hostile_attributes_never_crash,
]


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, marks=pytest.mark.sanitize if check in SANITIZED else ())
        for check in SLOW_CHECKS
    ],
    ids=name_of,
)
def test_slow_contract(subject, check, tmp_path):
    check(subject, tmp_path)


# The data of these checks have two features, which would make one group.
SINGLETONS = {"agglomerated": {"agglomeration": Hybrid(max_cluster_size=1)}}


def declared(estimator):
    """Return the checks that an estimator cannot pass, and why."""
    if repr(estimator) == repr(ONE_GROUP):
        return {"check_classifiers_train": "both features of its data are in one group"}
    return {}


ONE_GROUP = Agglomerated(LabelTree(), Defrag())


@parametrize_with_checks(
    [ONE_GROUP, *(one.new(**SINGLETONS.get(str(one), {})) for one in subjects())],
    expected_failed_checks=declared,
)
def test_scikit_learn(estimator, check):
    check(estimator)
