"""Twelve points, in every form that the command line reads."""

import functools
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag.io import write_groups, write_npz, write_xmc
from defrag.io.xmc import write_svmlight

N_FEATURES = 24


def points():
    """Three blocks of eight features, twelve points with two labels each; one point is bare."""
    random = np.random.default_rng(7)
    X = np.kron(np.eye(3), np.ones((4, 8))) * random.integers(1, 5, (12, N_FEATURES))
    X = X * (random.random(X.shape) < 0.7)
    Y = np.kron(np.eye(3), np.ones((4, 2)))
    Y[5] = 0
    return (sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32)))


def _write_files(folder):
    X, Y = points()
    write_xmc(folder / "train.txt", X, Y)
    write_xmc(folder / "train.txt.gz", X, Y)
    write_xmc(folder / "train.txt.xz", X, Y)
    write_xmc(folder / "X.txt", X, Y, labels_path=folder / "Y.txt")
    write_npz(folder / "train.npz", X, Y)
    write_npz(folder / "X.npz", X)
    write_svmlight(folder / "train.svm", X, Y, zero_based=False)
    write_groups(folder / "groups.txt", np.arange(N_FEATURES) // 4)
    words = [f"word{j}" for j in range(N_FEATURES)]
    (folder / "words.txt").write_text("\n".join(words) + "\n")
    (folder / "few.txt").write_text("word0\nword1\n")
    vectors = np.random.default_rng(3).normal(size=(N_FEATURES, 5)).round(3)
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, vectors, strict=True))
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")
    (folder / "broken.txt").write_text("2 3 4\n0 1:1\n1 7:1\n")
    (folder / "empty.txt").write_text("")
    (folder / "short.txt").write_text("3 3 4\n0 1:1\n")
    (folder / "bad_groups.txt").write_text("2\n2 0 1\n1 1\n")
    (folder / "few_groups.txt").write_text("2\n2 0 1 \n1 2 \n")
    (folder / "empty_group.txt").write_text(
        f"3\n{N_FEATURES} {' '.join(map(str, range(N_FEATURES)))} \n0 \n0 \n"
    )
    (folder / "a folder").mkdir()
    (folder / "broken_Y.txt").write_text("1 2\n0:1\n")
    (folder / "wide.txt").write_text("1 2 2000000000\n0 1:1\n")
    (folder / "small.txt").write_text("1 2 1\n0 1:1\n")
    (folder / "zero.svm").write_text("0 0:1\n")
    (folder / "damaged.npz").write_bytes((folder / "train.npz").read_bytes()[:-40])
    (folder / "damaged.gz").write_bytes((folder / "train.txt.gz").read_bytes()[:-12])


def fill_folder(tmp_path, monkeypatch):
    """Return a folder, made the current one, with the same points in every form."""
    copy_filled(_write_files, tmp_path)
    (tmp_path / "link.txt").symlink_to("train.txt")
    (tmp_path / "twin.txt").hardlink_to(tmp_path / "train.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


# --- Folders with the same files, made once in a process and copied.


@functools.cache
def _written(fill):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        return {
            path.relative_to(folder): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))  # a folder before what it contains
        }


def copy_filled(fill, folder):
    """Write into an empty folder what a function writes into one."""
    for path, content in _written(fill).items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)
