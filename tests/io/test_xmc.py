"""The XMC text format: what is read, and how.

Every quirk of real files has a test here; what is refused stands in test_io_bad_text.py.
"""

import ctypes
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from defrag import _native
from defrag.exceptions import FormatError, FormatWarning
from defrag.io import read_xmc, write_xmc
from defrag.io.xmc import read_features, read_labels
from tests.data import read_data
from tests.oracles.text import nearest_float

EXAMPLE = b"3 5 4\n0,2 1:0.5 4:1e-3\n 0:2\n3\n"
X_EXAMPLE = np.array([[0, 0.5, 0, 0, 1e-3], [2, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=np.float32)
Y_EXAMPLE = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]])


@pytest.fixture
def file(tmp_path):
    def write(text, name="train.txt"):
        path = tmp_path / name
        path.write_bytes(text)
        return path

    return write


def check_example(found):
    X, Y = found
    assert X.dtype == Y.dtype == np.float32
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), X_EXAMPLE)
    np.testing.assert_array_equal(Y.toarray(), Y_EXAMPLE)


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE,
        EXAMPLE.removesuffix(b"\n"),
        EXAMPLE.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + EXAMPLE,
        EXAMPLE.replace(b" 1:", b"\t \t1:"),
        EXAMPLE.replace(b"\n", b"  \n"),
        b"# made by hand\n" + EXAMPLE + b"# the end\n",
        EXAMPLE.replace(b"\n3", b"\n# between\n3"),
        EXAMPLE.replace(b"\n", b" # tail 9:9\n"),
        EXAMPLE.replace(b"\n", b"# tail\n"),
        EXAMPLE + b"\n\n",
        EXAMPLE.replace(b"0,2 1:0.5 4:1e-3", b"2,0 4:+0.001 1:.5"),
        EXAMPLE.replace(b"0,2 1:0.5 4:1e-3", b"0,2 0:0 1:5E-01 3:-0 4:00.00100"),
        EXAMPLE.replace(b" 0:2", b"0:2"),
        EXAMPLE.replace(b" 0:2", b" 0:2. 1:1e-400"),
        EXAMPLE.replace(b" 0:2", b"\t0:2"),
        EXAMPLE.replace(b"\n3\n", b"\n3 \n"),
    ],
    ids=range(17),
)
def test_harmless_variations_read_alike(file, text):
    check_example(read_xmc(file(text)))


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_compression_is_recognised_by_content(file, compress):
    check_example(read_xmc(file(compress(EXAMPLE), "no_extension")))
    check_example(read_xmc(file(compress(EXAMPLE[:7]) + compress(EXAMPLE[7:]))))


def test_split_form_equals_combined(file):
    X = file(b"3 5\n1:0.5 4:1e-3\n0:2\n\n", "X.txt")
    Y = file(b"3 4\n0:1 2:0.5\n\n3 1:0 0:-1\n", "Y.txt")
    check_example(read_xmc(X, labels_path=Y))
    check_example(read_data(X, labels=Y))
    np.testing.assert_array_equal(read_features(X).toarray(), X_EXAMPLE)
    np.testing.assert_array_equal(read_labels(Y).toarray(), Y_EXAMPLE)
    X, Y = read_data(X)
    assert Y is None


