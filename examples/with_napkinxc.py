"""defrag in front of napkinXC, which takes a csr_matrix and lists of labels."""

from __future__ import annotations

import sys
import tempfile

import numpy as np
from scipy import sparse

from defrag import Hybrid, load_dataset, metrics

try:
    from napkinxc.models import PLT
except ImportError:
    sys.exit("this example needs napkinxc: pip install napkinxc")

data = load_dataset("debian")
X, Y = data.train.X[:8000], data.train.Y[:8000]
X_test, Y_test = data.test.X[:1000], data.test.Y[:1000]

# The two lines: groups instead of features, in training and in prediction.
hybrid = Hybrid(random_state=0).fit(X)
X, X_test = (sparse.csr_matrix(hybrid.transform(part)) for part in (X, X_test))

label_lists = [part.tolist() for part in np.split(Y.indices, Y.indptr[1:-1])]
with tempfile.TemporaryDirectory() as folder:
    model = PLT(folder, seed=0)
    model.fit(X, label_lists)
    found = model.predict(X_test, top_k=5)

best = np.full((X_test.shape[0], 5), -1, dtype=np.int32)
for i, labels in enumerate(found):
    best[i, : len(labels)] = labels
print(f"{hybrid.n_features_in_} words in {hybrid.n_clusters_} groups")
print(f"P@1 {metrics.precision(Y_test, best, k=1):.1f}")
