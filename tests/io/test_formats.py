"""svmlight, numpy archives, group files, predictions, word vectors."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from defrag.exceptions import FormatError, FormatWarning
from defrag.io import read_groups, read_word_vectors, write_groups, write_npz, write_predictions
from defrag.io.xmc import read_svmlight, write_svmlight
from tests.data import read_data, read_npz, read_predictions

X = sparse.csr_array(np.array([[0, 0.1, 3], [0, 0, 0], [1e-30, 0, -2]], dtype=np.float32))
Y = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 0, 1]], dtype=np.float32))


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one.toarray(), other.toarray())


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_round_trip(tmp_path, zero_based):
    write_svmlight(tmp_path / "a", X, Y, zero_based=zero_based)
    found = read_svmlight(tmp_path / "a", zero_based=zero_based, n_features=3, n_labels=3)
    assert_equal(found, (X, Y))


def test_svmlight_agrees_with_scikit_learn(tmp_path):
    rng = np.random.default_rng(0)
    points = sparse.random_array((50, 20), density=0.3, rng=rng, dtype=np.float32, format="csr")
    points.data += 1
    has_label = rng.random((50, 7)) < 0.4
    has_label[:, 0] = True  # scikit-learn refuses lines without labels
    labels = sparse.csr_array(has_label, dtype=np.int64)
    path, options = str(tmp_path / "a"), {"multilabel": True, "comment": "from here"}
    dump_svmlight_file(points, labels, path, zero_based=False, **options)
    found = read_svmlight(tmp_path / "a", zero_based=False, n_features=20, n_labels=7)
    assert_equal(found, (points, labels))
    write_svmlight(tmp_path / "b", points, labels, zero_based=True)
    theirs, lists = load_svmlight_file(
        str(tmp_path / "b"), multilabel=True, zero_based=True, n_features=20, dtype=np.float32
    )
    assert_equal([sparse.csr_array(theirs)], [points])
    assert [list(map(int, row)) for row in lists] == [row.indices.tolist() for row in labels]


def test_svmlight_warns_about_skipped_lines(tmp_path):
    (tmp_path / "a").write_bytes(b"# head\n1 0:1\n\n \n\r\n2 1:1\n")
    with pytest.warns(FormatWarning, match="a:3: 2 empty lines were skipped, here first"):
        points, labels = read_svmlight(tmp_path / "a", zero_based=True)
    assert points.shape == (3, 2)
    assert labels.shape == (3, 3)
    with pytest.raises(FormatError, match="a:3: 2 empty lines"):
        read_svmlight(tmp_path / "a", zero_based=True, strict=True)


def test_npz_round_trip(tmp_path):
    write_npz(tmp_path / "a.npz", X, Y)
    first = (tmp_path / "a.npz").read_bytes()
    for reader in (read_npz, read_data):
        found = reader(tmp_path / "a.npz")
        assert_equal(found, (X, Y))
        assert found[0].data.flags.writeable
    write_npz(tmp_path / "a.npz", X, Y)
    assert (tmp_path / "a.npz").read_bytes() == first
    write_npz(tmp_path / "b.npz", X)
    assert read_npz(tmp_path / "b.npz")[1] is None
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["X_data"].dtype == np.float32


@pytest.mark.parametrize("compressed", [True, False])
def test_npz_of_scipy_is_read(tmp_path, compressed):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_matrix(X.astype(np.float64)), compressed)
    assert_equal(read_npz(tmp_path / "a.npz")[:1], [X])
    sparse.save_npz(tmp_path / "a.npz", sparse.csc_matrix(X))
    with pytest.raises(FormatError, match="contains a sparse matrix that is not csr"):
        read_npz(tmp_path / "a.npz")


def test_read_data_widens_archives(tmp_path):
    write_npz(tmp_path / "a.npz", X, Y)
    wide = read_data(tmp_path / "a.npz", n_features=9, n_labels=8)
    assert [one.shape for one in wide] == [(3, 9), (3, 8)]
    with pytest.raises(FormatError, match="feature index 2, but n_features is 2"):
        read_data(tmp_path / "a.npz", n_features=2)


def archive(path, **arrays):
    good = {"X_indptr": [0, 1], "X_indices": [0], "X_data": [1.0], "X_shape": [1, 2]}
    np.savez(path, **{**good, **arrays})
    return path


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X_indptr": np.array([0, 2])}, "X cannot be read: Last value of index pointer"),
        ({"X_indptr": np.array([0.0, 1.0])}, "do not form a matrix"),
        ({"X_indptr": np.array([0, 1, 1])}, "X has 1 rows, but 3 row pointers"),
        ({"X_indices": np.array([2])}, "X cannot be read: .*index"),
        ({"X_indices": np.array([-1])}, "X cannot be read: .*index"),
        ({"X_shape": np.array([1, -2])}, "do not form a matrix"),
        ({"X_shape": np.array([2**62, 2])}, "row pointers"),
        ({"X_shape": np.array([1, 2**40])}, "fewer than 2..31 columns"),
        ({"X_shape": np.array([1, 2**64 - 1], dtype=np.uint64)}, "do not form a matrix"),
        ({"X_shape": np.array([2**64 - 1, 2], dtype=np.uint64)}, "do not form a matrix"),
        ({"X_data": np.array([np.nan])}, "X has values that are not finite"),
        ({"X_data": np.array([1e300])}, "X has values that are not finite"),
        ({"X_data": np.array([[1.0]])}, "has float64 of shape"),
        ({"X_data": np.array(["x"])}, "do not form a matrix"),
        ({"X_data": np.array([1j])}, "has complex128"),
        ({"other": np.array([1])}, "expected the arrays of X and Y, got "),
    ],
)
def test_bad_archives_are_refused(tmp_path, arrays, message):
    with pytest.raises(FormatError, match=message):
        read_npz(archive(tmp_path / "a.npz", **arrays))


def test_groups_are_read_as_written(tmp_path):
    labels = np.array([2, 0, 1, 0, 2, 2], dtype=np.int32)
    write_groups(tmp_path / "g", labels)
    assert (tmp_path / "g").read_text() == "3\n2 1 3 \n1 2 \n3 0 4 5 \n"
    np.testing.assert_array_equal(read_groups(tmp_path / "g"), labels)
    np.testing.assert_array_equal(read_groups(tmp_path / "g", 6), labels)
    holes = np.array([1, -1, 3, -1])
    write_groups(tmp_path / "h", holes)
    found = read_groups(tmp_path / "h", 4, allow_missing=True)
    np.testing.assert_array_equal(found, holes)
    assert found.dtype == np.int32
    write_groups(tmp_path / "e", [])
    assert len(read_groups(tmp_path / "e")) == 0
    write_groups(tmp_path / "n", [0, 0], n_clusters=3)
    assert (tmp_path / "n").read_text() == "3\n2 0 1 \n0 \n0 \n"


def test_groups_of_other_width_are_refused(tmp_path):
    write_groups(tmp_path / "g", [0, 1, 0])
    with pytest.raises(FormatError, match="g:2: feature index 2, but there are 2 features"):
        read_groups(tmp_path / "g", 2)
    with pytest.raises(FormatError, match="5 features, but feature 3 is in no group"):
        read_groups(tmp_path / "g", 5)
    with pytest.raises(ValueError, match="groups must be >= 0, or -1 to drop, got -2"):
        write_groups(tmp_path / "g", [0, -2])
    with pytest.raises(ValueError, match=r"groups must be below n_clusters \(2\), got 4"):
        write_groups(tmp_path / "g", [0, 4], n_clusters=2)
    with pytest.raises(ValueError, match="1-D array of ints, got 1-D of float64"):
        write_groups(tmp_path / "g", [0.5])


def test_predictions_round_trip(tmp_path):
    values = np.float32([0.0, 0.1, 0.9, -2, 0.1])
    scores = sparse.csr_array((values, [3, 1, 0, 2, 0], [0, 3, 3, 5]), shape=(3, 4))
    write_predictions(tmp_path / "p", scores)
    assert (tmp_path / "p").read_text() == "3 4\n0:0.9 1:0.1 3:0\n\n0:0.1 2:-2\n"
    found = read_predictions(tmp_path / "p", strict=True)
    assert found.nnz == 5
    np.testing.assert_array_equal(found.toarray(), scores.toarray())
    assert read_predictions(tmp_path / "p", n_labels=9).shape == (3, 9)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([1.0, 2.0], [0, 0], [0, 2]), "not repeat a label in a row"),
        (([np.inf], [0], [0, 1]), "scores must be finite, got inf"),
    ],
)
def test_unwritable_scores_are_refused(tmp_path, parts, message):
    data, indices, indptr = map(np.array, parts)
    with pytest.raises(ValueError, match=message):
        write_predictions(tmp_path / "p", sparse.csr_array((data, indices, indptr), shape=(1, 2)))


VECTORS = "cat 1 0.5\n. . 3 4\ndog 0 -2e0\nkäse 7 8 \ncat 9 9\n"


@pytest.mark.parametrize("text", [VECTORS, "5 2\n" + VECTORS, VECTORS.replace("\n", "\r\n")])
def test_word_vectors_are_read(tmp_path, text):
    path = tmp_path / "v"
    path.write_text(text, encoding="utf-8", newline="")
    vectors, found = read_word_vectors(path, ["dog", "emu", "käse", ". .", "dog"])
    np.testing.assert_array_equal(vectors, [[0, -2], [0, 0], [7, 8], [3, 4], [0, -2]])
    np.testing.assert_array_equal(found, [True, False, True, True, True])
    assert vectors.dtype == np.float32
    line = len(text.splitlines())
    with pytest.warns(FormatWarning, match=f"v:{line}: a word is repeated"):
        vectors, _ = read_word_vectors(path, ["cat"])
    np.testing.assert_array_equal(vectors, [[1, 0.5]])
    with pytest.raises(FormatError, match="a word is repeated"):
        read_word_vectors(path, ["cat"], strict=True)
