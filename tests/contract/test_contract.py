"""Every estimator of the registry, under every check of the contract."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from defrag import Agglomerated, Defrag, LabelTree
from defrag.agglomeration import Hybrid
from defrag.classifiers._base import Classifier
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


WEIGHTS = [
    f"check_sample_weight{end}"
    for end in ("s_pandas_series", "s_not_an_array", "s_list", "s_shape", "s_not_overwritten")
] + ["check_all_zero_sample_weights_error", "check_classifiers_one_label_sample_weights"]
EQUIVALENCE = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]


def declared(estimator):
    """Return the checks that an estimator cannot pass, and why."""
    reasons = {}
    if repr(estimator) == repr(ONE_GROUP):
        reasons["check_classifiers_train"] = "both features of its data are in one group"
    if isinstance(estimator, Classifier):
        few = "the solver stops after a few passes in an order that depends on the rows"
        reasons |= dict.fromkeys(EQUIVALENCE, few)
        if not estimator._takes_weights():
            reasons |= dict.fromkeys(WEIGHTS, "the method has no weights, and says so")
    return reasons


ONE_GROUP = Agglomerated(LabelTree(), Defrag())


@parametrize_with_checks(
    [ONE_GROUP, *(one.new(**SINGLETONS.get(str(one), {})) for one in subjects())],
    expected_failed_checks=declared,
)
def test_scikit_learn(estimator, check):
    check(estimator)
