"""Data files read some rows at a time."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag.exceptions import FormatError
from defrag.io import read_xmc, write_xmc
from defrag.io.files import open_input
from defrag.io.points import RowBlocks
from tests.helpers.cli_model_data import points


def read_blocks(text, tmp_path, **options):
    (tmp_path / "blocks.txt").write_bytes(text)
    with open_input(tmp_path / "blocks.txt") as stream:
        rows = RowBlocks(stream, **options)
        return rows, sparse.vstack(list(rows), format="csr")


@pytest.mark.parametrize("size", [1, 7, 40, 1 << 20])
@pytest.mark.parametrize("kind", ["combined", "features", "comments"])
def test_blocks_join_to_whole_file(tmp_path, size, kind, monkeypatch):
    monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", size)
    X, Y = points()
    write_xmc(tmp_path / "a", X, Y if kind != "features" else None)
    text = (tmp_path / "a").read_bytes()
    if kind == "comments":
        text = b"# first\n#second\n" + text.replace(b"\n", b" # note\n", 3)
    rows, found = read_blocks(text + b"\n\n", tmp_path)
    assert (rows.n_rows, rows.n_features) == X.shape
    assert (found != X).nnz == 0


@pytest.mark.parametrize("size", [1, 9, 1 << 20])
def test_errors_in_blocks_name_line(tmp_path, size, monkeypatch):
    monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", size)
    text = b"#\n3 3 2\n0 0:1\n# a note\n1 1:1\n0 2:1 2:1\n"
    with pytest.warns(match=r"blocks.txt:6: 1 features are repeated"):
        read_blocks(text, tmp_path)
    with pytest.raises(ValueError, match=r"blocks.txt:6: 1 features are repeated"):
        read_blocks(text, tmp_path, strict=True)
    with pytest.raises(ValueError, match=r"blocks.txt:7: feature index 3"):
        read_blocks(text + b"0 3:1\n", tmp_path)
    cut = b"9 3 2\n0 0:1\n1 1:1\n0 2:1\n"
    with pytest.raises(ValueError, match=r"declares 9 points, the file has 3; a truncated file"):
        read_blocks(cut, tmp_path)
    with pytest.warns(match=r"declares 9 points, the file has 3"):
        _, found = read_blocks(cut, tmp_path, allow_truncated=True)
    assert found.shape == (3, 3)
    with pytest.raises(ValueError, match=r"blocks.txt:2: "):
        read_blocks(text.replace(b"3 3 2", b"3 x 2"), tmp_path)


ROWS = [b"0 0:1 2:0.5", b" 1:1", b"1,0 2:1 2:2", b"", b" ", b"# a note", b"1,1", b"0 3:1", b"0 1:x"]


def outcome(read):
    """Return the rows of a file and the warnings about it, or the error."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            rows = read()
        except FormatError as error:
            return str(error)
    arrays = [array.tolist() for array in (rows.indptr, rows.indices, rows.data)]
    return rows.shape, arrays, sorted(str(warning.message) for warning in found)


@settings(
    max_examples=150, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(
    lines=st.lists(st.sampled_from(ROWS[:7]), max_size=12),
    last=st.lists(st.sampled_from(ROWS), max_size=2),
    declared=st.integers(0, 9),
    notes=st.integers(0, 2),
    size=st.sampled_from([1, 5, 12, 30]),
)
def test_blocks_equal_rows_read_at_once(
    tmp_path, monkeypatch, *, lines, last, declared, notes, size
):
    text = b"\n".join([b"# first"] * notes + [b"%d 3 2" % declared] + lines + last)
    path = tmp_path / "blocks.txt"
    path.write_bytes(text)

    def in_blocks():
        with open_input(path) as stream:
            rows = list(RowBlocks(stream, allow_truncated=True))
        return sparse.vstack([sparse.csr_array((0, 3), dtype=np.float32), *rows], format="csr")

    wanted = outcome(lambda: read_xmc(path, allow_truncated=True)[0])
    with monkeypatch.context() as patch:
        patch.setattr("defrag.io.files.BLOCK_BYTES", size)
        assert outcome(in_blocks) == wanted


def test_random_texts_have_all_outcomes(tmp_path):
    kinds = set()
    for last in ROWS:
        path = tmp_path / "a.txt"
        path.write_bytes(b"2 3 2\n" + b"0 0:1\n" * 2 + last)
        found = outcome(lambda path=path: read_xmc(path, allow_truncated=True)[0])
        kinds.add("error" if isinstance(found, str) else (found[0][0], bool(found[2])))
    assert kinds == {"error", (2, False), (3, True)}
