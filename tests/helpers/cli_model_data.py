"""Forty points, and models of them, for the verbs about models."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from defrag import (
    Defrag,
    LabelTree,
)
from defrag.io import (
    write_npz,
    write_predictions,
    write_svmlight,
    write_xmc,
)

N_POINTS, N_FEATURES, N_LABELS = 40, 24, 8


def points(n_points=N_POINTS, seed=7):
    """Four kinds of points with six features and two labels each; the last labels are rare."""
    random = np.random.default_rng(seed)
    kind = np.arange(n_points) % 4
    X = (np.kron(np.eye(4), np.ones(6))[kind]) * random.integers(1, 5, (n_points, N_FEATURES))
    X = X * (random.random(X.shape) < 0.7)
    Y = np.kron(np.eye(4), np.ones(2))[kind]
    Y[:, 7] *= np.arange(n_points) < 8
    Y[5] = 0
    return sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32))


def fill_folder(tmp_path, monkeypatch):
    """Return a folder, made the current one, with data, names, and a model."""
    X, Y = points()
    write_xmc(tmp_path / "train.txt", X, Y)
    write_xmc(tmp_path / "train.txt.xz", X, Y)
    write_npz(tmp_path / "train.npz", X, Y)
    write_svmlight(tmp_path / "train.svm", X, Y, zero_based=False)
    write_xmc(tmp_path / "X.txt", X, Y, labels_path=tmp_path / "Y.txt")
    names = [f"label {j}" for j in range(N_LABELS)]
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "words.txt").write_text("\n".join(f"word{j}" for j in range(N_FEATURES)) + "\n")
    model = LabelTree(random_state=3).fit(X, Y)
    model.save(tmp_path / "model.safetensors", label_names=names)
    model.save(tmp_path / "nameless.safetensors")
    Defrag(random_state=0, max_cluster_size=4).fit(X).save(tmp_path / "groups.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(content[:-100])
    (tmp_path / "cut.bin").write_bytes(content[:-100])
    (tmp_path / "text.safetensors").write_text("no model at all\n")
    (tmp_path / "narrow.txt").write_text("2 3 8\n0 1:1\n1 2:1\n")
    (tmp_path / "bad.txt").write_text(f"2 {N_FEATURES} 8\n0 1:1\n1 99:1\n")
    (tmp_path / "short.txt").write_text(f"3 {N_FEATURES} 8\n0 1:1\n")
    write_predictions(tmp_path / "predictions.txt", model.decision_function(X, k=5))
    write_predictions(tmp_path / "top.txt", model.decision_function(X, k=3))
    (tmp_path / "few.txt").write_text("1 8\n0:1\n")
    (tmp_path / "wide.txt").write_text(f"{N_POINTS} 9\n" + "0:1\n" * N_POINTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path
