"""Broken files of models of texts: each is a model that answers, or one error."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.subject import file_bytes
from tests.contract.text_subject import OTHER, STRANGE, ask, text_subjects
from tests.fuzz.fuzz_model_file import inputs, loaded

TEXTS = [*OTHER[0][:2], *STRANGE[:9], "sort the matrix"]
N_FILES = 150


@pytest.mark.sanitize
@pytest.mark.parametrize("subject", text_subjects(), ids=str)
def test_broken_files_give_a_model_or_one_error(subject, tmp_path):
    good = file_bytes(subject.fit(OTHER), tmp_path)
    path = tmp_path / "x"
    assert is_model(path, good)
    refused = sum(not is_model(path, data) for data in inputs([good], N_FILES, f"text {subject}"))
    # Neither all nor none, or the mutator would test only one half of the reader.
    assert N_FILES // 4 < refused < N_FILES


def is_model(path, data):
    """Load and use one file; tell whether it was a model."""
    model = loaded(path, data)
    if model is None:
        return False
    found, refusal = None, ""
    try:
        found = ask(model, TEXTS)
    except (ImportError, ValueError) as error:
        refusal = str(error)
    if found is None:  # a stemmer that does not exist, or features of extra
        assert refusal.startswith(("stemmer", "this model was trained with")), data
        return True
    assert found[0].shape[0] == len(TEXTS), data
    values = found[1] if len(found) == 2 else found[0].data
    assert np.isfinite(values).all(), data
    return True
