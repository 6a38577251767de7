"""Broken inputs of every reader and of the vectoriser: a result or one FormatError."""

import io
import random
import re
import warnings

import numpy as np
import pytest

from defrag.exceptions import FormatError, FormatWarning
from defrag.io import groups, read_word_vectors, write_npz
from defrag.io.files import InputStream
from defrag.io.npz import parse_npz
from tests.fuzz.fuzz_readers import one_input, seeds
from tests.fuzz.mutator import TOKENS
from tests.oracles.groups import GroupError
from tests.oracles.groups import parse_groups as parse_slowly

GROUPS = [
    b"3\n2 0 3 \n2 1 4 \n1 2 \n",
    b"2\r\n1 0\r\n2 2 1\r\n\r\n",
    b"0\n",
    b"4\n0 \n0\n1\t7\n0\n",
    b"1\n12 0 1 2 3 4 5 6 7 8 9 10 11",
]
VECTORS = [b"cat 1 0.5\ndog 0 2\n", b"2 3\ncat 1 2 3\r\n. . 4 5 6\n"]


def broken(seeds, n_inputs, seed):
    """Yield texts after a few changes, the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    for _ in range(n_inputs):
        text = rng.choice(seeds)
        for _ in range(rng.randint(1, 4)):
            begin = rng.randint(0, len(text))
            end = min(len(text), begin + rng.choice([0, 1, 1, 2, 5]))
            digit = b"%d" % rng.randint(0, 9)
            piece = rng.choice([b"", rng.choice(TOKENS), text[begin:end] * 2, digit])
            text = text[:begin] + piece + text[end:]
        yield text


def outcome(read, *arguments, **options):
    """Return a result or a FormatError, whichever comes; nothing else may."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            return read(*arguments, **options)
    except FormatError as error:
        return error


@pytest.mark.slow
@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 20])
def test_group_files_agree_with_oracle(monkeypatch, block_bytes):
    monkeypatch.setattr(groups, "_BLOCK_BYTES", block_bytes)
    n_refused = 0
    for text in broken(GROUPS, 3000, block_bytes):
        if re.search(rb"[0-9]{8}", text):
            continue  # about the limits, which the slow twin has not
        expected, line = None, 0
        try:
            expected = parse_slowly(text)
        except GroupError as error:
            line = error.line
        stream = InputStream(io.BytesIO(text), "text")
        found = outcome(groups.parse_groups, stream, allow_missing=True)
        if isinstance(found, FormatError):
            n_refused += 1
            assert expected is None, text
            assert (found.line or 0) == line, text
            assert str(found).isprintable()
        else:
            assert expected is not None, text
            assert found[0].tolist() == expected[0], text
            assert found[1] == expected[1], text
    assert 1000 < n_refused < 2900


@pytest.mark.slow
def test_broken_word_vectors_give_result_or_error(tmp_path):
    n_refused = 0
    for text in broken(VECTORS, 2000, 1):
        (tmp_path / "v").unlink(missing_ok=True)  # a disk takes long to overwrite
        (tmp_path / "v").write_bytes(text)
        found = outcome(read_word_vectors, tmp_path / "v", ["cat", "dog", "emu"])
        if isinstance(found, FormatError):
            n_refused += 1
            assert str(found).isprintable()
        else:
            assert np.isfinite(found.vectors).all(), text
            assert not found.vectors[~found.found].any(), text
    assert 200 < n_refused < 1900


@pytest.mark.slow
def test_broken_archives_give_result_or_error(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, np.eye(5), [[0], [1], [2], [0, 3], []])
    whole = path.read_bytes()
    rng = random.Random(0)  # noqa: S311 - repeatable, not secret
    n_refused = 0
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 6)):
            place = rng.randrange(len(data))
            pieces = [bytes(1), b"\xff" * 4, rng.randbytes(4), b"PK\x01\x02", rng.randbytes(1)]
            data[place : place + rng.choice([0, 1, 4])] = rng.choice(pieces)
        found = outcome(parse_npz, InputStream(io.BytesIO(data), "a.npz"))
        if isinstance(found, FormatError):
            n_refused += 1
            assert "\n" not in str(found)
        else:
            X, Y = found
            assert np.isfinite(X.data).all()
            assert Y is None or Y.shape[0] == X.shape[0]
    assert 1000 < n_refused < 2000


@pytest.mark.slow
@pytest.mark.sanitize
def test_broken_inputs_of_every_reader_give_result_or_error():
    good = list(seeds())
    for data in [*good, *broken(good, 2000, 0)]:
        one_input(data)
