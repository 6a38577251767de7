"""Plain lines of JSON are read natively; the reader of all lines is the slow twin."""

import io
import json
import random
from types import SimpleNamespace

import numpy as np
import pytest

from defrag import _native
from defrag._validation import named_matrix
from defrag.exceptions import FormatError
from defrag.io import documents
from defrag.io.documents import CorpusOptions, read_json_lines
from defrag.io.files import InputStream

LINES = [
    '{"text": "quick sort", "labels": ["sorting", "c"]}',
    '{"id": 7, "labels": [], "text": "", "more": [1, -0.5e3, {"a": [null, true, false]}, {}]}',
    '{"text":"\\u00e9\\ud83d\\ude00 \\"q\\" \\\\ \\/ \\b\\f\\n\\r\\t","labels":["\\u00e9","é"]}',
    ' {\t"title" : "é 中 😀", "labels" : [ "a b" , "中" ] , "text" : "naïve" } \r',
    '{"title": "t", "content": "c", "labels": "one"}',
    '{"text": "a", "subjects": [{"uri": "u"}]}',
    '{"text": "a", "target_ind": [1, 2], "Text": 1}',
    '{"text": "a", "labels": null}',
    '{"text": "a"}',
    '{"text": "\\udc00\\udc00", "labels": []}',
    '{"text": "\\ud800\\ue000", "labels": []}',
    '{"text": "\\"\x1f", "labels": []}',
    '{"text": "a", "labels": ["x"], "labels": ["y"]}',
    '{"text": "a", "labels": [], "id": 01}',
    "",
]
TOKENS = ['"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", "1e", ".5", "00", "9" * 5000, "NaN",
          "\\u", "\\ud800", "\\udc00", "\\x", "\0", "\t", "\x1f", "\x7f", "null", '"text": "b",',
          '"labels": ["z"],', "[" * 20, "\ufeff", "\u2028", " ", '""', "\\u0000", "\\u0041",
          '"": "c",']  # fmt: skip
OPTIONS = [
    CorpusOptions(),
    CorpusOptions(labels="ignored"),
    CorpusOptions(labels="required"),
    CorpusOptions(text_column="title", labels_column="tags\udc80", label_separator="space"),
    CorpusOptions(text_column="", labels_column="text"),
]


def no_plain_lines(*_keys):
    """Take no line for plain, in place of the native reader."""
    return SimpleNamespace(parse=documents._split)


def read(data, options):
    try:
        found = read_json_lines(InputStream(io.BytesIO(data), "file"), options)
        return [(one.line, one.text, one.labels) for one in found]
    except FormatError as error:
        return str(error)


def mutated(rng, line):
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
        begin = rng.randint(0, len(line))
        end = min(len(line), begin + rng.choice([0, 0, 1, 1, 3]))
        line = line[:begin] + rng.choice([*TOKENS, "", line[end:begin:-1]]) + line[end:]
    data = line.replace("\n", "").encode("utf-8", "surrogatepass")
    if rng.random() < 0.05 and data:
        place = rng.randrange(len(data))
        data = data[:place] + bytes([rng.randrange(128, 256)]) + data[place + 1 :]
    return data


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_plain_lines_are_what_the_reader_of_all_lines_says(seed, monkeypatch):
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    cases = [(mutated(rng, rng.choice(LINES)), rng.choice(OPTIONS))
             for _ in range(20_000 if seed else 2_000)]  # fmt: skip
    found = [read(line + b"\n", options) for line, options in cases]
    parse = _native.JsonLines(b"text", b"labels").parse
    plain = sum(isinstance(one, tuple) for line, _ in cases for one in parse(line))
    assert plain > len(cases) // 10
    assert sum(isinstance(one, str) for one in found) > len(cases) // 10  # errors
    monkeypatch.setattr(documents._native, "JsonLines", no_plain_lines)
    for case, one in zip(cases, found, strict=True):
        assert one == read(case[0] + b"\n", case[1]), case


def test_errors_after_plain_lines_name_their_line(monkeypatch):
    good = LINES[0].encode()
    for bad in (b'{"text": "a", "labels": [""]}', b'{"text": "\xff"}', b"[]", b'{"text": "a'):
        data = b"\xef\xbb\xbf" + b"\n".join([good, b"", good + b"\r", bad, good])
        message = read(data, CorpusOptions())
        assert message.startswith("file:4: ")
        with monkeypatch.context() as patch:
            patch.setattr(documents._native, "JsonLines", no_plain_lines)
            assert read(data, CorpusOptions()) == message
    assert [line for line, *_ in read(good + b"\n\n" + good, CorpusOptions())] == [1, 3]


def test_a_label_is_one_string_however_often_it_is_read():
    parse = _native.JsonLines(b"text", b"labels").parse
    first, second = parse(b"\n".join([LINES[0].encode()] * 2))
    assert first == ("quick sort", ["sorting", "c"])
    assert first[1][0] is second[1][0]
    assert first[1] is not second[1]


def test_numbers_of_names_are_those_of_sorting_in_python():
    rng = random.Random(0)  # noqa: S311 - repeatable, not secret
    names = ["", "a", "a\0", "b" * 9, "\x7f", "é", "\uffff", "\U00010000", "中文", "Z" * 300]
    for _ in range(50):
        rows = [rng.choices(names, k=rng.randint(0, 4)) for _ in range(rng.randint(0, 9))]
        matrix, found = named_matrix(rows)
        expected, _ = named_matrix(rows, sorted({name for row in rows for name in row}))
        assert found == sorted({name for row in rows for name in row})
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(matrix, part), getattr(expected, part))
    for other in ([["a"], [1]], [["\ud800"]], [[np.str_("a")]]):
        assert _native.number_names(other) is None
    assert named_matrix([["\ud800", "a"]])[1] == ["a", "\ud800"]
    assert json.dumps(named_matrix([["b"], ["a"]])[1]) == '["a", "b"]'
