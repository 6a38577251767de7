"""defrag in front of omikuji, which trains from a file: write the reduced points to one."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from defrag import Focus, load_dataset, metrics
from defrag.agglomeration import Hybrid
from defrag.io import write_xmc

try:
    import omikuji
except ImportError:
    sys.exit("this example needs omikuji: pip install omikuji")

data = load_dataset("debian")
X, Y = data.train.X[:8000], data.train.Y[:8000]
X_test, Y_test = data.test.X[:1000], data.test.Y[:1000]

for name, reduction in {
    "all words": None, "Focus": Focus(random_state=0), "Hybrid": Hybrid(random_state=0)
}.items():  # fmt: skip
    begin = time.process_time()
    # The two lines: reduced points instead of all words, in training and in prediction.
    rows = X if reduction is None else reduction.fit(X, Y).transform(X)
    rows_test = X_test if reduction is None else reduction.transform(X_test)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        write_xmc(file, rows, Y)
        model = omikuji.Model.train_on_data(str(file))
        seconds = time.process_time() - begin
        model.save(str(Path(folder) / "model"))
        size = sum(part.stat().st_size for part in (Path(folder) / "model").rglob("*"))

    best = np.full((rows_test.shape[0], 5), -1, dtype=np.int32)
    for i in range(rows_test.shape[0]):
        row = rows_test[[i]]
        found = model.predict(list(zip(row.indices, row.data, strict=True)), top_k=5)
        best[i, : len(found)] = [label for label, _ in found]
    report = metrics.evaluate(Y_test, best)
    precision = "/".join(f"{report[f'P@{k}']:.1f}" for k in (1, 3, 5))
    print(f"{name}: P@1/3/5 {precision}, training {seconds:.1f} s, model {size / 1e6:.1f} MB")
