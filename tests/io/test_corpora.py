"""Corpora in the formats of other programs."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defrag.exceptions import FormatError, FormatWarning
from defrag.io import ReadLimits, documents, read_texts
from defrag.io.corpora import likely_forms, open_corpus
from defrag.io.documents import CorpusOptions
from defrag.io.files import atomic_writer, load_zstd, open_input

TEXTS = ["quick sort", "sparse matrix"]
LABELS = [["sorting", "files"], ["algebra"]]


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# Without the time: it would be part of the name of a test.
ARCHIVE = gzip.compress(b"body,tags\nquick sort,sorting files\nsparse matrix,algebra\n", mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", "text,labels\nquick sort,sorting;files\nsparse matrix,algebra\n",
         {"label_separator": ";"}),
        ("a.csv", 'labels,id,text\r\n"sorting, files",1,"quick sort"\r\nalgebra,2,sparse matrix',
         {"label_separator": ","}),
        ("a.csv.gz", ARCHIVE,
         {"text_column": "body", "labels_column": "tags", "label_separator": "space"}),
        ("a.csv", "text,subject_uris\nquick sort,<sorting> <files>\nsparse matrix,algebra\n", {}),
        ("a.tsv", "id\ttext\tlabels\n1\tquick sort\tsorting|files\n2\tsparse matrix\talgebra\n",
         {"label_separator": "|"}),
        ("a.tsv", "quick sort\t<sorting> <files>\n\nsparse matrix\t<algebra>\n", {}),
        ("a.txt", "quick sort\tsorting  <files>\nsparse matrix\talgebra\n", {"form": "annif"}),
        ("a.ft", "__label__sorting __label__files quick sort\n__label__algebra\tsparse matrix\n",
         {}),
        ("a.txt", " __label__sorting  __label__files quick sort\n__label__algebra sparse matrix\n",
         {"form": "fasttext"}),
        ("a.tsv", "3,0\tquick sort\n1\tsparse matrix\n",
         {"label_names": ["files", "algebra", "unused", "sorting"]}),
        ("a.tsv", "3::0.5,0::1,1::0\tquick sort\n1::2e-1\tsparse matrix\n",
         {"label_names": ["files", "algebra", "unused", "sorting"]}),
        ("a.tsv", "7\tsorting files\tquick sort\n8\talgebra\tsparse matrix\n", {}),
        ("a.tsv", "\ufeff7\tsorting files\tquick sort\r\n8\talgebra\tsparse matrix", {}),
        ("a.json", ('{"text": "quick sort", "subjects": [{"uri": "sorting", "label": "one"}, '
                    '{"uri": "files"}]}\n{"title": "sparse matrix", "labels": "algebra"}\n'), {}),
        ("a.jsonl", ('{"text": "quick sort", "target_ind": [1, 0]}\n'
                     '{"text": "sparse matrix", "target_ind": [2]}'),
         {"label_names": ["files", "sorting", "algebra"]}),
        ("a.jsonl", ('{"body": "quick sort", "tags": "sorting; files"}\n'
                     '{"body": "sparse matrix", "tags": ["algebra"]}'),
         {"text_column": "body", "labels_column": "tags", "label_separator": ";"}),
        ("a.tsv", "7\tsorting,files\tquick sort\n8\talgebra\tsparse matrix\n",
         {"label_separator": ","}),
        ("a.csv", "Text;Labels\r\nquick sort;sorting, files\r\nsparse matrix;algebra\r\n",
         {"label_separator": ","}),
        ("a.csv", 'sep=;\ntext;tags\n"quick sort";"sorting|files"\nsparse matrix;algebra\n',
         {"label_separator": "|"}),
        ("a.csv", "text\tlabel\nquick sort\tsorting files\nsparse matrix\talgebra\n",
         {"label_separator": "space"}),
        ("a.csv", "text*labels\nquick sort*sorting files\nsparse matrix*algebra\n",
         {"label_separator": "space", "delimiter": "*"}),
        ("a.tsv", "text\tlabels\nquick sort\tsorting,files\nsparse matrix\talgebra\n".encode(
            "utf-16"), {"label_separator": ","}),
        ("a.csv", "größe;text;labels\n1;quick sort;sorting,files\n2;sparse matrix;algebra".encode(
            "latin-1"), {"label_separator": ",", "encoding": "latin-1"}),
        ("a.tsv", '"text"\tlabels\n"quick sort"\t"sorting\nfiles"\nsparse matrix\talgebra\n',
         {"label_separator": "space"}),
        ("a.json", ('\ufeff[\n {"text": "quick sort", "labels": [{"name": "sorting", "id": 4}, '
                    '{"id": "files"}]},\n\n{"text": "sparse matrix", "label": "algebra"}]\n'), {}),
        ("a.jsonl", ('{"text": "quick sort", "tags": [1, 0, null]}\n'
                     '{"text": "sparse matrix", "label": 2}\n'),
         {"label_names": ["files", "sorting", "algebra"]}),
    ],
)  # fmt: skip
def test_every_format_is_read(tmp_path, name, content, options):
    found = read_texts(write(tmp_path / name, content), **options)
    assert found.texts == TEXTS
    assert found.labels == LABELS


def test_lines_of_quoted_field_are_joined_once(tmp_path, monkeypatch):
    joined, join = [], documents._quoted_fields
    counted = lambda *given: (joined.append(0), join(*given))[1]  # noqa: E731 - two in one
    monkeypatch.setattr(documents, "_quoted_fields", counted)
    (tmp_path / "a.tsv").write_text('text\tlabels\n"a\n' + "b\n" * 50 + 'c"\tx\n')
    found = read_texts(tmp_path / "a.tsv")
    assert (found.texts[0].count("b"), found.labels, len(joined)) == (50, [["x"]], 1)


def test_quotes_of_a_tsv_file_are_part_of_texts_unless_they_enclose_them(tmp_path):
    texts = ['5" disk', '"Stop" he said', 'half "quoted', "plain", "a\nb"]
    lines = [*texts[:-1], '"a\nb"']
    path = write(tmp_path / "a.tsv", "\n".join(["text\tn", *(f"{line}\t1" for line in lines)]))
    assert read_texts(path).texts == texts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"b": "x\\ny", "t": "quick\\nsort", "k": null, "tags": ["1"]}'),
        ("a.csv", 't,b,k,tags\n"quick\nsort","x\ny",,1\n'),
    ],
)
def test_several_columns_are_lines_of_one_text(tmp_path, name, content):
    path = write(tmp_path / name, content)
    found = read_texts(path, text_column=("t", "k", "b"), labels_column="tags")
    assert found == (["quick sort\n\nx\ny"], [["1"]])
    with pytest.raises(FormatError, match="no 'u' among"):
        read_texts(path, text_column=["t", "u"])


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("a.json", '[{"text": "x", "label": null}, {"text": null, "label": 3.0}]', {},
         (["x", ""], [[], ["3"]])),
        ("a.tsv", "3,007\tone\n\ttwo\n", {"form": "pecos"}, (["one", "two"], [["3", "7"], []])),
        ("a.csv", 'text,labels\nx,"b;c"\ny,\n', {"label_separator": "none"},
         (["x", "y"], [["b;c"], []])),
        ("a.csv", "text,labels\nx,machine learning;c\n", {"label_separator": ";"},
         (["x"], [["machine learning", "c"]])),
        ("a.jsonl", '{"text": "x", "labels": ["machine learning", "a,b"]}', {},
         (["x"], [["machine learning", "a,b"]])),
        ("b.jsonl", '{"text": "x", "labels": "machine learning"}', {"label_separator": "none"},
         (["x"], [["machine learning"]])),
        ("a.jsonl",
         ('\ufeff{"text": "eins zwei", "labels": ["a", "é"]}\r\n\n{"title": "T", "content": "C", '
          '"labels": [], "other": 3}\n{"text": "", "labels": "b"}'), {},
         (["eins zwei", "T\nC", ""], [["a", "é"], [], ["b"]])),
        ("a.jsonl.xz", lzma.compress(b'{"text": "one"}\n{"title": "two"}\n'), {},
         (["one", "two"], None)),
    ],
)  # fmt: skip
def test_labels_are_read_as_they_are_written(tmp_path, name, content, options, expected):
    assert read_texts(write(tmp_path / name, content), **options) == expected


class Frame(dict):
    """What data frames have in common: columns by name."""

    columns = property(list)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "datasets", "any"])
def test_data_frames_are_read(kind):
    columns = {"text": TEXTS, "tags": LABELS}
    numbers = {"title": ["quick", None], "content": ["sort", "x"], "label": [1, None]}
    make = Frame
    if kind != "any":
        module = pytest.importorskip(kind)
        make = {"pyarrow": "table", "datasets": "Dataset"}.get(kind, "DataFrame")
        make = getattr(module, make)
        make = make.from_dict if kind == "datasets" else make
    assert read_texts(make(columns)) == (TEXTS, LABELS)
    assert read_texts(make(numbers)) == (["quick\nsort", "\nx"], [["1"], []])
    named = read_texts(make(numbers), label_names=["no", "yes"])
    assert named.labels == [["yes"], []]
    with pytest.raises(FormatError, match=r"^the .*: no 'text', or .* among body: give --text-col"):
        read_texts(make({"body": ["x"]}))
    with pytest.raises(ValueError, match="path must be a path or a data frame, got int"):
        read_texts(3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "the delimiter must be one character or tab, got ';;'"),
        ({"encoding": "nothing"}, "the encoding must be an encoding that Python knows"),
        ({"encoding": "hex"}, "such as utf-8, cp1252 or latin-1, got 'hex'"),
        ({"label_separator": ""}, "separator must not be empty"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        CorpusOptions(**options)


def test_texts_and_labels_in_two_files(tmp_path):
    texts = write(tmp_path / "X.txt", "quick sort\nsparse matrix\n")
    labels = write(tmp_path / "Y.txt", "sorting files\nalgebra\n")
    assert read_texts(texts, form="lines", labels_path=labels) == (TEXTS, LABELS)
    assert read_texts(texts, form="lines") == (TEXTS, None)
    write(labels, "sorting\n")
    with pytest.raises(FormatError, match=r"Y\.txt: ends before line 2 of .*X\.txt"):
        read_texts(texts, form="lines", labels_path=labels)
    write(labels, "a\nb\nc\n")
    with pytest.raises(FormatError, match=r"Y\.txt:3: a line more than .*X\.txt, which has 2"):
        read_texts(texts, form="lines", labels_path=labels)


def test_folders_of_annif_are_read(tmp_path):
    write(tmp_path / "b.txt", "sparse\nmatrix")
    write(tmp_path / "b.key", "algebra\n\n")
    write(tmp_path / "a.txt", "\ufeffquick sort")
    write(tmp_path / "a.tsv", "<sorting>\tSorting\nfiles\n")
    write(tmp_path / "a.key", "not read")
    write(tmp_path / "notes.md", "not read")
    assert read_texts(tmp_path) == (["quick sort", "sparse\nmatrix"], LABELS)
    write(tmp_path / "c.txt", "no labels")
    with pytest.raises(FormatError, match=r"c\.txt: a text without labels"):
        read_texts(tmp_path)
    write(tmp_path / "a.tsv", "\tSorting\n")
    with pytest.raises(FormatError, match=r"a\.tsv:1: expected <uri><TAB>name"):
        read_texts(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="empty: has no texts"):
        read_texts(tmp_path / "empty", form="annif")
    with pytest.raises(ValueError, match="empty: the format must be one of"):
        read_texts(tmp_path / "empty")
    with pytest.raises(FormatError, match="empty: is a directory, not a file"):
        read_texts(tmp_path / "empty", form="lines")


FINE = '{"text": "fine", "labels": ["a"]}\n'


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.csv", "text,labels\na,b\nc\n", {}, r"a\.csv:3: 1 column, but the header has 2"),
        ("a.csv", 'text,labels\n"a\nb",x\nc', {}, r"a\.csv:4: 1 column, but the header has 2"),
        ("a.csv", "body,labels\na,b\n", {}, r"a\.csv:1: no 'text', or .*: give --text-col"),
        ("a.csv", '"a\nb\x1b",c\nd,e\n', {}, r"a\.csv:1: .* among a\\nb\\x1b, c: "),
        ("a.csv", "text,labels\na,b\n", {"labels_column": "x"}, r"a\.csv:1: no 'x' among text, l"),
        ("a.csv", "text,text\na,b\n", {}, r"a\.csv:1: the header has 'text' more than once"),
        ("a.csv", "text,labels\na,b;c\n", {}, r"a\.csv:2: labels 'b;c' may be several: give --l"),
        ("a.csv", "text,labels\na,b c\n", {}, r"a\.csv:2: labels 'b c' may .* --label-sep.* space"),
        ("a.tsv", "text\tlabels\na\tb c\n", {}, r"a\.tsv:2: labels 'b c' may be several: give"),
        ("a.jsonl", '{"text": "a", "labels": "b,c"}', {}, r"a\.jsonl:1: .* ',', .* list of names"),
        ("a.jsonl", '{"text": "a", "labels": "b c"}', {}, r"a\.jsonl:1: .* 'b c' may be several"),
        ("a.jsonl", '{"body": "a"}', {"text_column": "x"}, r"a\.jsonl:1: no 'x' among body"),
        ("a.jsonl", '{"text": "a"}', {"labels_column": "x"}, r"a\.jsonl:1: no 'x' among text"),
        ("a.csv", 'text,labels\n"a,b\n', {}, r"a\.csv:2: a quoted field is not closed"),
        ("a.csv", 'text,labels\n"a"b,c\n', {}, r"a\.csv:2: a quote inside a quoted field must be"),
        ("a.tsv", 'text\tlabels\n"a\n', {}, r"a\.tsv:2: a quoted field is not closed"),
        ("a.tsv", "text\tlabels\na\n", {}, r"a\.tsv:2: 1 column, .* has 2: give --delimiter"),
        ("a.json", '[{"text": "a"}', {}, r"a\.json:1: expected ',' or ']' after an object"),
        ("a.json", '[{"text": "a"},\n 3]', {}, r"a\.json:2: expected a JSON object, got 3"),
        ("a.json", "[] x", {}, r"a\.json:1: expected nothing after the JSON array"),
        ("a.csv", "größe,text\n".encode("latin-1"), {}, "UTF-8 .*: give --encoding latin-1$"),
        ("a.csv", "preis €,text\n".encode("cp1252"), {}, "invalid UTF-8 at byte 6 of the line$"),
        ("a.csv", "“größe”,text\n".encode("cp1252"), {}, "UTF-8 .*: give --encoding cp1252$"),
        ("a.csv", b"\xff\xfea", {}, r"a\.csv: invalid utf-16: truncated data: give --encoding"),
        ("a.csv", b"\x10\1\0\0\0\0\0\0{", {}, r"a\.csv: is a model file, not data"),
        ("a.csv", "text,subject_uris\na,<>\n", {}, r"a\.csv:2: an empty URI in <>"),
        ("a.csv", "", {}, r"a\.csv: has no texts"),
        ("a.csv", "text,labels\n", {}, r"a\.csv: has no texts"),
        ("a.tsv", "one\ttwo\n", {}, r"a\.tsv:1: no header .* looks like no format with tabs: giv"),
        ("a.tsv", "12\t<a>\n", {}, r"a\.tsv:1: no header .* looks like annif or pecos: give --fr"),
        ("a.tsv", "one\t<a>\ntwo\tb\n", {}, r"a\.tsv:1: no header .* no format with tabs"),
        ("a", "one\n", {"form": "annif"}, r"a:1: expected text<TAB><uri> <uri>, got 1 column$"),
        ("a", "x\ty\tz\n", {"form": "annif"}, r"a:1: expected text<TAB><uri> <uri>, got 3 colu"),
        ("a", "x\t<> <b>\n", {"form": "annif"}, r"a:1: an empty URI in <> <b>"),
        ("a", "__label__ x\n", {"form": "fasttext"}, r"a:1: __label__ without a name"),
        ("a", "x\n", {"form": "pecos"}, r"a:1: expected labels<TAB>text, got no tab"),
        ("a", "0,x\ty\n", {"form": "pecos"}, r"a:1: expected numbers of labels, got 'x'"),
        ("a", "0::x\ty\n", {"form": "pecos"}, r"a:1: expected numbers of labels, got '0::x'"),
        ("a", "1\ty\n", {"form": "pecos", "label_names": ["p"]}, r"a:1: label 1, but there are 1"),
        ("a", "9" * 5000 + "\ty\n", {"form": "pecos", "label_names": ["p"]}, r"a:1: label 999"),
        ("a", "1\ta\n", {"form": "libmultilabel"}, r"a:1: expected id<TAB>labels<TAB>text, got 2"),
        ("a", b"\xff\n", {"form": "lines"}, r"a:1: invalid UTF-8 at byte 0 of the line"),
        ("a.jsonl", FINE + "{", {}, r"a\.jsonl:2: invalid JSON: .* at character 1"),
        ("a.jsonl", FINE + "[]", {}, r"a\.jsonl:2: expected a JSON object, got \[\]"),
        ("a.jsonl", FINE + '{"body": "x"}', {}, r":2: no 'text', or 'title' and 'content', am"),
        ("a.jsonl", FINE + '{"text": 3, "labels": []}', {}, r":2: 'text' must be a string, got 3"),
        ("a.jsonl", FINE + '{"text": "x", "labels": [true]}', {},
         r":2: 'labels' must be a non-empty name, .*, got \[true\]: give --labels-col"),
        ("a.jsonl", FINE + '{"text": "x", "labels": [""]}', {}, r":2: 'labels' must be a non-emp"),
        ("a.jsonl", FINE + '{"text": "x", "labels": {"a": 1}}', {}, r":2: 'labels' must be"),
        ("a.jsonl", FINE + '{"text": "x"}', {}, r":2: a text without labels, but others have them"),
        ("a.jsonl", FINE.encode() + b'{"text": "\xff"}', {}, r":2: invalid UTF-8 at byte 10 "),
        ("a.jsonl", FINE + "[" * 100_000, {}, r"a\.jsonl:2: invalid JSON"),
        ("a.jsonl", '{"text": "x"}\n' + FINE, {}, r"a\.jsonl:2: a text without labels"),
        ("a.jsonl", "\n\n", {}, "has no texts"),
        ("a.json", '{"text": "x", "subjects": [{"label": "one"}]}', {}, "'subjects' .* name or id"),
        ("a.json", '{"text": "x", "target_ind": [-1]}', {}, "'target_ind' .* a number >= 0"),
        ("a.json", '{"text": ' + "9" * 5000 + "}", {}, "a.json:1: "),
    ],
)  # fmt: skip
def test_broken_files_are_refused(tmp_path, name, content, options, message):
    with pytest.raises(FormatError, match=message) as error:
        read_texts(write(tmp_path / name, content), **options)
    assert str(error.value).isprintable()


def test_ends_of_blocks_change_nothing(tmp_path, monkeypatch):
    """Neither the form that the first bytes show, nor the marks at the beginning of lines."""
    lines = [f"{'text ' * 800}\t<u{i}>" for i in range(90)]
    found = read_texts(write(tmp_path / "a.tsv", "\n".join(lines)))
    assert found.labels == [[f"u{i}"] for i in range(90)]
    monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", 8)
    path = write(tmp_path / "a.txt", "\ufeffone two\n\ufeffthree\n")
    assert read_texts(path, form="lines").texts == ["one two", "\ufeffthree"]


def test_name_with_unused_separator_warns(tmp_path):
    texts = write(tmp_path / "X.txt", "one\ntwo\nthree\n")
    labels = write(tmp_path / "Y.txt", "http://a/b,c\na,b c\nd;e\n")
    options = {"form": "lines", "labels_path": labels}
    with pytest.warns(
        FormatWarning, match=r"Y\.txt:2: 'a,b' is read as one label: give --"
    ) as all_:
        found = read_texts(texts, **options).labels
    assert found == [["http://a/b,c"], ["a,b", "c"], ["d;e"]]
    assert len(all_) == 1
    assert read_texts(texts, **options, label_separator="space").labels[1] == ["a,b", "c"]
    assert read_texts(texts, **options, label_separator=",").labels[1] == ["a", "b c"]
    path = write(tmp_path / "a.tsv", "1\ta|b\tone\n")
    with pytest.warns(FormatWarning, match=r"a\.tsv:1: 'a\|b' is read as one label"):
        read_texts(path)


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("jsonl", '{"text": "quick sort", "labels": 3}\n{"text": "sparse matrix"}\n'),
        ("csv", 'text,labels\nquick sort,"a,b c"\nsparse matrix,\n'),
        ("tsv", "text\tsubject_uris\nquick sort\t<>\nsparse matrix\t\n"),
        ("annif", "quick sort\t<> b\nsparse matrix\n"),
        ("fasttext", "__label__ quick sort\nsparse matrix\n"),
        ("pecos", "odd\tquick sort\n\tsparse matrix\n"),
        ("libmultilabel", "1\ta,b\tquick sort\n2\t\tsparse matrix\n"),
        ("lines", "quick sort\nsparse matrix\n"),
    ],
)
def test_ignored_labels_are_not_checked(tmp_path, form, content):
    path = write(tmp_path / "file", content)
    with open_corpus(path, form, CorpusOptions(labels="ignored")) as corpus:
        documents = list(corpus.documents)
    assert [document.text for document in documents] == TEXTS
    assert all(document.labels is None for document in documents)


@pytest.mark.parametrize(
    ("content", "forms"),
    [
        ("\ufeff__label__a x\n", ["fasttext"]),
        ('\ufeff{"text": "x"}\n', ["jsonl"]),
        ("1\ta b\tx\n2\tc\ty\n", ["libmultilabel"]),
        ("0,3\tx\n1\ty", ["pecos"]),
        ("x\t<a> <b>\n", ["annif"]),
        ("12\t<a>\n", ["annif", "pecos"]),
        ('id,"text",labels\n1,x,y\n', ["csv"]),
        ("text\tlabels\nx\ty\n", ["tsv"]),
        (b"PAR1\x15\x04", ["parquet"]),
        ("quick sort\n", []),
        ("", []),
    ],
)
def test_likely_forms_of_first_lines(tmp_path, content, forms):
    with open_input(write(tmp_path / "a", content)) as stream:
        assert likely_forms(stream) == forms


def test_documents_are_read_lazily(tmp_path):
    path = write(tmp_path / "a.csv", "text\n" + "x\n" * 10 + '"\n')
    with open_corpus(path) as corpus:
        documents = [next(corpus.documents) for _ in range(10)]
        assert [document[:2] for document in documents[-2:]] == [(10, "x"), (11, "x")]
        with pytest.raises(FormatError, match="a quoted field is not closed"):
            next(corpus.documents)


FIELDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=8)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=6), st.booleans())
def test_csv_agrees_with_python(tmp_path_factory, rows, quoted):
    written = io.StringIO()
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(written, lineterminator="\n", quoting=quoting)
    writer.writerows([("text", "labels"), *rows])
    path = write(tmp_path_factory.mktemp("csv") / "a.csv", written.getvalue())
    found = read_texts(path, label_separator="none")
    assert found.texts == [text for text, _ in rows]
    assert found.labels == [[label] if label else [] for _, label in rows]


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=5)


@pytest.mark.slow
@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.lists(WORDS, min_size=1), st.lists(WORDS, min_size=1)), min_size=1))
def test_all_formats_give_same_documents(tmp_path_factory, documents):
    texts = [" ".join(words) for words, _ in documents]
    labels = [names for _, names in documents]
    pairs = list(zip(texts, labels, strict=True))
    forms = {
        "jsonl": [json.dumps({"text": text, "labels": names}) for text, names in pairs],
        "csv": ["text,labels", *(f"{text},{' '.join(names)}" for text, names in pairs)],
        "tsv": ["text\tlabels", *(f"{text}\t{' '.join(names)}" for text, names in pairs)],
        "annif": [f"{text}\t{' '.join(f'<{name}>' for name in names)}" for text, names in pairs],
        "fasttext": [" ".join([*(f"__label__{n}" for n in names), text]) for text, names in pairs],
        "libmultilabel": [f"1\t{' '.join(names)}\t{text}" for text, names in pairs],
        "lines": texts,
    }
    folder = tmp_path_factory.mktemp("forms")
    labels_path = write(folder / "labels", "".join(" ".join(names) + "\n" for names in labels))
    for form, lines in forms.items():
        path = write(folder / form, "".join(f"{line}\n" for line in lines))
        found = read_texts(path, form=form, label_separator="space", labels_path=labels_path)
        assert found == (texts, labels), form


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
