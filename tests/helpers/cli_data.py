"""Twelve points, in every form that the command line reads."""

import functools
import shutil
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
    for name in ("train.txt", "train.txt.gz", "train.txt.xz"):
        write_xmc(folder / name, X, Y)
    write_xmc(folder / "X.txt", X, Y, labels_path=folder / "Y.txt")
    write_npz(folder / "train.npz", X, Y)
    write_npz(folder / "X.npz", X)
    write_svmlight(folder / "train.svm", X, Y, zero_based=False)
    write_groups(folder / "groups.txt", np.arange(N_FEATURES) // 4)
    vectors = np.random.default_rng(3).normal(size=(N_FEATURES, 5)).round(3)
    every = " ".join(map(str, range(N_FEATURES)))
    for name, text in {
        "words.txt": "".join(f"word{j}\n" for j in range(N_FEATURES)),
        "few.txt": "word0\nword1\n",
        "vectors.txt": "".join(
            f"word{j} {' '.join(map(str, row))}\n" for j, row in enumerate(vectors)
        ),
        "broken.txt": "2 3 4\n0 1:1\n1 7:1\n",
        "empty.txt": "",
        "short.txt": "3 3 4\n0 1:1\n",
        "bad_groups.txt": "2\n2 0 1\n1 1\n",
        "few_groups.txt": "2\n2 0 1 \n1 2 \n",
        "empty_group.txt": f"3\n{N_FEATURES} {every} \n0 \n0 \n",
        "broken_Y.txt": "1 2\n0:1\n",
        "wide.txt": "1 2 2000000000\n0 1:1\n",
        "small.txt": "1 2 1\n0 1:1\n",
        "zero.svm": "0 0:1\n",
    }.items():
        (folder / name).write_text(text)
    (folder / "a folder").mkdir()
    (folder / "damaged.npz").write_bytes((folder / "train.npz").read_bytes()[:-40])
    (folder / "damaged.gz").write_bytes((folder / "train.txt.gz").read_bytes()[:-12])


def fill_folder(tmp_path, monkeypatch):
    """Return a folder, made the current one, with the same points in every form."""
    enter_filled(_write_files, tmp_path, monkeypatch)
    (tmp_path / "link.txt").symlink_to("train.txt")
    (tmp_path / "twin.txt").hardlink_to(tmp_path / "train.txt")
    return tmp_path


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


@functools.cache
def _filled(fill):
    """Return a folder with the files that a function writes; it is gone with the process."""
    folder = tempfile.TemporaryDirectory()
    fill(Path(folder.name))
    return folder


def enter_filled(fill, folder, monkeypatch):
    """Write into an empty folder what a function writes into one; make it the current one."""
    shutil.copytree(_filled(fill).name, folder, dirs_exist_ok=True)
    monkeypatch.chdir(folder)
    return folder
