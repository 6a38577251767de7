"""ProXML: one-vs-rest with an L1 penalty, stopped early or solved to the minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scipy import sparse

from defrag import _native
from defrag._native import PpdSparseOptions, ProxmlOptions
from defrag._parameters import VERBOSE, Choice, Float, Int
from defrag.classifiers.one_vs_rest import OneVsRest

if TYPE_CHECKING:
    from defrag.typing import Csr, Progress, Seed

__all__ = ["PPDSparse", "ProXML"]

# --- PPDSparse: one-vs-rest with an L1 penalty and active points.


class PPDSparse(OneVsRest):
    """Sparse classifiers from positives and hard negatives (Yen et al., 2017).

    Minimises the squared hinge loss with L2 and L1 regularisers in the dual, over the positives
    of a label and the negatives with a positive loss, then once more without L1 over the
    remaining weights. Sixteen labels share their active points, so that the search for
    negatives is exact. Every label starts with its positives only: a constant offset of about
    -1 replaces the random negatives of the publication.

    Parameters
    ----------
    l1 : float, default=0.05
        L1 penalty; a larger one leaves fewer weights.
    C : float, default=1.0
        Weight of the loss relative to the regularisers.
    max_rounds : int, default=3
        Number of rounds of two passes over the active points, which are updated in between.
    weight_threshold : float, default=0.01
        Weights up to this absolute value are dropped.
    batch_size : int, default=1024
        Number of labels that are trained together, rounded up to a multiple of 16. It bounds
        the memory of training and does not change the result.
    random_state : int, RandomState, Generator or None, default=None
        Seed; an int gives the same model for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all.
    verbose : bool or int, default=0
        Whether to show progress bars on a terminal.

    Attributes
    ----------
    weights_ : FlatWeights
        The classifiers of the labels with points.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

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

    def __init__(
        self,
        l1: float = 0.05,
        *,
        C: float = 1.0,
        max_rounds: int = 3,
        weight_threshold: float = 0.01,
        batch_size: int = 1024,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.l1 = l1
        self.C = C
        self.max_rounds = max_rounds
        self.weight_threshold = weight_threshold
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    seconds_per_step = 6.5e-9

    parameter_rules: ClassVar[dict[str, Any]] = {
        "l1": Float(0.0),
        "C": Float(0.0, open_low=True),
        "max_rounds": Int(2, 30),
        "weight_threshold": Float(0.0),
        "batch_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": VERBOSE,
    }

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
        threads = _native.n_threads(self.n_jobs)
        weights = _native.train_ppd_sparse(
            X, positives, options, first=first, n_threads=threads, progress=progress
        )
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

    Parameters
    ----------
    l1 : float, default=0.1
        L1 penalty; a larger one leaves fewer weights.
    C : float, default=1.0
        Weight of the loss relative to the penalty.
    solution : {"early", "minimum"}, default="early"
        The solution.
    tol : float, default=0.01
        For ``solution="minimum"``: a label stops when the relative decrease of its objective is
        below this in two consecutive rounds, or after 50 rounds.
    batch_size : int, default=8192
        Number of labels that are trained together, rounded up to a multiple of 16. It bounds
        the memory of training and does not change the result.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order of the points, for ``solution="early"``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all.
    verbose : bool or int, default=0
        Whether to show progress bars on a terminal.

    Attributes
    ----------
    weights_ : FlatWeights
        The classifiers of the labels with points.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

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
