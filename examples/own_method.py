"""A method of your own and a file of predictions of another program, in one report."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag import load_dataset
from defrag.io import write_xmc

METHOD = """
import numpy as np

class Neighbour:
    def fit(self, X, Y):
        self.X, self.Y = X, Y
        return self

    def predict_topk(self, X, k):  # the labels of the nearest point, then those of no point
        nearest = np.asarray((X @ self.X.T).argmax(axis=1)).ravel()
        scores = self.Y[nearest].toarray()
        labels = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return labels, np.take_along_axis(scores, labels, axis=1)
"""

folder = Path(tempfile.mkdtemp())
data = load_dataset("debian")
often = np.argsort(-np.asarray(data.train.Y.sum(axis=0)).ravel())[:200]
for name, half in (("train", data.train), ("test", data.test)):
    write_xmc(folder / f"{name}.txt", half.X[:1500], half.Y[:1500][:, often])
(folder / "method.py").write_text(METHOD)
frequency = np.tile(data.train.Y[:, often].sum(axis=0), (1500, 1))
sparse.save_npz(folder / "frequency.npz", sparse.csr_matrix(frequency))

done = subprocess.run(
    [sys.executable, "-m", "defrag", "compare", "train.txt", "test.txt", "--agglomerate", "none",
     "--classifier", "label-tree", "--classifier", "method:Neighbour",
     "--predictions", "frequency=frequency.npz", "--report", "out.html", "--latex", "out.tex"],
    cwd=folder, check=True, capture_output=True, text=True,
)  # fmt: skip
print(done.stdout)
print((folder / "out.tex").read_text())
