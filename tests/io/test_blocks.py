"""Data files read some rows at a time."""

from __future__ import annotations

import pytest
from scipy import sparse

from defrag.io import (
    blocks,
    write_features,
    write_xmc,
)
from defrag.io.files import open_input
from tests.helpers.cli_model_data import points


def read_blocks(text, tmp_path, **options):
    (tmp_path / "blocks.txt").write_bytes(text)
    with open_input(tmp_path / "blocks.txt") as stream:
        rows = blocks.RowBlocks(stream, **options)
        return rows, sparse.vstack(list(rows), format="csr")


@pytest.mark.parametrize("size", [1, 7, 40, 1 << 20])
@pytest.mark.parametrize("kind", ["combined", "features", "comments"])
def test_blocks_are_the_file(tmp_path, size, kind, monkeypatch):
    monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", size)
    X, Y = points()
    write_xmc(tmp_path / "a", X, Y) if kind != "features" else write_features(tmp_path / "a", X)
    text = (tmp_path / "a").read_bytes()
    if kind == "comments":
        text = b"# first\n#second\n" + text.replace(b"\n", b" # note\n", 3)
    rows, found = read_blocks(text + b"\n\n", tmp_path)
    assert (rows.n_rows, rows.n_features) == X.shape
    assert (found != X).nnz == 0


@pytest.mark.parametrize("size", [1, 9, 1 << 20])
def test_blocks_name_the_line(tmp_path, size, monkeypatch):
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
