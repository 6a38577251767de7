"""Every estimator of the registry, under every check of the contract."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from defrag import Agglomerated, Defrag, LabelTree
from defrag.agglomeration import Hybrid
from defrag.classifiers._base import Classifier
from tests.contract.checks import pairs
from tests.contract.subject import STRANGE, answer_bits, answers, subjects, text_subjects
from tests.helpers.bits import bits

OF_TEXTS = pytest.mark.parametrize("subject", text_subjects(), ids=str)


@pytest.mark.parametrize(("subject", "check"), pairs([*subjects(), *text_subjects()]))
def test_contract(subject, check, tmp_path):
    check(subject, tmp_path)


@OF_TEXTS
def test_many_texts_have_the_same_bits_for_any_number_of_threads(subject):
    texts, labels = (part * 30 for part in subject.data)  # more than one block of texts
    wanted = answer_bits(subject.fit(texts, labels))
    for n_jobs in (2, 5):
        assert answer_bits(subject.fit(texts, labels, n_jobs=n_jobs)) == wanted


@OF_TEXTS
def test_one_text_or_many(subject):
    model = subject.fitted()
    texts = subject.data[0]
    parts = ("labels", "scores") if hasattr(model, "predict_topk") else ("transformed",)
    many = answers(model, texts * 3)
    for number, text in enumerate(texts):
        alone = answers(model, [text])
        assert all(bits(alone[part]) == bits(many[part][[number]]) for part in parts)


@OF_TEXTS
def test_unusual_texts_have_answers(subject):
    found = answers(subject.fitted(), STRANGE)
    if subject.entry.role == "vectorizer":
        rows = found["transformed"]
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
        np.testing.assert_allclose(lengths[np.diff(rows.indptr) > 0], 1.0, rtol=1e-5)
        assert not lengths[:2].any()
        return
    assert np.isfinite(found["scores"]).all()
    assert (found["labels"][:2] == "").all()


# The data of these checks have two features, which would make one group.
SINGLETONS = {"agglomerated": {"agglomeration": Hybrid(max_cluster_size=1)}}
ONE_GROUP = Agglomerated(LabelTree(), Defrag())
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


@parametrize_with_checks(
    [ONE_GROUP, *(one.new(**SINGLETONS.get(str(one), {})) for one in subjects())],
    expected_failed_checks=declared,
)
def test_scikit_learn(estimator, check):
    check(estimator)
