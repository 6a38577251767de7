"""What every estimator that takes texts does."""

import numpy as np
import pytest

from tests.contract.checks import pairs
from tests.contract.subject import STRANGE, answer_bits, answers, text_subjects
from tests.helpers.bits import bits

EVERY = pytest.mark.parametrize("subject", text_subjects(), ids=str)


@pytest.mark.parametrize(("subject", "check"), pairs(text_subjects()))
def test_contract(subject, check, tmp_path):
    check(subject, tmp_path)


@EVERY
def test_many_texts_have_the_same_bits_for_any_number_of_threads(subject):
    texts, labels = (part * 30 for part in subject.data)  # more than one block of texts
    wanted = answer_bits(subject.fit(texts, labels))
    for n_jobs in (2, 5):
        assert answer_bits(subject.fit(texts, labels, n_jobs=n_jobs)) == wanted


@EVERY
def test_one_text_or_many(subject):
    model = subject.fitted()
    texts = subject.data[0]
    parts = ("labels", "scores") if hasattr(model, "predict_topk") else ("transformed",)
    many = answers(model, texts * 3)
    for number, text in enumerate(texts):
        alone = answers(model, [text])
        assert all(bits(alone[part]) == bits(many[part][[number]]) for part in parts)


@EVERY
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
