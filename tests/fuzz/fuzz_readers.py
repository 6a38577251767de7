"""Feed the vectoriser, every reader and model files with bytes; ``tests.fuzz.guided`` runs it long.

The first byte of an input chooses what reads the rest, the second its options. Nothing but a result
or one error of the format may come out.
"""

import io
import tempfile
import warnings
from pathlib import Path

import numpy as np

from defrag import TextVectorizer, Thesaurus
from defrag.exceptions import FormatError
from defrag.io import (
    read_groups,
    read_predictions,
    read_svmlight,
    read_texts,
    read_word_vectors,
    write_npz,
)
from defrag.io.files import InputStream
from defrag.io.npz import parse_npz
from defrag.io.points import parse_points
from defrag.io.thesauri import THESAURUS_FORMS
from defrag.persistence.kinds import kind_of
from tests.fuzz import fuzz_model_file, mutator
from tests.helpers.model_drafts import Draft
from tests.io.test_thesauri import formats
from tests.oracles.text import assert_same
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
THESAURI = formats().values()
_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-")
RUN = Path(_FOLDER.name)


def vectoriser(choice, data):
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


def corpora(choice, data):
    """A file of texts in one of the formats."""
    form, separator = FORMS[choice % 8], SEPARATORS[(choice >> 3) % 5]
    path, encoding = _file(data), (None, "utf-16", "cp1252", None)[choice >> 6]
    texts, labels = read_texts(path, form=form, label_separator=separator, encoding=encoding)
    assert all(isinstance(text, str) for text in texts)
    assert labels is None or len(labels) == len(texts)


def archives(_choice, data):
    """An archive of matrices."""
    X, Y = parse_npz(InputStream(io.BytesIO(data), "a.npz"))
    assert np.isfinite(X.data).all()
    assert Y is None or Y.shape[0] == X.shape[0]


def matrices(choice, data):
    """Text of points and labels, compared with the slow twin."""
    assert_same(data, mutator.LAYOUTS[choice % len(mutator.LAYOUTS)])


def points(_choice, data):
    """Points in a format that the content shows."""
    read = parse_points(InputStream(io.BytesIO(data), "points"))
    assert np.isfinite(read.X.data).all()


def other_files(choice, data):
    """Groups, predictions, vectors of words, svmlight."""
    path = _file(data)
    if choice % 4 == 0:
        assert read_groups(path, allow_missing=choice > 127).min(initial=0) >= -1
    elif choice % 4 == 1:
        read_predictions(path)
    elif choice % 4 == 2:
        assert np.isfinite(read_word_vectors(path, ["cat", "dog", "emu"]).vectors).all()
    else:
        read_svmlight(path, zero_based=choice > 127)


def thesauri(choice, data):
    """A thesaurus in one of the formats, whose columns a model file would hold."""
    found = Thesaurus.read(_file(data), form=THESAURUS_FORMS[choice % len(THESAURUS_FORMS)])
    kind = kind_of(Thesaurus)
    assert kind.read(kind.write(found, "float32")) == found


def model_files(_choice, data):
    """A model file, and the same with right checksums."""
    fuzz_model_file.survives(RUN / "x", data)
    try:
        mended = Draft(data).to_bytes()
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return
    fuzz_model_file.survives(RUN / "x", mended)


READERS = (vectoriser, corpora, archives, matrices, points, other_files, model_files, thesauri)


def one_input(data):
    """Read one input: a byte for the reader, one for its options, and the rest."""
    if len(data) < 2:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal = ""
        try:
            READERS[data[0] % len(READERS)](data[1], data[2:])
        except FormatError as error:
            refusal = str(error)
        assert refusal.isprintable(), data


def seeds():
    """Yield good inputs for every reader."""
    for choice in range(64):
        yield bytes([0, choice]) + "\0".join(WORDS).encode()
    for place, text in enumerate(CORPORA):
        yield from (bytes([1, place + 8 * separator]) + text for separator in range(5))
    write_npz(RUN / "a.npz", np.eye(5), [[0], [1], [2], [0, 3], []])
    yield b"\2\0" + (RUN / "a.npz").read_bytes()
    for place, layout in enumerate(mutator.LAYOUTS):
        yield from (bytes([3, place]) + text for text in mutator.SEEDS[layout])
    yield from (b"\4\0" + text for text in mutator.SEEDS["combined"])
    others = (b"3\n2 0 3 \n2 1 4 \n1 2 \n", b"2 5\n1:0.5 4:-1e-3\n0:0\n", b"cat 1 0.5\ndog 0 2\n",
              b"0,2 1:0.5 4:1e-3\n0:2\n")  # fmt: skip
    yield from (bytes([5, place]) + text for place, text in enumerate(others))
    yield from (b"\6\0" + data for data in fuzz_model_file.small_models(RUN))
    for place, text in enumerate(THESAURI):
        yield bytes([7, place]) + text.encode()


def _file(data):
    path = RUN / "input"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path
