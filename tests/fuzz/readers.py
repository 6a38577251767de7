"""Feed the vectoriser, every reader and model files with bytes; ``tests.fuzz.guided`` runs it long.

The first byte of an input is a choice of options. Nothing but a result or one error of the format
may come out; where there is a slow twin, it says the same.
"""

import io
import re
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from defrag import TextVectorizer, Thesaurus
from defrag.exceptions import FormatError
from defrag.io import groups, read_texts, read_word_vectors, write_npz
from defrag.io.files import InputStream
from defrag.io.npz import parse_npz
from defrag.io.points import parse_points
from defrag.io.thesauri import THESAURUS_FORMS
from defrag.io.xmc import read_svmlight
from defrag.persistence.kinds import kind_of
from tests.data import read_predictions
from tests.fuzz import models
from tests.fuzz.broken import broken
from tests.helpers.model_drafts import Draft
from tests.io.test_thesauri import formats
from tests.oracles.groups import GroupError, parse_groups
from tests.oracles.text import assert_same, native
from tests.oracles.words import terms_of

FORMS = ("jsonl", "csv", "tsv", "annif", "fasttext", "pecos", "libmultilabel", "lines")
SEPARATORS = (None, "space", "none", ",", "; ")
CORPORA = [
    b'{"text": "a b\\n", "labels": ["x", "y"]}\n{"title": "t", "content": "c", "labels": []}\n',
    b'sep=;\ntext;labels\n"a ""b"", c";x,y\r\nd;z\n',
    b'text\tlabels\n"quick\nsort"\ta b\n5" disk\tc\n',
    b"quick sort\t<http://a/1> <http://a/2>\n",
    b"__label__a __label__b quick sort\n",
    b"0,3\tquick sort\n1::0.5\tother\n",
    b"id1\ta b\tquick sort\n",
    b"quick sort\n\nother\n",
    b'[{"text": "a", "label": {"id": 3}},\n {"text": null, "tags": [null, 2, "x"]}]\n',
]
WORDS = [
    "na\u00efve na\u00efve WORDS x", "cafe\u0301 \u4e2d\u6587 \u0e2a\u0e27\u0e31",
    "\u0130a_b \U0001d400",
]  # fmt: skip
MATRICES = {
    "combined": [
        b"3 5 4\n0,2 1:0.5 4:1e-3\n 0:2\n3\n",
        b"2 9 9\r\n1,2,3 0:1 3:.25 8:-7\r\n\r\n",
        b"# c\n1 3 3\n2 0:1#x\n",
        b"\xef\xbb\xbf1 1 1\n0 0:1",
        b"4 100 100\n99 99:123456789.123456789\n7,3 5:1e10 4:1e-10\n\n 3\n",
    ],
    "features": [b"2 5\n1:0.5 4:1e-3\n0:2\n", b"1 7\n6 5 4:4\n", b"3 2\n\n\n0:1\n"],
    "labels": [b"2 5\n1:1 4:1\n0:0.5\n", b"1 3\n2:0 1:-1 0\n"],
    "svmlight": [b"0,2 1:0.5 4:1e-3\n0:2\n", b"1 2:3 # a\n\n \n4 5:6\n"],
    "scores": [b"2 5\n1:0.5 4:-1e-3\n0:0\n", b"1 3\n2:1 1:1 0:1\n"],
}
LAYOUTS = sorted(MATRICES)
GROUPS = [
    b"3\n2 0 3 \n2 1 4 \n1 2 \n",
    b"2\r\n1 0\r\n2 2 1\r\n\r\n",
    b"0\n",
    b"4\n0 \n0\n1\t7\n0\n",
    b"1\n12 0 1 2 3 4 5 6 7 8 9 10 11",
]
_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-")
RUN = Path(_FOLDER.name)


def read_vectoriser(choice, data):
    """Texts between NUL: the same rows from fit and transform, the terms of the slow twin."""
    texts = data.decode("utf-8", "replace").split("\0")
    characters = (None, 1, 3, (2, 5))[choice % 4]
    model = TextVectorizer(
        1 + (choice >> 2) % 2 if characters is None else 1,
        characters=characters, min_df=1 + (choice >> 3) % 2,
        max_features=(None, 3)[(choice >> 4) % 2], n_jobs=1 + (choice >> 5) % 2,
    )  # fmt: skip
    try:
        rows = model.fit_transform(texts)
    except ValueError as error:
        refusal = str(error)
        assert refusal.isprintable()
        return
    again = model.transform(texts)
    assert (rows != again).nnz == 0
    squares = rows.multiply(rows).sum(axis=1)
    assert (np.isclose(squares, 1.0, atol=1e-5) | (squares == 0)).all()
    names = model.get_feature_names_out()
    lengths = (characters, characters) if isinstance(characters, int) else characters
    for text, begin, end in zip(texts, rows.indptr, rows.indptr[1:], strict=False):
        found, begins, ends = model.spans(text)
        assert set(found) == set(rows.indices[begin:end])
        assert ((begins >= 0) & (begins < ends) & (ends <= len(text))).all()
        if text.isascii():
            terms = terms_of(text, ngrams=model.ngrams, characters=lengths)
            assert sorted(names[found]) == sorted(term for term in terms if term in set(names))


