"""A classifier that is not part of the library: ``python -m tests.contract.toy VERB ...``.

Run as a program, it is the command line of a library that has one estimator more.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from defrag._parameters import Float, Int
from defrag.classifiers.one_vs_rest import OneVsRest
from defrag.registry import Entry, registered


class MeanPoint(OneVsRest):
    """Score a label by the product of a point with the mean of the label's points.

    Parameters
    ----------
    shift : float, default=-0.5
        What is added to every product.
    batch_size : int, default=1024
        Labels that are trained at a time.
    random_state : int or None, default=None
        Seed.
    n_jobs : int, optional
        Threads.
    verbose : int, default=0
        Show progress bars on a terminal.
    """

    def __init__(
        self,
        shift: float = -0.5,
        *,
        batch_size: int = 1024,
        random_state: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.shift = shift
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    parameter_rules: ClassVar[dict[str, Any]] = {
        "shift": Float(),
        "batch_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": Int(0),
    }

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
