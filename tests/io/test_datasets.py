import dataclasses
import hashlib
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from defrag.exceptions import FormatError
from defrag.io import datasets
from defrag.io.datasets import load_dataset, read_bundle, tf_idf

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def debian():
    return load_dataset("debian")


def digest(*arrays):
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return whole.hexdigest()[:16]


def test_debian_has_its_published_shape(debian):
    assert debian.name == "debian"
    assert (len(debian.feature_names), len(debian.label_names)) == (41315, 59614)
    for split, n_points, n_words, n_labels in (
        (debian.train, 57024, 2396866, 340476),
        (debian.test, 18474, 774021, 102453),
    ):
        assert (split.X.shape, split.Y.shape) == ((n_points, 41315), (n_points, 59614))
        assert (split.X.nnz, split.Y.nnz) == (n_words, n_labels)
        for matrix in (split.X, split.Y):
            assert matrix.dtype == np.float32
            assert matrix.has_canonical_format
            assert sparse.csr_array(
                (matrix.data, matrix.indices, matrix.indptr), matrix.shape
            ).has_canonical_format
        assert np.all(split.Y.data == 1)
        assert np.diff(split.Y.indptr).min() >= 1


def test_debian_rows_are_unit_vectors(debian):
    for split in (debian.train, debian.test):
        np.testing.assert_allclose(split.X.power(2).sum(axis=1), 1.0, rtol=1e-5)
        assert split.X.data.min() > 0


def test_debian_every_label_and_word_is_in_training(debian):
    assert np.bincount(debian.train.Y.indices, minlength=59614).min() >= 1
    assert np.bincount(debian.train.X.indices, minlength=41315).min() >= 2


def test_debian_arrays_are_unchanged(debian):
    structure = {
        part: digest(split.X.indptr, split.X.indices, split.Y.indptr, split.Y.indices)
        for part, split in (("train", debian.train), ("test", debian.test))
    }
    assert structure == {"train": "edd424c824e4204d", "test": "4a27df579801b4b8"}


def test_debian_names_are_readable(debian):
    # The first package is the game alex4, the second test package libalicevision3.
    words = set(debian.feature_names[debian.train.X[[0]].indices])
    assert {"alex", "retro", "platform", "game", "jungle"} <= words
    assert debian.label_names[debian.train.Y[[0]].indices].tolist() == [
        "alex4-data", "game-data-packager", "libaldmb1t64", "liballegro4.4t64", "libc6",
        "libdumb1t64",
    ]  # fmt: skip
    words = set(debian.feature_names[debian.test.X[[1]].indices])
    assert {"photogrammetric", "vision", "library"} <= words
    assert "libopencv-core410" in debian.label_names[debian.test.Y[[1]].indices]
    frequency = np.bincount(debian.train.Y.indices)
    assert debian.label_names[frequency.argmax()] == "libc6"


def test_debian_is_small():
    assert Path(pytest.importorskip("defrag_data").DEBIAN).stat().st_size <= 8_000_000


@pytest.mark.slow
@pytest.mark.parametrize("part", ["train", "test"])
def test_debian_equals_published_text_file(debian, data_folder, part):
    path = data_folder / "debian-deps" / f"{part}.txt.xz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")[1:-1]
    split = getattr(debian, part)
    assert len(lines) == split.X.shape[0]
    labels, *_ = zip(*(line.split(" ", 1) for line in lines), strict=True)
    found = np.array(",".join(labels).split(","), dtype=np.int64)
    np.testing.assert_array_equal(split.Y.indices, found)
    pairs = [pair.split(":") for line in lines for pair in line.split(" ")[1:]]
    columns, values = np.array(pairs, dtype=np.float64).T
    np.testing.assert_array_equal(split.X.indices, columns)
    np.testing.assert_allclose(split.X.data, values, rtol=1e-5)


def test_tf_idf_agrees_with_scikit_learn():
    texts = ["red red blue", "blue green", "red green green green", "blue"]
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    expected = vectorizer.fit_transform(texts).toarray()
    words = vectorizer.get_feature_names_out()
    counts = sparse.csr_array([[text.split().count(word) for word in words] for text in texts])
    frequency = np.bincount(counts.indices)
    np.testing.assert_allclose(tf_idf(counts, frequency, 4).toarray(), expected, rtol=1e-6)


ROWS = np.array([[0, 0.5, 0, 2], [0, 0, 0, 0], [1e-3, 0, 4, 0]], dtype=np.float32)
LABELS = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=np.float32)
# Lines of the old files: trailing blanks, CR LF, rows without labels, or with nothing.
COMBINED = "3 4 3\r\n0,2 1:0.5 3:2 \r\n \r\n1 0:1e-3 2:4\r\n"
TEST = "1 4 3 \n 3:1  \n"


