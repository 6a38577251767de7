"""Texts and label names from JSON lines."""

from __future__ import annotations

import lzma

import pytest

from defrag.exceptions import FormatError
from defrag.io import read_texts


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_texts_and_labels(tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        '\ufeff{"text": "eins zwei", "labels": ["a", "é"]}\r\n\n'
        '{"title": "T", "content": "C", "labels": [], "other": 3}\n{"text": "", "labels": "b"}',
    )
    assert read_texts(path) == (["eins zwei", "T\nC", ""], [["a", "é"], [], ["b"]])


def test_texts_alone_and_compressed(tmp_path):
    path = write(tmp_path / "a.jsonl.xz", lzma.compress(b'{"text": "one"}\n{"title": "two"}\n'))
    assert read_texts(path) == (["one", "two"], None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"a:2: invalid JSON: .* at character 1"),
        ("[]", r"a:2: expected a JSON object, got \[\]"),
        ('{"body": "x"}', "a:2: expected 'text', or 'title' and 'content'"),
        ('{"text": 3, "labels": []}', "a:2: 'text' must be a string, got 3"),
        ('{"text": "x", "labels": [1]}', r"a:2: 'labels' must be a list of names .*, got \[1\]"),
        ('{"text": "x", "labels": [""]}', "a:2: 'labels' must be a list of names"),
        ('{"text": "x", "labels": {"a": 1}}', "a:2: 'labels' must be"),
        ('{"text": "x"}', "a:2: a line without labels, but others have them"),
        (b'{"text": "\xff"}', "a:2: invalid UTF-8 at byte 10 of the line"),
        ("[" * 100_000, "a:2: invalid JSON"),
    ],
)
def test_broken_lines(tmp_path, line, message):
    first = b'{"text": "fine", "labels": ["a"]}\n'
    path = write(tmp_path / "a", first + (line if isinstance(line, bytes) else line.encode()))
    with pytest.raises(FormatError, match=message):
        read_texts(path)


def test_labels_that_come_later_and_no_texts(tmp_path):
    path = write(tmp_path / "a", '{"text": "x"}\n{"text": "y", "labels": ["a"]}\n')
    with pytest.raises(FormatError, match="a:2: a line without labels"):
        read_texts(path)
    with pytest.raises(FormatError, match="has no texts"):
        read_texts(write(tmp_path / "b", "\n\n"))
