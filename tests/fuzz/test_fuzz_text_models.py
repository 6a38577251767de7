"""Broken files of models of texts: each is a model that answers, or one error."""

from __future__ import annotations

import pytest

from tests.contract.text_subject import text_subjects
from tests.fuzz.fuzz_model_file import inputs
from tests.fuzz.fuzz_text_models import good, is_model

N_FILES = 150


@pytest.mark.sanitize
@pytest.mark.parametrize("subject", text_subjects(), ids=str)
def test_broken_files_give_model_or_one_error(subject, tmp_path):
    data = good(subject, tmp_path)
    path = tmp_path / "x"
    assert is_model(path, data)
    refused = sum(not is_model(path, data) for data in inputs([data], N_FILES, f"text {subject}"))
    # Neither all nor none, or the mutator would test only one half of the reader.
    assert N_FILES // 4 < refused < N_FILES
