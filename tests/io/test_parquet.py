"""Texts and predictions in Parquet files."""

import io
import sys

import numpy as np
import pytest

from defrag.exceptions import FormatError
from defrag.io import read_texts
from defrag.io.parquet import load_pyarrow, table_bytes

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


def write(path, rows, **columns):
    parquet.write_table(pyarrow.table(columns), path, row_group_size=rows)
    return path


def test_texts_and_labels_are_read(tmp_path):
    labels = [["fox", "red"], [], ["hen"]]
    columns = {"text": ["a red fox", None, "three"], "labels": labels, "number": [1, 2, 3]}
    path = write(tmp_path / "a.parquet", 2, **columns)
    assert read_texts(path) == (["a red fox", "", "three"], labels)


def test_folder_is_read_in_order_of_names(tmp_path):
    write(tmp_path / "b.parquet", 9, title=["c"], content=["d"], topic=["y"])
    write(tmp_path / "a.parquet", 9, title=["a", "e"], content=["b", "f"], topic=["x", "z"])
    (tmp_path / "_state.json").write_text("not read")
    found = read_texts(tmp_path, labels_column="topic")
    assert found == (["a\nb", "e\nf", "c\nd"], [["x"], ["z"], ["y"]])
    assert read_texts(tmp_path, text_column="content").texts == ["b", "f", "d"]


def test_rows_of_many_batches_are_read(tmp_path):
    texts = [f"text {i}" for i in range(25_001)]
    path = write(tmp_path / "many.parquet", 7_000, text=texts)
    assert read_texts(path).texts == texts


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"body": ["a"]}, {}, r"no 'text', or .* among body: give --text-column"),
        ({"text": ["a"]}, {"labels_column": "b"}, r"no 'b' among text"),
        ({"text": ["a", "b"], "labels": [["x"], [""]]}, {}, r":2: 'labels' must be a non-empty"),
        ({"text": ["a"], "labels": ["b c"]}, {}, r":1: labels 'b c' may be several: give --label-"),
        ({"text": ["a"], "labels": [[3.5]]}, {}, r":1: 'labels' must be .*, got \[3\.5\]: give"),
        ({"text": [7]}, {}, r":1: 'text' must be a string, got 7"),
    ],
)
def test_other_tables_are_refused(columns, options, message, tmp_path):
    path = write(tmp_path / "a.parquet", 9, **columns)
    with pytest.raises(FormatError, match=message):
        read_texts(path, **options)


def test_damaged_files_are_refused(tmp_path):
    path = write(tmp_path / "a.parquet", 9, text=["some words"] * 100)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refusals = []
    for cut in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(FormatError, match="is damaged or not Parquet"):
            read_texts(path)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            read_texts(path)
        except FormatError as error:
            refusals.append(str(error))
    assert refusals
    assert not any("\n" in one for one in refusals)


def test_table_of_predictions_is_written():
    scores = np.float32([[0.9, 0.1], [0.5, 0]])
    for labels, kind in (
        (np.int32([[3, 1], [2, -1]]), pyarrow.int32()),
        (np.array([["x", "y"], ["z", ""]], dtype=object), pyarrow.string()),
    ):
        found = parquet.read_table(io.BytesIO(table_bytes(labels, scores, 7)))
        assert found.schema.field("labels").type.value_type == kind
        assert found.column("row").to_pylist() == [7, 8]
        assert found.column("labels").to_pylist() == [labels[0].tolist(), labels[1, :1].tolist()]
        assert found.column("scores").to_pylist() == [scores[0].tolist(), [0.5]]
        none = parquet.read_table(io.BytesIO(table_bytes(labels[:0], scores[:0], 0)))
        assert none.schema == found.schema


def test_missing_pyarrow_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", 9, text=["a"])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for use in (load_pyarrow, lambda: read_texts(path)):
        with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'defrag\[parquet\]'"):
            use()
