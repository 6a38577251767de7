"""A classifier of your own that is saved, loaded, composed and explained like the others.

Inside `registered`, the command line knows it as well: `--classifier sum-of-points`.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from defrag import DiSMEC, Focused, load, load_dataset, metrics
from defrag.registry import Entry, registered
from defrag.typing import Csr


class SumOfPoints(DiSMEC):
    """Score a label by the product of a point with the sum of its points: nothing is solved."""

    def _solve(self, X: Csr, positives: Csr, **_: Any) -> Csr:
        sums = positives @ X / 100
        bias = np.full((1, sums.shape[0]), -0.5)
        return sparse.csr_array(sparse.vstack([sums.T, bias]).astype(np.float32))


data = load_dataset("debian")
X, Y = data.train.X[::10], data.train.Y[::10]
X_test, Y_test = data.test.X[::10], data.test.Y[::10]
path = Path(tempfile.mkdtemp()) / "model.safetensors"

here = Entry("SumOfPoints", __name__, "sum-of-points", "classifier")
with registered(here):
    for model in (SumOfPoints(), Focused(SumOfPoints(), random_state=0), DiSMEC(random_state=0)):
        model.fit(X, Y).save(path)
        labels, _ = load(path).predict_topk(X_test, k=5)
        print(f"{model}: P@1 {metrics.precision(Y_test, labels, k=1):.1f}")
print(model.explain(X_test[[0]]).how)
