import pytest

from tests.contract.subject import subjects
from tests.fuzz.fuzz_registry import fuzz


@pytest.mark.slow
@pytest.mark.sanitize
def test_broken_files_of_every_kind_give_model_or_one_error(tmp_path):
    refused = dict(fuzz(tmp_path, 40))
    assert list(refused) == [str(subject) for subject in subjects()]
    # Neither all nor none, or the mutator would test only one half of the reader.
    assert all(10 < n < 40 for n in refused.values())
