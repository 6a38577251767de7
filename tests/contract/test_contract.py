"""Every estimator of the registry, under every check of the contract."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from defrag import Agglomerated, Defrag, LabelTree
from defrag.agglomeration import Hybrid
from defrag.classifiers._base import Classifier
from tests.contract.checks import pairs
from tests.contract.subject import subjects


@pytest.mark.parametrize(("subject", "check"), pairs(subjects()))
def test_contract(subject, check, tmp_path):
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
