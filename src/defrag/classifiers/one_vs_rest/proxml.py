"""ProXML: one-vs-rest with an L1 penalty alone, ended early or solved to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scipy import sparse

from defrag import _native
from defrag._native import PpdSparseOptions, ProxmlOptions
from defrag._parameters import VERBOSE, Choice, Float, Int
from defrag.classifiers.one_vs_rest._base import OneVsRest

if TYPE_CHECKING:
    from defrag.typing import Csr, Progress, Seed

__all__ = ["ProXML"]

# Near enough to the end of the step: thirty rounds to 0.005 take three times as long and change
# precision on EURLex-4K by less than 0.1; four rounds to 0.2 lose 0.2 at 3.
_EARLY_ROUNDS = 8
_EARLY_SLACK = 0.05


class ProXML(OneVsRest):
    """Sparse classifiers by proximal steps (Babbar and Schoelkopf, 2019).

    The squared hinge with an L1 penalty and nothing else. Published with proximal gradient over
    all points and features, until the objective moves by little. Where that ends matters: the
    weights at the minimum predict worse. Two ends are offered here.

    ``solution="early"`` takes one implicit proximal step of length 1 from zero weights and a
    bias of about -1: the least of the objective plus half the squared way. It is found in the
    dual, sixteen labels at a time. ``solution="minimum"`` goes to the minimum: a label works on the
    points with a loss and the features with a gradient above the penalty, chosen anew in every
    round from all of them, and ends with some dozens of weights where it is rare.

    Parameters
    ----------
    l1 : float, default=0.1
        The L1 penalty; a higher one leaves fewer weights.
    C : float, default=1.0
        Weight of the losses against the penalty.
    solution : {"early", "minimum"}, default="early"
        Which of the two.
    tol : float, default=0.01
        Of ``solution="minimum"``: a label is done when two rounds in a row lower its objective by
        less than this share, or after 50 rounds.
    batch_size : int, default=8192
        Labels that are trained before the next ones are begun, rounded up to a multiple of
        16. It bounds the memory of training and changes no result.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order in which points are visited, for ``solution="early"``.
    n_jobs : int, optional
        Threads, as in scikit-learn; -1 for all.
    verbose : bool or int, default=0
        Show progress bars on a terminal.

    Attributes
    ----------
    weights_ : FlatWeights
        The classifiers of the labels that have points.
    classes_ : ndarray
        The classes, or the label ids.
    n_labels_ : int
        How many labels there are.
    n_features_in_ : int
        How many features X had.

    See Also
    --------
    PPDSparse : L1 and L2, faster, more weights.

    Notes
    -----
    The score of a label with margin z is 1 / (1 + exp(-z)).

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import ProXML
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> labels, scores = ProXML(random_state=0).fit(X, Y).predict_topk(X[3:5], k=1)
    >>> labels.ravel()
    array([0, 1], dtype=int32)
    """

    def __init__(
        self,
        l1: float = 0.1,
        *,
        C: float = 1.0,
        solution: str = "early",
        tol: float = 0.01,
        batch_size: int = 8192,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.l1 = l1
        self.C = C
        self.solution = solution
        self.tol = tol
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    seconds_per_step = 1.1e-8

    parameter_rules: ClassVar[dict[str, Any]] = {
        "l1": Float(0.0),
        "C": Float(0.0, open_low=True),
        "solution": Choice(("early", "minimum")),
        "tol": Float(0.0),
        "batch_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": VERBOSE,
    }

    def _solve(
        self, X: Csr, positives: Csr, *, first: int, seed: int, progress: Progress | None
    ) -> Csr:
        threads = _native.n_threads(self.n_jobs)
        if self.solution == "minimum":
            exact = ProxmlOptions(cost=self.C, l1=self.l1, tolerance=self.tol)
            solution = _native.train_proxml(
                X, positives, exact, n_threads=threads, progress=progress
            )
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
        weights = _native.train_ppd_sparse(
            X, positives, options, first=first, n_threads=threads, progress=progress
        )
        return sparse.csr_array(weights.T)
