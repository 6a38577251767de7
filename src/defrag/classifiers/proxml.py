"""ProXML: one-vs-rest with an L1 penalty alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from defrag import _native
from defrag._native import ProxmlOptions
from defrag._validation import Float, Int
from defrag.classifiers.one_vs_rest import OneVsRest

if TYPE_CHECKING:
    from defrag.typing import Csr, Progress, Seed

__all__ = ["ProXML"]


class ProXML(OneVsRest):
    """Few weights per label by proximal steps (Babbar and Schoelkopf, 2019).

    The squared hinge with an L1 penalty, which suits labels of few points: a rare label ends
    with some dozens of weights. Published with proximal gradient over all points and features;
    here a label works on the points with a loss and the features with a gradient above the
    penalty, chosen anew in every round from all of them, and lowers the same objective.

    Parameters
    ----------
    l1 : float, default=0.1
        The L1 penalty; a higher one leaves fewer weights.
    C : float, default=1.0
        Weight of the losses against the penalty.
    max_rounds : int, default=50
        The most rounds of a label.
    tol : float, default=0.01
        A label is done when two rounds in a row lower its objective by less than this share.
    batch_size : int, default=8192
        Labels that are trained before the next ones are begun, rounded up to a multiple of
        16. It bounds the memory of training and changes no result.
    random_state : int, RandomState, Generator or None, default=None
        Unused: nothing here is random.
    n_jobs : int, optional
        Threads, as in scikit-learn; -1 for all.
    verbose : int, default=0
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
    >>> labels, scores = ProXML().fit(X, Y).predict_topk(X[3:5], k=1)
    >>> labels.ravel()
    array([0, 1], dtype=int32)
    """

    def __init__(
        self,
        l1: float = 0.1,
        *,
        C: float = 1.0,
        max_rounds: int = 50,
        tol: float = 0.01,
        batch_size: int = 8192,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.l1 = l1
        self.C = C
        self.max_rounds = max_rounds
        self.tol = tol
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _rules: ClassVar[dict[str, Any]] = {
        "l1": Float(0.0),
        "C": Float(0.0, open_low=True),
        "max_rounds": Int(1),
        "tol": Float(0.0),
        "batch_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": Int(0),
    }

    def _solve(
        self,
        X: Csr,
        positives: Csr,
        *,
        first: int,  # noqa: ARG002 - nothing is random
        seed: int,  # noqa: ARG002 - likewise
        progress: Progress | None,
    ) -> Csr:
        options = ProxmlOptions(
            cost=self.C, l1=self.l1, max_rounds=self.max_rounds, tolerance=self.tol
        )
        threads = _native.n_threads(self.n_jobs)
        return _native.train_proxml(
            X, positives, options, n_threads=threads, progress=progress
        ).weights
