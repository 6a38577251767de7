"""PPDSparse: one-vs-rest with an L1 penalty and active points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scipy import sparse

from defrag import _native
from defrag._native import PpdSparseOptions
from defrag._parameters import VERBOSE, Float, Int
from defrag.classifiers.one_vs_rest._base import OneVsRest

if TYPE_CHECKING:
    from defrag.typing import Csr, Progress, Seed

__all__ = ["PPDSparse"]


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
    >>> from defrag import PPDSparse
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
