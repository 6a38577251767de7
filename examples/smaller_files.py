"""Smaller model files: weights of 16 or 8 bits, and fewer weights."""

import tempfile
from pathlib import Path

from defrag import LabelTree, load, load_dataset, metrics

data = load_dataset("debian")
X, Y = data.train.X[::6], data.train.Y[::6]
X_test, Y_test = data.test.X[::5], data.test.Y[::5]
path = Path(tempfile.mkdtemp()) / "model.safetensors"

tree = LabelTree(random_state=0).fit(X, Y)
sparse = LabelTree(weight_threshold=0.2, random_state=0).fit(X, Y)  # small weights become zero
for name, model, weights in (
    ("float32", tree, "float32"),
    ("float16", tree, "float16"),
    ("int8", tree, "int8"),
    ("int8, without weights below 0.2", sparse, "int8"),
):
    model.save(path, weights=weights)
    found = metrics.precision(Y_test, load(path, mmap=False).predict_topk(X_test)[0], k=1)
    print(f"{name}: {path.stat().st_size / 1e6:.1f} MB, P@1 {found:.1f}")