def write_files(folder, form, one):
    """Write a small data set in one of the forms of the repository."""
    if form == "split":
        (folder / "trn_X_Xf.txt").write_text("3 4\n1:0.5 3:2\n\n0:1e-3 2:4\n")
        (folder / "trn_X_Y.txt").write_text("3 3\n0:1 2:1\n\n1:1\n")
        (folder / "tst_X_Xf.txt").write_text("1 4\n3:1\n")
        (folder / "tst_X_Y.txt").write_text("1 3\n\n")
        return
    prefix = one.prefix if form == "archive" else ""
    (folder / f"{prefix}train.txt").write_bytes(COMBINED.encode())
    (folder / f"{prefix}test.txt.xz").write_bytes(lzma.compress(TEST.encode()))


@pytest.mark.parametrize("form", ["archive", "plain", "split"])
@pytest.mark.parametrize("name", datasets.REPOSITORY)
def test_files_of_repository_are_read_in_every_form(tmp_path, monkeypatch, name, form):
    one = datasets.REPOSITORY[name]
    folder = tmp_path / {"archive": one.folder, "plain": name, "split": f"{one.title}.bow"}[form]
    folder.mkdir()
    write_files(folder, form, one)
    monkeypatch.setenv("DEFRAG_DATA", str(tmp_path))
    data = load_dataset(name)
    np.testing.assert_array_equal(data.train.X.toarray(), ROWS)
    np.testing.assert_array_equal(data.train.Y.toarray(), LABELS)
    np.testing.assert_array_equal(data.test.X.toarray(), [[0, 0, 0, 1]])
    np.testing.assert_array_equal(data.test.Y.toarray(), [[0, 0, 0]])
    assert data.propensity == {"A": one.A, "B": one.B}
    assert data.label_names is data.feature_names is None


def test_constants_of_propensities_are_those_of_the_repository():
    pairs = {name: (one.A, one.B) for name, one in datasets.REPOSITORY.items()}
    wiki, amazon = ("wikilshtc-325k", "wikipedia-500k"), ("amazon-670k", "amazon-3m")
    assert {pairs.pop(name) for name in wiki} == {(0.5, 0.4)}
    assert {pairs.pop(name) for name in amazon} == {(0.6, 2.6)}
    assert set(pairs.values()) == {(0.55, 1.5)}


def test_test_points_with_other_columns_are_refused(tmp_path, monkeypatch):
    folder = tmp_path / "wiki10-31k"
    folder.mkdir()
    (folder / "train.txt").write_text("1 2 2\n0 0:1\n")
    (folder / "test.txt").write_text("1 9 2\n0 8:1\n")
    monkeypatch.setenv("DEFRAG_DATA", str(tmp_path))
    with pytest.raises(FormatError, match=r"test\.txt:2: .*8"):
        load_dataset("wiki10-31k")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"name must be one of 'debian', .* got 'wiki'"):
        load_dataset("wiki")


def test_missing_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("DEFRAG_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set DEFRAG_DATA to the folder"):
        load_dataset("eurlex-4k")
    monkeypatch.setenv("DEFRAG_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"train\.txt .* or \.gz; DEFRAG_DATA is"):
        load_dataset("eurlex-4k")


def test_missing_package_of_the_data_set_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "defrag_data", None)
    with pytest.raises(ImportError, match=r"needs its package: pip install 'defrag\[data\]'"):
        load_dataset("debian")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a bundled data set"),
        (b"no xz", "not a bundled data set"),
        (lzma.compress(b"{}\n"), "not a bundled data set"),
        (lzma.compress(b'{"format": 2, "sections": []}\n'), "format must be 1, got 2"),
        (lzma.compress(b'{"format": 1, "sections": [["a", 5]]}\nabc'), "sections of 5 bytes, but"),
        (lzma.compress(b'{"format": 1, "sections": [["a", -5], ["b", 8]]}\nabc'), "sections of 3"),
    ],
)
def test_broken_bundles_are_refused(tmp_path, content, message):
    path = tmp_path / "data.xz"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_bundle(path)


def test_texts_are_the_words_and_labels_of_points(debian):
    texts, labels = debian.texts("test")
    assert len(texts) == len(labels) == debian.test.X.shape[0]
    assert texts[6].split() == debian.feature_names[debian.test.X[[6]].indices].tolist()
    assert labels[6] == debian.label_names[debian.test.Y[[6]].indices].tolist()
    some = debian.texts("test", 50)
    assert some == debian.texts("test", 50)
    assert set(some.texts) <= set(texts)
    assert some.texts != texts[:50]


def test_texts_need_names_and_a_known_part(debian):
    with pytest.raises(ValueError, match=r"^part must be 'train' or 'test', got 'dev'$"):
        debian.texts("dev")
    nameless = dataclasses.replace(debian, feature_names=None)
    with pytest.raises(ValueError, match=r"^data set 'debian' has no names of features and labels"):
        nameless.texts()
