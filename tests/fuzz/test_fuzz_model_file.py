import pytest

from tests.fuzz.fuzz_model_file import NASTY_BYTES, fuzz, inputs, small_models, survives


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return list(small_models(tmp_path_factory.mktemp("models")))


def header_end(data):
    return 8 + int.from_bytes(data[:8], "little")


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1, 5, 6, 7])
def test_truncated_file_is_no_model(tmp_path, models, which):
    data = models[which]
    assert survives(tmp_path / "x", data)
    sizes = {*range(0, len(data), 1 if which < 2 else 7), len(data) - 1}
    assert not any(survives(tmp_path / "x", data[:size]) for size in sizes)


@pytest.mark.slow
def test_flipped_header_bits_give_model_or_error(tmp_path, models):
    data = models[1]
    for bit in range(8 * header_end(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        survives(tmp_path / "x", bytes(changed))


@pytest.mark.slow
@pytest.mark.parametrize(("which", "step"), [(0, 1), (4, 3), (5, 1), (6, 3), (8, 3)])
def test_nasty_payload_bytes_give_model_or_error(tmp_path, models, which, step):
    data = models[which]
    outcomes = set()
    for place in range(header_end(data), len(data), step):
        for value in NASTY_BYTES:
            changed = bytearray(data)
            changed[place] = value
            outcomes.add(survives(tmp_path / "x", bytes(changed)))
    assert outcomes == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_broken_files_give_model_or_one_error(tmp_path, seed):
    n_refused = fuzz(tmp_path, 2000, seed)
    # Neither all nor none, or the mutator would test only one half of the reader.
    assert 1000 < n_refused < 1950


def test_mutator_is_deterministic(models):
    assert list(inputs(models, 50, 3)) == list(inputs(models, 50, 3))
    assert list(inputs(models, 50, 3)) != list(inputs(models, 50, 4))
