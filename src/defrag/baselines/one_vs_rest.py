"""PPDSparse and ProXML: one-vs-rest with an L1 penalty, published methods to compare with.

Both are :class:`~defrag.classifiers.one_vs_rest.OneVsRest`, from which they differ by the kernel
that solves a batch of labels; ``solution="early"`` of ProXML is a setting of that of PPDSparse.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse

from defrag import _native
from defrag._native import PpdSparseOptions, ProxmlOptions
from defrag._parameters import Choice, Float, Int, param
from defrag.classifiers.one_vs_rest import OneVsRest
from defrag.typing import Csr, Progress


class PPDSparse(OneVsRest):
    """Sparse classifiers from positives and hard negatives (Yen et al., 2017).

    Minimises the squared hinge loss with L2 and L1 regularisers in the dual, over the positives
    of a label and the negatives with a positive loss, then once more without L1 over the
    remaining weights. Sixteen labels share their active points, so that the search for
    negatives is exact. Every label starts with its positives only: a constant offset of about
    -1 replaces the random negatives of the publication.

    See Also
    --------
    DiSMEC : Without L1, on all points.
    ProXML : L1 only, with fewer weights.

    Notes
    -----
    The score of a label with margin z is 1 / (1 + exp(-z)).

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import PPDSparse
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> labels, scores = PPDSparse(random_state=0).fit(X, Y).predict_topk(X[3:5], k=1)
    >>> labels.ravel()
    array([0, 1], dtype=int32)
    """

    l1: float = param(
        Float(0.0), "L1 penalty; a larger one leaves fewer weights.", default=0.05, kw_only=False
    )
    max_rounds: int = param(
        Int(2, 30),
        "Number of rounds of two passes over the active points, which are updated in between.",
        default=3,
    )
    weight_threshold: float = param(
        Float(0.0), "Weights up to this absolute value are dropped.", default=0.01
    )

    _seconds_per_step = 6.5e-9

    def _solve(
        self, X: Csr, positives: Csr, *, first: int, seed: int, progress: Progress | None
    ) -> Csr:
        options = PpdSparseOptions(
            cost=self.C,
            l1=self.l1,
            max_rounds=self.max_rounds,
            threshold=self.weight_threshold,
            seed=seed,
        )
        running: Any = {"n_threads": self._threads, "progress": progress}
        weights = _native.train_ppd_sparse(X, positives, options, first=first, **running)
        return sparse.csr_array(weights.T)


# Thirty rounds with a slack of 0.005 take three times as long and change precision on EURLex-4K
# by less than 0.1; four rounds with a slack of 0.2 lose 0.2 of P@3.
_EARLY_ROUNDS = 8
_EARLY_SLACK = 0.05


class ProXML(OneVsRest):
    """Sparse classifiers by proximal steps (Babbar and Schoelkopf, 2019).

    The objective is the squared hinge loss with an L1 penalty. The publication uses proximal
    gradient steps over all points and features until the objective hardly changes; the point
    at which they stop matters, because the weights at the minimum predict worse.

    ``solution="early"`` takes one implicit proximal step of length 1 from zero weights and a
    bias of about -1: it minimises the objective plus half the squared distance from there, in
    the dual, sixteen labels at a time. ``solution="minimum"`` minimises the objective over
    active points (with a loss) and features (with a gradient above the penalty), which are
    updated from all of them in every round; rare labels end with some dozens of weights.

    See Also
    --------
    PPDSparse : L1 and L2; faster, with more weights.

    Notes
    -----
    The score of a label with margin z is 1 / (1 + exp(-z)).

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import ProXML
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> labels, scores = ProXML(random_state=0).fit(X, Y).predict_topk(X[3:5], k=1)
    >>> labels.ravel()
    array([0, 1], dtype=int32)
    """

    l1: float = param(
        Float(0.0), "L1 penalty; a larger one leaves fewer weights.", default=0.1, kw_only=False
    )
    solution: str = param(Choice(("early", "minimum")), "The solution.", default="early")
    tol: float = param(
        Float(0.0),
        'For ``solution="minimum"``: a label stops when the relative decrease of its '
        "objective is below this in two consecutive rounds, or after 50 rounds.",
        default=0.01,
    )
    batch_size: int = param(default=8192)

    _seconds_per_step = 1.1e-8

    def _solve(
        self, X: Csr, positives: Csr, *, first: int, seed: int, progress: Progress | None
    ) -> Csr:
        running: Any = {"n_threads": self._threads, "progress": progress}
        if self.solution == "minimum":
            exact = ProxmlOptions(cost=self.C, l1=self.l1, tolerance=self.tol)
            solution = _native.train_proxml(X, positives, exact, **running)
            return sparse.csr_array(solution.weights.T)
        options = PpdSparseOptions(
            cost=self.C,
            l1=self.l1,
            max_rounds=_EARLY_ROUNDS,
            slack=_EARLY_SLACK,
            final_passes=0,
            threshold=0.0,
            seed=seed,
        )
        weights = _native.train_ppd_sparse(X, positives, options, first=first, **running)
        return sparse.csr_array(weights.T)