def read_corpora(choice, data):
    """A file of texts in one of the formats."""
    form, separator = FORMS[choice % 8], SEPARATORS[(choice >> 3) % 5]
    path, encoding = _file(data), (None, "utf-16", "cp1252", None)[choice >> 6]
    texts, labels = read_texts(path, form=form, label_separator=separator, encoding=encoding)
    assert all(isinstance(text, str) for text in texts)
    assert labels is None or len(labels) == len(texts)
    assert labels is None or all(name for names in labels for name in names)


def read_archives(_choice, data):
    """An archive of matrices."""
    X, Y = parse_npz(_stream(data))
    assert np.isfinite(X.data).all()
    assert Y is None or Y.shape[0] == X.shape[0]


def read_matrices(choice, data):
    """Text of points and labels, compared with the slow twin."""
    layout = LAYOUTS[choice % len(LAYOUTS)]
    assert_same(data, layout, first_feature=len(data) % 2, drop_non_finite=choice > 127)
    native(data, layout)


def read_points(_choice, data):
    """Points in a format that the content shows."""
    assert np.isfinite(parse_points(_stream(data)).X.data).all()


def read_groups(choice, data):
    """A file of groups, compared with the slow twin."""
    if re.search(rb"[0-9]{8}", data):  # about the limits, which the slow twin has not
        assert groups.read_groups(_file(data), allow_missing=choice > 127).min(initial=0) >= -1
        return
    wanted, line = None, None
    try:
        wanted = parse_groups(data)
    except GroupError as error:
        (line,) = error.args
    try:
        labels, n_groups = groups.parse_groups(_stream(data), allow_missing=True)
    except FormatError as error:
        if (error.line or 0) != line:
            raise AssertionError(data) from error
        raise
    assert (labels.tolist(), n_groups) == wanted, data


def read_scores(_choice, data):
    """A file of predictions."""
    assert np.isfinite(read_predictions(_file(data)).data).all()


def read_vectors(_choice, data):
    """Vectors of words."""
    found = read_word_vectors(_file(data), ["cat", "dog", "emu"])
    assert np.isfinite(found.vectors).all()
    assert not found.vectors[~found.found].any()


def read_svm(choice, data):
    """Points in svmlight."""
    assert np.isfinite(read_svmlight(_file(data), zero_based=choice > 127)[0].data).all()


def read_thesauri(choice, data):
    """A thesaurus in one of the formats, whose columns a model file would hold."""
    found = Thesaurus.read(_file(data), form=THESAURUS_FORMS[choice % len(THESAURUS_FORMS)])
    kind = kind_of(Thesaurus)
    assert kind.read(kind.write(found, "float32")) == found


def read_models(_choice, data):
    """A model file, and the same with right checksums."""
    models.is_model(RUN / "x", data)
    try:
        mended = Draft(data).to_bytes()
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return
    models.is_model(RUN / "x", mended)


def _archive():
    write_npz(RUN / "a.npz", np.eye(5), [[0], [1], [2], [0, 3], []])
    return (RUN / "a.npz").read_bytes()


def _with_option(choice, texts):
    return [bytes([choice]) + text for text in texts]


def _numbered(texts):
    return [bytes([place]) + text for place, text in enumerate(texts)]


READERS = {
    "vectoriser": (
        read_vectoriser,
        [bytes([choice]) + "\0".join(WORDS).encode() for choice in range(64)],
    ),
    "corpora": (
        read_corpora,
        [bytes([place + 8 * separator]) + text
         for place, text in enumerate(CORPORA) for separator in range(5)],
    ),
    "archives": (read_archives, [b"\0" + _archive()]),
    "matrices": (
        read_matrices,
        [bytes([place]) + text
         for place, layout in enumerate(LAYOUTS) for text in MATRICES[layout]],
    ),
    "points": (read_points, _with_option(0, MATRICES["combined"])),
    "groups": (read_groups, _numbered(GROUPS)),
    "predictions": (read_scores, _with_option(0, MATRICES["scores"])),
    "word vectors": (
        read_vectors, [b"\0cat 1 0.5\ndog 0 2\n", b"\x002 3\ncat 1 2 3\r\n. . 4 5 6\n"],
    ),
    "svmlight": (read_svm, _with_option(128, MATRICES["svmlight"])),
    "thesauri": (read_thesauri, _numbered(text.encode() for text in formats().values())),
    "model files": (read_models, _with_option(0, map(models.good, models.VARIANTS))),
}  # fmt: skip
"""Every reader, and good inputs behind the byte of their options."""


def is_refused(reader, data):
    """Read one input; tell whether it was refused, in one line and without delay."""
    refusal, start = "", time.process_time()  # the machine may be busy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            READERS[reader][0](data[0], data[1:])
        except FormatError as error:
            refusal = str(error)
    assert time.process_time() - start < 2.0, data
    assert refusal.isprintable(), data
    assert not refusal or refusal.startswith(("input", "text", str(RUN))), data  # the file
    return bool(refusal)


def fuzz(reader, n_inputs, seed=0):
    """Read n broken inputs; return how many of them were refused."""
    return sum(is_refused(reader, data) for data in broken(READERS[reader][1], n_inputs, seed))


def one_input(data):
    """Read one input, of which the first byte names the reader."""
    if len(data) >= 2:
        is_refused(list(READERS)[data[0] % len(READERS)], data[1:])


def seeds():
    """Yield good inputs for ``one_input``."""
    for place, (_, inputs) in enumerate(READERS.values()):
        yield from (bytes([place]) + data for data in inputs)


def _file(data):
    path = RUN / "input"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path


def _stream(data):
    return InputStream(io.BytesIO(data), "input")
