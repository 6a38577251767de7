"""A classifier that is not part of the library: ``python -m tests.contract.toy VERB ...``.

Run as a program, it is the command line of a library that has one estimator more.
"""

import numpy as np
from scipy import sparse

from defrag._parameters import Float, param
from defrag.classifiers.one_vs_rest import OneVsRest
from defrag.registry import Entry, registered


class MeanPoint(OneVsRest):
    """Score a label by the product of a point with the mean of the label's points."""

    shift: float = param(Float(), "What is added to every product.", default=-0.5, kw_only=False)

    def _solve(self, X, positives, *, first, seed, progress):  # noqa: ARG002 - the contract
        sizes = np.diff(positives.indptr)
        means = sparse.diags_array(1.0 / sizes) @ (positives @ X)
        bias = np.full((1, len(sizes)), self.shift)
        return sparse.csr_array(sparse.vstack([means.T, bias]).astype(np.float32))


TOY = Entry("MeanPoint", "tests.contract.toy", "mean-point", "classifier")

if __name__ == "__main__":
    with registered(TOY):
        from defrag.cli import main

        main()
