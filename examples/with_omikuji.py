"""defrag in front of omikuji, which trains from a file: write the groups to one."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from defrag import Hybrid, load_dataset, metrics, write_xmc

try:
    import omikuji
except ImportError:
    sys.exit("this example needs omikuji: pip install omikuji")

data = load_dataset("debian")
X, Y = data.train.X[:8000], data.train.Y[:8000]
X_test, Y_test = data.test.X[:1000], data.test.Y[:1000]

# The two lines: groups instead of features, in training and in prediction.
hybrid = Hybrid(random_state=0).fit(X)
X, X_test = hybrid.transform(X), hybrid.transform(X_test)

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "train.txt"
    write_xmc(file, X, Y)
    model = omikuji.Model.train_on_data(str(file))

best = np.full((X_test.shape[0], 5), -1, dtype=np.int32)
for i in range(X_test.shape[0]):
    row = X_test[[i]]
    found = model.predict(list(zip(row.indices, row.data, strict=True)), top_k=5)
    best[i, : len(found)] = [label for label, _ in found]
print(f"{hybrid.n_features_in_} words in {hybrid.n_clusters_} groups")
print(f"P@1 {metrics.precision(Y_test, best, k=1):.1f}")
