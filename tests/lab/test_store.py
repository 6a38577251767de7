import errno
import json
import os

import pytest

from defrag.exceptions import FormatError, FormatWarning
from defrag.lab import Store
from defrag.lab.records import read_records


def record(key, **more):
    return {
        "format": 1, "key": key, "method": "m", "data": {}, "estimator": {}, "seed": 0,
        "status": "done", **more,
    }  # fmt: skip


def test_store_finds_records_again(tmp_path):
    store = Store(tmp_path / "new" / "folder")
    store.append(record("a", value=1))
    store.append(record("b"))
    store.append(record("a", value=2))
    again = Store(tmp_path / "new" / "folder")
    assert len(again) == 2
    assert again.get("a")["value"] == 2
    assert again.get("c") is None


def test_store_reads_all_files_of_folder(tmp_path):
    (tmp_path / "others.jsonl").write_text(json.dumps(record("x")) + "\n\n")
    assert Store(tmp_path).get("x")["method"] == "m"


def test_torn_last_line_is_dropped_and_replaced(tmp_path):
    store = Store(tmp_path)
    store.append(record("a"))
    path = tmp_path / "records.jsonl"
    with path.open("ab") as file:
        file.write(b'{"format": 1, "key": "to')
    with pytest.warns(FormatWarning, match=r"records.jsonl:2: dropped a record"):
        store = Store(tmp_path)
    store.append(record("b"))
    assert [one["key"] for one in read_records(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "not a record: "),
        ("[1]", "must have format 1, got 'list'"),
        ('{"format": 2}', "must have format 1, got 2"),
        ('{"format": 1, "key": "k"}', "must have 'method'"),
    ],
)
def test_broken_line_is_an_error_with_its_number(tmp_path, line, message):
    (tmp_path / "records.jsonl").write_text(json.dumps(record("a")) + f"\n{line}\n")
    with pytest.raises(FormatError, match=message) as caught:
        Store(tmp_path)
    assert caught.value.line == 2
    assert str(tmp_path / "records.jsonl") in str(caught.value)


def test_full_disk_is_an_error_and_leaves_no_half_line(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.append(record("a"))
    path = tmp_path / "records.jsonl"
    before = path.read_bytes()
    write = os.write
    calls = []

    def full(descriptor, content):
        calls.append(len(content))
        if len(calls) == 1:
            return write(descriptor, content[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        store.append(record("b"))
    monkeypatch.undo()
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert store.get("b") is None
