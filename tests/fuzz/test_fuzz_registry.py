"""Broken files of models of every kind: each is a model that answers, or one error."""

import numpy as np
import pytest

from defrag import TextClassifier, Thesaurus
from defrag.text.ranker import N_KINDS, Ranker, n_weights
from tests.fuzz import fuzz_registry, fuzz_text_models
from tests.fuzz.fuzz_model_file import inputs
from tests.fuzz.scenarios import KINDS


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


EVERY = [*KINDS, (fuzz_text_models, NamedSubject())]


@pytest.mark.sanitize
@pytest.mark.parametrize(("fuzzer", "subject"), EVERY, ids=[str(subject) for _, subject in EVERY])
def test_broken_files_give_model_or_one_error(fuzzer, subject, tmp_path):
    data, path = fuzzer.good(subject, tmp_path), tmp_path / "x"
    assert fuzzer.is_model(path, data)
    n_files = 40 if fuzzer is fuzz_registry else 150
    broken = inputs([data], n_files, f"text {subject}")
    refused = sum(not fuzzer.is_model(path, data) for data in broken)
    # Neither all nor none, or the mutator would test only one half of the reader.
    assert n_files // 4 < refused < n_files
