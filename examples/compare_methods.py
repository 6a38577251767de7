"""Compare methods by a metric of your own, with several seeds that tell a difference from noise.

`defrag compare` does this with the usual metrics and writes a report.
"""

import numpy as np

from defrag import Focused, LabelTree, load_dataset

data = load_dataset("debian")
X, Y = data.train.X[::20], data.train.Y[::20]
X_test, Y_test = data.test.X[::20], data.test.Y[::20]
truth = Y_test.toarray()
rare = np.flatnonzero((Y.sum(axis=0) > 0) & (Y.sum(axis=0) <= 3))


def rare_found(model: LabelTree | Focused) -> float:
    """Return the percentage of rare true labels that are among the best five."""
    labels, _ = model.predict_topk(X_test, k=5)
    found = np.take_along_axis(truth, labels, axis=1) * np.isin(labels, rare)
    return float(100 * found.sum() / Y_test[:, rare].sum())


for method in (LabelTree(), Focused(LabelTree()), Focused(LabelTree(n_trees=3))):
    name = str(method)
    values = [rare_found(method.set_params(random_state=seed).fit(X, Y)) for seed in range(3)]
    print(f"{name}: {np.mean(values):.2f} +- {np.std(values, ddof=1):.2f}% of the rare labels")
