"""defrag in front of napkinXC, which takes a csr_matrix and lists of labels."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag import Focus, load_dataset, metrics
from defrag.agglomeration import Hybrid

try:
    from napkinxc.models import PLT
except ImportError:
    sys.exit("this example needs napkinxc: pip install napkinxc")

data = load_dataset("debian")
X, Y = data.train.X[:8000], data.train.Y[:8000]
X_test, Y_test = data.test.X[:1000], data.test.Y[:1000]
label_lists = [part.tolist() for part in np.split(Y.indices, Y.indptr[1:-1])]

for name, reduction in {
    "all words": None, "Focus": Focus(random_state=0), "Hybrid": Hybrid(random_state=0)
}.items():  # fmt: skip
    begin = time.process_time()
    # The two lines: reduced points instead of all words, in training and in prediction.
    rows = X if reduction is None else reduction.fit(X, Y).transform(X)
    rows_test = X_test if reduction is None else reduction.transform(X_test)

    with tempfile.TemporaryDirectory() as folder:
        model = PLT(folder, seed=0)
        model.fit(sparse.csr_matrix(rows), label_lists)
        seconds = time.process_time() - begin
        found = model.predict(sparse.csr_matrix(rows_test), top_k=5)
        size = sum(part.stat().st_size for part in Path(folder).rglob("*"))

    best = np.full((rows_test.shape[0], 5), -1, dtype=np.int32)
    for i, labels in enumerate(found):
        best[i, : len(labels)] = labels
    report = metrics.evaluate(Y_test, best)
    precision = "/".join(f"{report[f'P@{k}']:.1f}" for k in (1, 3, 5))
    print(f"{name}: P@1/3/5 {precision}, training {seconds:.1f} s, model {size / 1e6:.1f} MB")
