import pytest

from tests.fuzz.fuzz_parser import fuzz
from tests.fuzz.mutator import inputs


@pytest.mark.parametrize("seed", [0, 1])
def test_broken_texts_give_result_or_one_error(seed):
    n_refused = fuzz(3000, seed)
    # Neither all nor none, or the mutator would test only one half of the parser.
    assert 1000 < n_refused < 2900


def test_mutator_is_deterministic():
    assert list(inputs(50, 3)) == list(inputs(50, 3))
    assert list(inputs(50, 3)) != list(inputs(50, 4))
