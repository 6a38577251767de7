"""Broken files of models of texts: each is a model that answers, or one error."""

import numpy as np
import pytest

from defrag import TextClassifier, Thesaurus
from defrag.text.ranker import N_KINDS, Ranker, n_weights
from tests.contract.text_subject import text_subjects
from tests.fuzz.fuzz_model_file import inputs
from tests.fuzz.fuzz_text_models import good, is_model

N_FILES = 150


class NamedSubject:
    """A model whose labels have names, with a ranker of arbitrary weights."""

    def fit(self, data):
        texts, labels = data
        names = sorted({name for row in labels for name in row})
        thesaurus = Thesaurus.of({"id": name, "name": [name, "matrix"]} for name in [*names, "x"])
        model = TextClassifier(random_state=0).fit(texts, labels, thesaurus=thesaurus)
        weights = np.random.default_rng(0).normal(size=(N_KINDS, n_weights(15) // N_KINDS))
        model.naming_ = model.naming_.with_ranker(Ranker(weights, adds=True), "added")
        return model

    def __str__(self):
        return "names"


@pytest.mark.sanitize
@pytest.mark.parametrize("subject", [*text_subjects(), NamedSubject()], ids=str)
def test_broken_files_give_model_or_one_error(subject, tmp_path):
    data = good(subject, tmp_path)
    path = tmp_path / "x"
    assert is_model(path, data)
    refused = sum(not is_model(path, data) for data in inputs([data], N_FILES, f"text {subject}"))
    # Neither all nor none, or the mutator would test only one half of the reader.
    assert N_FILES // 4 < refused < N_FILES
