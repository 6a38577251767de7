from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
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


@pytest.fixture(scope="module")
def build_debian():
    spec = importlib.util.spec_from_file_location("build_debian", ROOT / "tools/build_debian.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_debian"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["build_debian"]


def digest(*arrays):
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return whole.hexdigest()[:16]


def test_debian_has_its_published_shape(debian):
    assert debian.name == "debian"
    assert debian.train.X.shape == (57024, 41315)
    assert debian.train.Y.shape == (57024, 59614)
    assert debian.test.X.shape == (18474, 41315)
    assert debian.test.Y.shape == (18474, 59614)
    assert len(debian.label_names) == 59614
    assert len(debian.feature_names) == 41315
    assert (debian.train.X.nnz, debian.train.Y.nnz) == (2396866, 340476)
    assert (debian.test.X.nnz, debian.test.Y.nnz) == (774021, 102453)
    for split in (debian.train, debian.test):
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
    assert structure == STRUCTURE


def test_debian_names_are_readable(debian):
    # The first package is the game alex4, the second test package libalicevision3.
    words = set(debian.feature_names[debian.train.X[[0]].indices])
    assert {"alex", "retro", "platform", "game", "jungle"} <= words
    assert debian.label_names[debian.train.Y[[0]].indices].tolist() == [
        "alex4-data",
        "game-data-packager",
        "libaldmb1t64",
        "liballegro4.4t64",
        "libc6",
        "libdumb1t64",
    ]
    words = set(debian.feature_names[debian.test.X[[1]].indices])
    assert {"photogrammetric", "vision", "library"} <= words
    assert "libopencv-core410" in debian.label_names[debian.test.Y[[1]].indices]
    frequency = np.bincount(debian.train.Y.indices)
    assert debian.label_names[frequency.argmax()] == "libc6"


def test_debian_is_small():
    folder = Path(datasets.__file__).parent / "data"
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 8_000_000


@pytest.mark.slow
@pytest.mark.parametrize("part", ["train", "test"])
def test_debian_equals_published_text_file(debian, data_folder, part):
    path = data_folder / "debian-deps" / f"{part}.txt.xz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")[1:-1]
    split = getattr(debian, part)
    assert len(lines) == split.X.shape[0]
    labels, columns, values = [], [], []
    for line in lines:
        first, *pairs = line.split(" ")
        labels.append(first)
        for pair in pairs:
            column, value = pair.split(":")
            columns.append(column)
            values.append(value)
    found = np.array(",".join(labels).split(","), dtype=np.int64)
    np.testing.assert_array_equal(split.Y.indices, found)
    np.testing.assert_array_equal(split.X.indices, np.array(columns, dtype=np.int64))
    np.testing.assert_allclose(split.X.data, np.array(values, dtype=np.float64), rtol=1e-5)


def test_tf_idf_agrees_with_scikit_learn():
    texts = ["red red blue", "blue green", "red green green green", "blue"]
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    expected = vectorizer.fit_transform(texts).toarray()
    words = vectorizer.get_feature_names_out()
    counts = sparse.csr_array([[text.split().count(word) for word in words] for text in texts])
    frequency = np.bincount(counts.indices)
    np.testing.assert_allclose(tf_idf(counts, frequency, 4).toarray(), expected, rtol=1e-6)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"name must be one of 'debian', .* got 'wiki'"):
        load_dataset("wiki")


