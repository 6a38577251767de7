"""Data by URI: in the memory of fsspec, and in an object store on the loopback interface."""

import gzip
import json
from contextlib import contextmanager
from pathlib import Path

import pytest

from defrag.io import read_texts
from tests.helpers.cli_running import run_well
from tests.text.data import make_texts

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


def fill(root, options):
    """Write the same texts as JSON lines, in two files and in a table."""
    texts, labels = make_texts(n_texts=60)
    rows = [json.dumps({"text": text, "labels": own}) + "\n"
            for text, own in zip(texts, labels, strict=True)]  # fmt: skip
    files = {"docs.jsonl": "".join(rows).encode(), "part-1.jsonl": "".join(rows[:20]).encode(),
             "part-2.jsonl.gz": gzip.compress("".join(rows[20:]).encode())}  # fmt: skip
    for name, content in files.items():
        with fsspec.open(f"{root}/{name}", "wb", **options) as file:
            file.write(content)
    return texts, labels, rows


def check(root, rows, texts, labels):
    assert read_texts(f"{root}/docs.jsonl") == (texts, labels)
    assert read_texts(f"{root}/part-*.jsonl*", form="jsonl") == (texts, labels)
    Path("docs.jsonl").write_text("".join(rows))
    run_well("train", "docs.jsonl", "a.model")
    run_well("train", f"{root}/docs.jsonl", "b.model", "--memory", "1G")
    assert Path("a.model").read_bytes() == Path("b.model").read_bytes()
    for data, output in (("docs.jsonl", "a.txt"), (f"{root}/docs.jsonl", "b.txt")):
        run_well("predict", "a.model", data, "--output", output)
    assert Path("a.txt").read_bytes() == Path("b.txt").read_bytes()


def test_files_in_the_memory_of_fsspec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, labels, rows = fill("memory://texts", {})
    check("memory://texts", rows, texts, labels)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        read_texts("memory://texts/none-*.jsonl")


@contextmanager
def object_store(folder, monkeypatch):
    """Work in a folder while an object store with a bucket for texts runs."""
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = pytest.importorskip("moto.server", reason="moto is not installed")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    running.start()
    try:
        monkeypatch.chdir(folder)
        host, port = running.get_host_and_port()
        for name, value in {"AWS_ENDPOINT_URL": f"http://{host}:{port}",
                            "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
                            "AWS_DEFAULT_REGION": "us-east-1"}.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        fsspec.filesystem("s3").mkdir("texts")
        yield
    finally:
        running.stop()


def test_object_store(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    with object_store(tmp_path, monkeypatch):
        texts, labels, rows = fill("s3://texts", {})
        check("s3://texts", rows, texts, labels)
        table = {"text": texts, "labels": labels}
        with fsspec.open("s3://texts/t.parquet", "wb") as file:
            parquet.write_table(pyarrow.table(table), file, row_group_size=9)
        assert read_texts("s3://texts/t.parquet") == (texts, labels)
