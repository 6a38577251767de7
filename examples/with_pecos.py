"""defrag in front of PECOS: files between two environments.

PECOS needs numpy < 2 and defrag numpy >= 2, so the two cannot be imported together. PECOS
has commands that read and write scipy's npz files; this script runs them with the Python
of the environment that PECOS is installed in::

    python3 -m venv pecos-venv
    pecos-venv/bin/pip install --no-deps libpecos
    pecos-venv/bin/pip install "numpy<2" "scipy<1.14" scikit-learn
    python with_pecos.py pecos-venv/bin/python
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag import Focus, load_dataset, metrics
from defrag.agglomeration import Hybrid

pecos_python = Path(sys.argv[1] if len(sys.argv) > 1 else sys.executable).absolute()
if not pecos_python.is_file():
    sys.exit(f"{pecos_python}: no such file; pass the Python that has PECOS")
probe = [pecos_python, "-c", "import pecos.xmc.xlinear"]
found = subprocess.run(probe, capture_output=True, check=False)  # noqa: S603 - the user's Python
if found.returncode:
    sys.exit(
        f"{pecos_python} has no PECOS: in an environment of its own, pip install --no-deps "
        "libpecos and pip install 'numpy<2' 'scipy<1.14' scikit-learn, then pass its Python"
    )

data = load_dataset("debian")
X, Y = data.train.X[:8000], data.train.Y[:8000]
X_test, Y_test = data.test.X[:1000], data.test.Y[:1000]

for title, reduction in {
    "all words": None, "Focus": Focus(random_state=0), "Hybrid": Hybrid(random_state=0)
}.items():  # fmt: skip
    # The two lines: reduced points instead of all words, in training and in prediction.
    rows = X if reduction is None else reduction.fit(X, Y).transform(X)
    rows_test = X_test if reduction is None else reduction.transform(X_test)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, matrix in (("X", rows), ("Y", Y), ("X_test", rows_test)):
            # PECOS asks for a csr_matrix of float32.
            sparse.save_npz(folder / f"{file}.npz", sparse.csr_matrix(matrix, dtype=np.float32))
        train = "-m pecos.xmc.xlinear.train -x X.npz -y Y.npz -m model"
        predict = "-m pecos.xmc.xlinear.predict -x X_test.npz -m model -k 5 -o predicted.npz"
        seconds = []
        for command in (train, predict):
            begin = os.times().children_user
            words = [pecos_python, *command.split()]
            subprocess.run(words, cwd=folder, check=True)  # noqa: S603 - the user's Python
            seconds.append(os.times().children_user - begin)
        scores = sparse.load_npz(folder / "predicted.npz")
        size = sum(part.stat().st_size for part in (folder / "model").rglob("*"))

    found = "/".join(f"{metrics.precision(Y_test, scores, k=k):.1f}" for k in (1, 3, 5))
    print(f"{title}: P@1/3/5 {found}, training {seconds[0]:.1f} s, model {size / 1e6:.1f} MB")