def test_missing_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("DEFRAG_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set DEFRAG_DATA to the folder"):
        load_dataset("eurlex-4k")
    monkeypatch.setenv("DEFRAG_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"train\.txt\.xz; DEFRAG_DATA is"):
        load_dataset("eurlex-4k")


@pytest.mark.slow
def test_eurlex_is_read_from_folder(data_folder, monkeypatch):
    pytest.importorskip("defrag.io.xmc")
    monkeypatch.setenv("DEFRAG_DATA", str(data_folder))
    data = load_dataset("eurlex-4k")
    assert data.train.X.shape == (15539, 5000)
    assert data.test.Y.shape == (3809, 3993)
    assert data.label_names is None


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


PACKAGES = """\
Package: tiny-editor
Version: 1.0
Pre-Depends: libc6 (>= 2.36)
Depends: libtext1 (= 1.0) | libtext2:any, libc6
Suggests: tiny-doc [amd64] <!nodoc>
Description: small editor
Description-md5: 0

Package: tiny-viewer
Depends: libc6, libtext1
Description: small viewer

Package: tiny-doc
Description: small manual, without relations
"""

TRANSLATION = """\
Package: tiny-editor
Description-md5: 0
Description-en: small editor
 Edits text in a small window.
 .
 Small it is.
"""


@pytest.fixture
def releases(tmp_path):
    newer, older = tmp_path / "newer", tmp_path / "older"
    newer.mkdir()
    older.mkdir()
    (newer / "Packages.xz").write_bytes(lzma.compress(PACKAGES.encode()))
    (newer / "Translation-en").write_text(TRANSLATION)
    (older / "Packages").write_text(PACKAGES.replace("tiny-viewer", "old-viewer").replace(
        "libtext1 (= 1.0)", "libancient"))  # fmt: skip
    return [newer, older]


def test_packages_of_release_are_parsed(build_debian, releases):
    name, text, labels = next(build_debian.release_packages(releases[0]))
    assert name == "tiny-editor"
    assert text == "tiny-editor. small editor Edits text in a small window. Small it is."
    assert labels == ["libc6", "libtext1", "libtext2", "tiny-doc"]


@pytest.mark.slow
def test_lists_become_a_bundle(build_debian, releases, tmp_path, capsys):
    (releases[1] / "Packages.more").write_text(
        "\n".join(
            f"Package: extra{i}\nDepends: libc6\nDescription: small thing\n" for i in range(40)
        )
    )
    output = tmp_path / "debian.xz"
    assert build_debian.main(["from-lists", str(output), *map(str, releases)]) == 0
    assert "train: " in capsys.readouterr().out
    header, sections = read_bundle(output)
    labels = sections["label_names"].decode().split("\n")
    assert "libc6" in labels
    assert "libancient" not in labels
    words = sections["feature_names"].decode().split("\n")
    assert "small" in words
    rows = sum(len(sections[f"{part}.words.lengths"]) // 2 for part in ("train", "test"))
    # 40 extras and three packages with relations; the manual has none.
    assert rows == 43
    assert len(sections["test.words.lengths"]) > 0
    assert header["n_labels"] == len(labels)


def write_folder(folder, test_rows, declared):
    texts = ["red red blue", "blue green", "red green green green"]
    tests = ["green red red", "blue blue red green", "green blue"]
    words = ["blue", "green", "red"]
    pack = {
        "vocab.txt.xz": "".join(word + "\n" for word in words),
        "labels.txt.xz": "one\ntwo\n",
        "train.raw.jsonl.xz": "".join(
            json.dumps({"text": text, "labels": ["one", "two"]}) + "\n" for text in texts
        ),
        "test.raw.jsonl.xz": "".join(
            json.dumps({"text": text, "labels": ["two"]}) + "\n" for text in tests[:test_rows]
        ),
    }
    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(texts)
    for part, rows, n in (("train", texts, 3), ("test", tests, declared)):
        lines = [f"{n} 3 2"]
        for row in vectorizer.transform(rows).toarray():
            pairs = [f"{j}:{value:.6g}" for j, value in enumerate(row) if value]
            lines.append(" ".join(["0,1" if part == "train" else "1", *pairs]))
        pack[f"{part}.txt.xz"] = "\n".join(lines) + "\n"
    for name, content in pack.items():
        (folder / name).write_bytes(lzma.compress(content.encode()))


@pytest.mark.slow
def test_texts_become_a_bundle(build_debian, tmp_path):
    write_folder(tmp_path, test_rows=3, declared=3)
    output = tmp_path / "debian.xz"
    assert build_debian.main(["from-text", str(output), str(tmp_path)]) == 0
    _, sections = read_bundle(output)
    counts = np.frombuffer(sections["test.words.counts"], dtype="<u2")
    assert counts.tolist() == [1, 2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("texts", "declared", "message"),
    [
        (3, 5, r"test\.txt\.xz declares 5 rows and has 3"),
        (1, 3, "test has 3 rows and 1 texts"),
    ],
)
def test_truncated_source_is_refused(build_debian, tmp_path, texts, declared, message):
    write_folder(tmp_path, test_rows=texts, declared=declared)
    output = tmp_path / "debian.xz"
    with pytest.raises(SystemExit, match=message):
        build_debian.main(["from-text", str(output), str(tmp_path)])
    assert not output.exists()


STRUCTURE = {"train": "edd424c824e4204d", "test": "4a27df579801b4b8"}


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