def test_empty_line_is_point(file):
    X, Y = read_xmc(file(b"3 2 2\n\n1 0:1\n\n"))
    np.testing.assert_array_equal(X.toarray(), [[0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(Y.toarray(), [[0, 0], [0, 1], [0, 0]])


def test_header_or_arguments_set_the_number_of_columns(file):
    path = file(b"1 2 2\n3 5:1\n")
    wide, none = file(b"1 1000000 2000000\n1 1:1\n", "wide"), file(b"0 5 4\n", "none")
    for found, n_rows, widths in (
        (read_xmc(wide), 1, (1_000_000, 2_000_000)),
        (read_xmc(none), 0, (5, 4)),
        (read_xmc(path, n_features=6, n_labels=4), 1, (6, 4)),
    ):
        assert [matrix.shape for matrix in found] == [(n_rows, width) for width in widths]
    with pytest.raises(FormatError, match=r"txt:2: feature index 5, but n_features is 5 \(do the"):
        read_xmc(path, n_features=5, n_labels=4)
    with pytest.raises(ValueError, match=r"n_labels must be in \[0, 2\*\*31\), got -1"):
        read_xmc(path, n_labels=-1)


def test_ids_count_from_one_on_request_only(file):
    path = file(b"1 2 2\n2 1:5 2:6\n")
    X, Y = read_xmc(path, zero_based=False)
    np.testing.assert_array_equal(X.toarray(), [[5, 6]])
    np.testing.assert_array_equal(Y.toarray(), [[0, 1]])
    with pytest.raises(FormatError, match=r"label index 2, but the header declares 2 \(do the ids"):
        read_xmc(path)
    with pytest.raises(FormatError, match="feature index 0, but the ids of this file are said to"):
        read_xmc(file(b"1 2 2\n2 0:5\n"), zero_based=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2 2\n0 0:1\n0 0:1\n", "txt: the header declares 1 points, the file has 2"),
        (b"1 2 2\n0 1:1 0:2 1:2 1:4\n", "txt:2: 2 features are repeated in a line"),
        (b"2 2 2\n\n1,0,1\n", "txt:3: 1 labels are repeated in a line"),
    ],
)
def test_corrections_are_warnings(file, text, message):
    with pytest.warns(FormatWarning, match=message) as caught:
        X, Y = read_xmc(file(text))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.raises(FormatError, match=message):
        read_xmc(file(text), strict=True)
    if b"1:4" in text:
        np.testing.assert_array_equal(X.toarray(), [[2, 7]])
        np.testing.assert_array_equal(Y.toarray(), [[1, 0]])


def test_repeated_features_that_cancel_are_not_stored(file):
    with pytest.warns(FormatWarning, match="1 features are repeated"):
        X, _ = read_xmc(file(b"1 2 2\n0 1:1.5 1:-1.5\n"))
    assert X.nnz == 0


def test_non_finite_values_are_dropped_on_request(file):
    path = file(b"2 4 1\n 0:nan 1:-INF 2:1e39 3:3\n 0:1\n")
    with pytest.raises(FormatError, match="txt:2: the value of feature 0 must be a finite float"):
        read_xmc(path)
    with pytest.warns(FormatWarning, match="txt:2: 3 values are not finite"):
        X, _ = read_xmc(path, drop_non_finite=True)
    np.testing.assert_array_equal(X.toarray(), [[0, 0, 0, 3], [1, 0, 0, 0]])


def test_split_files_need_equal_number_of_points(file):
    X, Y = file(b"1 2\n0:1\n", "X.txt"), file(b"2 2\n0:1\n1:1\n", "Y.txt")
    with pytest.raises(FormatError, match=r"Y.txt: 2 points, but the feature file has 1"):
        read_xmc(X, labels_path=Y)
    with pytest.raises(FormatError, match=r"train.txt: has labels already, besides those of"):
        read_data(file(EXAMPLE), labels=Y)


def test_read_data_detects_format(file):
    check_example(read_data(file(EXAMPLE)))
    check_example(read_data(file(b"# 1 2\n" + EXAMPLE)))
    check_example(read_data(file(gzip.compress(EXAMPLE, mtime=0))))
    with pytest.raises(FormatError, match="header must be 'points features labels', got 4 numbers"):
        read_data(file(b"1 2 3 4\n"))


NUMBERS = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: b"%.9g" % x),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: repr(x).encode()),
    st.tuples(st.integers(0, 10**25), st.integers(-60, 45)).map(lambda p: b"%de%d" % p),
    # The middle of two floats, and just beside it.
    st.tuples(st.integers(2**23, 2**24), st.sampled_from([b"", b"01", b"0" * 30 + b"1"])).map(
        lambda p: b"%d.5%s" % p
    ),
    st.from_regex(rb"[0-9]{0,3}\.[0-9]{1,40}(e-?[0-9]{1,2})?", fullmatch=True),
)


@pytest.mark.slow
@settings(max_examples=500, derandomize=True, deadline=None)
@given(NUMBERS)
def test_values_are_nearest_floats(number):
    check_value(number, nearest_float(number))


def check_value(number, expected):
    """Check the bits of a number as text, or that it is refused where none are expected."""
    if expected is None:
        with pytest.raises(_native.ParseError, match="expected a finite number"):
            _native.parse_values(number)
    else:
        assert _native.parse_values(number).tobytes() == expected.tobytes()


def test_random_numbers_have_the_bits_of_strtof():
    strtof = ctypes.CDLL(None).strtof
    strtof.restype, strtof.argtypes = ctypes.c_float, (ctypes.c_char_p, ctypes.c_void_p)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    values = values[np.isfinite(values)].tolist()
    digits = rng.integers(1, 20, len(values)).tolist()
    texts = [b"%.*g" % pair for pair in zip(digits, values, strict=True)]
    wholes = rng.integers(0, 2**63, 100_000) >> rng.integers(0, 63, 100_000)
    parts = zip(wholes, rng.integers(0, 1000, 100_000), rng.integers(-45, 20, 100_000), strict=True)
    texts += [b"%d.%de%d" % three for three in parts]
    wanted = np.array([strtof(text, None) for text in texts], dtype=np.float32)
    finite = np.isfinite(wanted)
    found = _native.parse_values(b" ".join(np.array(texts, dtype=object)[finite]))
    assert found.tobytes() == wanted[finite].tobytes()


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (b"3.4028235677973367e38", None),  # the first to round up to infinity
        (b"3.4028235677973366e38", 3.4028234663852886e38),
        (b"1e-400", 0.0),
        (b"0e999999999999999999999", 0.0),
        (b"1e-999999999999999999999", 0.0),
        (b"1e999999999999999999999", None),
        (b"7.006492321624085e-46", 0.0),  # half the smallest float, to even
        (b"7.006492321624086e-46", 1e-45),
        (b"0." + b"0" * 400 + b"1e401", 1.0),
        (b"1" + b"0" * 400 + b"e-400", 1.0),
        (b"16777217", 16777216.0),
        (b"16777217.0000000000000000000001", 16777218.0),
    ],
)
def test_extreme_values_are_kept(number, value):
    assert nearest_float(number) == (value and np.float32(value))
    check_value(number, value if value is None else np.float32(value))


