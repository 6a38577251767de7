"""Texts and label names from JSON lines."""

import bz2
import gzip
import lzma
import sys

import pytest

from defrag.exceptions import FormatError
from defrag.io import ReadLimits, read_texts
from defrag.io.files import atomic_writer, load_zstd


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_texts_and_labels_are_read(tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        '\ufeff{"text": "eins zwei", "labels": ["a", "é"]}\r\n\n'
        '{"title": "T", "content": "C", "labels": [], "other": 3}\n{"text": "", "labels": "b"}',
    )
    assert read_texts(path) == (["eins zwei", "T\nC", ""], [["a", "é"], [], ["b"]])


def test_compressed_texts_without_labels_are_read(tmp_path):
    path = write(tmp_path / "a.jsonl.xz", lzma.compress(b'{"text": "one"}\n{"title": "two"}\n'))
    assert read_texts(path) == (["one", "two"], None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"a.jsonl:2: invalid JSON: .* at character 1"),
        ("[]", r"a.jsonl:2: expected a JSON object, got \[\]"),
        ('{"body": "x"}', "a.jsonl:2: no 'text', or 'title' and 'content', among body"),
        ('{"text": 3, "labels": []}', "a.jsonl:2: 'text' must be a string, got 3"),
        (
            '{"text": "x", "labels": [true]}',
            r"a.jsonl:2: 'labels' must be a non-empty name, .*, got \[true\]: give --labels-col",
        ),
        ('{"text": "x", "labels": [""]}', "a.jsonl:2: 'labels' must be a non-empty name"),
        ('{"text": "x", "labels": {"a": 1}}', "a.jsonl:2: 'labels' must be"),
        ('{"text": "x"}', "a.jsonl:2: a text without labels, but others have them"),
        (b'{"text": "\xff"}', "a.jsonl:2: invalid UTF-8 at byte 10 of the line"),
        ("[" * 100_000, "a.jsonl:2: invalid JSON"),
    ],
)
def test_broken_lines_are_refused(tmp_path, line, message):
    first = b'{"text": "fine", "labels": ["a"]}\n'
    path = write(tmp_path / "a.jsonl", first + (line if isinstance(line, bytes) else line.encode()))
    with pytest.raises(FormatError, match=message):
        read_texts(path)


def test_partial_labels_and_empty_files_are_refused(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "x"}\n{"text": "y", "labels": ["a"]}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl:2: a text without labels"):
        read_texts(path)
    with pytest.raises(FormatError, match="has no texts"):
        read_texts(write(tmp_path / "b.jsonl", "\n\n"))


def test_labels_of_other_programs_are_read(tmp_path):
    path = write(
        tmp_path / "a.json",
        '{"text": "x", "subjects": [{"uri": "http://a/1", "label": "one"}]}\n'
        '{"title": "y", "target_ind": [3, 0]}\n',
    )
    assert read_texts(path).labels == [["http://a/1"], ["3", "0"]]
    for line, message in (
        (
            '{"text": "x", "subjects": [{"label": "one"}]}',
            "'subjects' must be .* with a name or id",
        ),
        ('{"text": "x", "target_ind": [-1]}', "'target_ind' must be .* a number >= 0"),
        ('{"text": ' + "9" * 5000 + "}", "a.json:1: "),
    ):
        with pytest.raises(FormatError, match=message):
            read_texts(write(tmp_path / "a.json", line))


def test_unknown_format_is_refused(tmp_path):
    path = write(tmp_path / "a", '{"text": "x"}\n')
    with pytest.raises(ValueError, match=r"a: the format must be one of .*: its name does not"):
        read_texts(path)
    with pytest.raises(ValueError, match=r"a: the format must be one of jsonl.*: got 'xml'"):
        read_texts(path, form="xml")
    assert read_texts(path, form="jsonl").texts == ["x"]


ZSTD = load_zstd()


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress, ZSTD.compress])
def test_compression_is_recognised_by_content(tmp_path, pack):
    line = b'{"text": "one", "labels": ["a"]}\n'
    content = pack(line * 50_000)
    assert len(read_texts(write(tmp_path / "a.jsonl", content)).texts) == 50_000
    with pytest.raises(FormatError, match=r"the compressed data are (truncated|damaged)"):
        read_texts(write(tmp_path / "a.jsonl", content[: len(content) // 2]))
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 255
    with pytest.raises(FormatError, match=r"the compressed data are (truncated|damaged)"):
        read_texts(write(tmp_path / "a.jsonl", bytes(damaged)))
    with pytest.raises(FormatError, match="expands to more than 1000 bytes"):
        read_texts(write(tmp_path / "a.jsonl", content), limits=ReadLimits(max_bytes=1000))


def test_missing_zstd_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "backports", None)
    path = write(tmp_path / "a.jsonl", ZSTD.compress(b'{"text": "one"}'))
    with pytest.raises(FormatError, match=r"a\.jsonl: is compressed with zstd: pip install"):
        read_texts(path)
    with (
        pytest.raises(ImportError, match=r"b\.txt\.zst: needs zstd: pip install"),
        atomic_writer(tmp_path / "b.txt.zst"),
    ):
        pass
    assert not (tmp_path / "b.txt.zst").exists()


def test_zstd_suffix_compresses(tmp_path):
    with atomic_writer(tmp_path / "docs.jsonl.zst") as file:
        file.write(b'{"text": "one", "labels": ["a"]}\n' * 2)
    content = (tmp_path / "docs.jsonl.zst").read_bytes()
    assert content.startswith(b"\x28\xb5\x2f\xfd")
    twice = write(tmp_path / "twice.jsonl.zst", content * 2)  # two frames
    assert read_texts(twice).texts == ["one"] * 4


def test_text_that_begins_like_bzip2_is_text(tmp_path):
    with pytest.raises(FormatError, match=r"a\.jsonl:1: invalid JSON"):
        read_texts(write(tmp_path / "a.jsonl", b"BZh and so on"))
    assert read_texts(write(tmp_path / "a.jsonl", bz2.compress(b'{"text": ""}'))).texts == [""]
    with pytest.raises(FormatError, match="has no texts"):
        read_texts(write(tmp_path / "a.jsonl", bz2.compress(b"")))
