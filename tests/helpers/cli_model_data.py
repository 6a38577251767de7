"""Forty points, and models of them, for the verbs about models."""

import numpy as np
from scipy import sparse

from defrag import Defrag, LabelTree, TextClassifier
from defrag.io import write_npz, write_predictions, write_xmc
from defrag.io.xmc import write_svmlight
from tests.helpers.cli_data import enter_filled
from tests.helpers.cli_running import run_well
from tests.helpers.cli_text_data import write_lines

N_POINTS, N_FEATURES, N_LABELS = 40, 24, 8
TEXTS = [
    ("sparse matrix library", ["algebra"]),
    ("dense matrix products", ["algebra"]),
    ("a library for quick sorting", ["sorting"]),
    ("merge sorting of large files", ["sorting", "files"]),
    ("copy large files", ["files"]),
]


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


def _write_files(folder):
    X, Y = points()
    for name in ("train.txt", "train.txt.xz"):
        write_xmc(folder / name, X, Y)
    write_npz(folder / "train.npz", X, Y)
    write_svmlight(folder / "train.svm", X, Y, zero_based=False)
    write_xmc(folder / "X.txt", X, Y, labels_path=folder / "Y.txt")
    names = [f"label {j}" for j in range(N_LABELS)]
    (folder / "labels.txt").write_text("\n".join(names) + "\n")
    (folder / "words.txt").write_text("".join(f"word{j}\n" for j in range(N_FEATURES)))
    model = LabelTree(random_state=3).fit(X, Y)
    model.save(folder / "model.safetensors", label_names=names)
    model.save(folder / "nameless.safetensors")
    Defrag(random_state=0, max_cluster_size=4).fit(X).save(folder / "groups.safetensors")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(content[:-100])
    (folder / "cut.bin").write_bytes(content[:-100])
    (folder / "text.safetensors").write_text("no model at all\n")
    (folder / "narrow.txt").write_text("2 3 8\n0 1:1\n1 2:1\n")
    (folder / "bad.txt").write_text(f"2 {N_FEATURES} 8\n0 1:1\n1 99:1\n")
    (folder / "short.txt").write_text(f"3 {N_FEATURES} 8\n0 1:1\n")
    write_predictions(folder / "predictions.txt", model.decision_function(X, k=5))
    write_predictions(folder / "top.txt", model.decision_function(X, k=3))
    (folder / "few.txt").write_text("1 8\n0:1\n")
    (folder / "wide.txt").write_text(f"{N_POINTS} 9\n" + "0:1\n" * N_POINTS)
    write_lines(folder / "docs.jsonl", [{"text": text, "labels": own} for text, own in TEXTS])
    model = TextClassifier(LabelTree(), random_state=0).fit(*map(list, zip(*TEXTS, strict=True)))
    model.save(folder / "texts.safetensors")
    run_well("train", str(folder / "train.txt"), str(folder / "a.plan"), "--parts", "2",
             "--n-trees", "2", "--seed", "3", "--max-leaf-size", "2")  # fmt: skip


def fill_folder(tmp_path, monkeypatch):
    """Return a folder, made the current one, with data, names, and a model."""
    return enter_filled(_write_files, tmp_path, monkeypatch)