@st.composite
def data(draw):
    n, d, n_labels = draw(st.integers(0, 5)), draw(st.integers(0, 6)), draw(st.integers(0, 4))
    finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
    X = draw(arrays.arrays(np.float32, (n, d), elements=finite, fill=st.just(0.0)))
    Y = draw(arrays.arrays(np.float32, (n, n_labels), elements=st.sampled_from([0.0, 1.0])))
    return sparse.csr_array(X), sparse.csr_array(Y)


def assert_equal(found, expected):
    """Check that pairs of matrices have the same bits."""
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert (one != other).nnz == 0
        assert one.data.tobytes() == other.data.tobytes()


@pytest.mark.slow
@settings(max_examples=50, derandomize=True, deadline=None)
@given(data())
def test_write_then_read_restores_bits(tmp_path_factory, data):
    X, Y = data
    folder = tmp_path_factory.mktemp("round", numbered=True)
    for name in ("a.txt", "a.gz"):
        write_xmc(folder / name, X, Y)
        assert_equal(read_xmc(folder / name, strict=True), data)
    write_xmc(folder / "X", X, Y, labels_path=folder / "Y")
    assert_equal(read_xmc(folder / "X", labels_path=folder / "Y", strict=True), data)
    write_xmc(folder / "F", X)
    assert_equal([read_features(folder / "F", strict=True)], [X])


@pytest.mark.slow
def test_file_of_many_blocks_is_read(file, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((500, 300), density=0.1, rng=rng, dtype=np.float32, format="csr")
    Y = sparse.csr_array(rng.random((500, 40)) < 0.1, dtype=np.float32)
    path = file(b"", "blocks.txt")
    write_xmc(path, X, Y)
    for block in (1, 2, 7, 1000, 4096):
        monkeypatch.setattr("defrag.io.files.BLOCK_BYTES", block)
        assert_equal(read_xmc(path), (X, Y))


def test_numbers_are_written_in_their_shortest_form(tmp_path):
    write_xmc(tmp_path / "a.txt", np.float32([[0.1, 1e-30], [0, 0]]), [[2], []])
    assert (tmp_path / "a.txt").read_bytes() == b"2 2 3\n2 0:0.1 1:1e-30\n \n"


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[np.nan]], [[0]], "X contains NaN"),
        ([[1.0]], [[0], [0]], "X has 1 points, Y has 2"),
        ([[1.0]], np.array([[0, 2]]), "Y must contain only 0 and 1, got 2"),
    ],
)
def test_unwritable_matrices_are_refused(tmp_path, X, Y, message):
    with pytest.raises(ValueError, match=message):
        write_xmc(tmp_path / "a.txt", X, Y)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "shape", "n_unlabelled"),
    [("train", (15539, 5000, 3993), 28), ("test", (3809, 5000, 3993), 6)],
)
def test_eurlex_is_read_as_published(data_folder, part, shape, n_unlabelled):
    X, Y = read_xmc(data_folder / "eurlex-4k" / f"{part}.txt.xz", strict=True)
    assert (*X.shape, Y.shape[1]) == shape
    assert int((np.diff(Y.indptr) == 0).sum()) == n_unlabelled
    if part == "train":
        assert np.flatnonzero(np.diff(Y.indptr) == 0)[:3].tolist() == [93, 252, 509]
        assert Y.nnz / Y.shape[0] == pytest.approx(5.31, abs=0.005)
        assert X[0, 27] == np.float32(2.667136)
    name = {"train": "trn", "test": "tst"}[part]
    labels = read_labels(data_folder / "fixtures" / f"eurlex_{name}_X_Y.txt", strict=True)
    labelled = np.diff(Y.indptr) > 0
    assert (labels[labelled] != Y[labelled]).nnz == 0


@pytest.mark.parametrize(("part", "n"), [("train", 4880), ("test", 2515)])
def test_bibtex_is_read_as_published(data_folder, part, n):
    folder = data_folder / "fixtures"
    features, labels = (folder / f"bibtex_{part}{one}.txt" for one in "XY")
    X, Y = read_xmc(features, labels_path=labels, strict=True)
    assert (X.shape, Y.shape) == ((n, 1836), (n, 159))
    if part == "train":
        assert Y.nnz / n == pytest.approx(2.40, abs=0.03)
