"""Broken inputs of every reader and broken model files: a result that works, or one error."""

import pytest

from tests.fuzz import models, readers
from tests.fuzz.broken import broken, broken_models

NASTY_BYTES = [0, 1, 127, 128, 255]


@pytest.mark.sanitize
@pytest.mark.parametrize("reader", readers.READERS)
def test_broken_inputs_give_result_or_one_error(reader):
    n_inputs = 4000 if reader == "matrices" else 1500
    n_refused = readers.fuzz(reader, n_inputs)
    # Neither all nor none, or the changes would test only one half of the reader.
    refuses = reader not in {"vectoriser", "model files"}
    assert n_inputs // 10 < n_refused < n_inputs if refuses else n_refused == 0


@pytest.mark.sanitize
@pytest.mark.parametrize("name", [*models.VARIANTS, *models.KINDS])
def test_broken_files_give_model_or_one_error(name, tmp_path):
    assert models.is_model(tmp_path / "x", models.good(name))
    n_files = 40 if name in models.KINDS and "text" not in name else 150
    assert n_files // 4 < models.fuzz(tmp_path, name, n_files) < n_files


def test_changes_are_repeatable():
    matrices, model = readers.READERS["matrices"][1], models.good("lsc")
    for change, seeds in ((broken, matrices), (broken_models, [model])):
        assert list(change(seeds, 50, 3)) == list(change(seeds, 50, 3))
        assert list(change(seeds, 50, 3)) != list(change(seeds, 50, 4))


def header_end(data):
    return 8 + int.from_bytes(data[:8], "little")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "step"),
    [("clustering with names", 1), ("hybrid", 1), ("tree of classes", 7), ("tree of int8", 7),
     ("agglomerated of float16", 7)],
)  # fmt: skip
def test_truncated_file_is_no_model(tmp_path, name, step):
    data = models.good(name)
    sizes = {*range(0, len(data), step), len(data) - 1}
    assert not any(models.is_model(tmp_path / "x", data[:size]) for size in sizes)


@pytest.mark.slow
def test_flipped_header_bits_give_model_or_error(tmp_path):
    data = models.good("hybrid")
    for bit in range(8 * header_end(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        models.is_model(tmp_path / "x", bytes(changed))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "step"),
    [("clustering with names", 1), ("trees with label names", 9), ("tree of classes", 1),
     ("tree of int8", 3), ("flat", 3)],
)  # fmt: skip
def test_nasty_payload_bytes_give_model_or_error(tmp_path, name, step):
    data = models.good(name)
    outcomes = set()
    for place in range(header_end(data), len(data), step):
        for value in NASTY_BYTES:
            changed = bytearray(data)
            changed[place] = value
            outcomes.add(models.is_model(tmp_path / "x", bytes(changed)))
    assert outcomes == {True, False}
