"""DiSMEC: one-vs-rest with the squared hinge loss; small weights are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scipy import sparse

from defrag import _native
from defrag._native import SolverOptions
from defrag._parameters import VERBOSE, Choice, Float, Int
from defrag.classifiers._cost import LANES
from defrag.classifiers.one_vs_rest._base import OneVsRest

if TYPE_CHECKING:
    from defrag.typing import Csr, Progress, Seed

__all__ = ["DiSMEC"]

# Shrinking: a block of labels drops rows without a projected gradient and restores all rows in
# every fourth pass. This takes a third of the time of keeping all rows close to a margin, which
# most rows are, and ends equally close to the optimum; without restoring, it ends 4 to 10% away.
_SHRINK, _RESTORE = -0.01, 4


class DiSMEC(OneVsRest):
    """One linear classifier per label, trained on all points (Babbar and Schoelkopf, 2017).

    Minimises the squared hinge loss with an L2 regulariser and drops small weights. The
    publication uses a Newton method per label; here sixteen labels share the passes over the
    points.

    Parameters
    ----------
    preset : {"fast", "default", "exact"}, default="default"
        Number of passes of the solver over the points: 5, 8, or up to 20 until the projected
        gradients differ by at most 0.1.
    C : float, default=1.0
        Weight of the loss relative to the regulariser.
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
    LabelTree : Many times faster with many labels, slightly less accurate.
    Agglomerated : Classifiers on agglomerated features.

    Notes
    -----
    The score of a label with margin z is 1 / (1 + exp(-z)), which is above one half if the
    margin is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import DiSMEC
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> model = DiSMEC(random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[3:5], k=2)
    >>> labels[:, 0], labels[1]
    (array([0, 1], dtype=int32), array([1, 2], dtype=int32))
    """

    def __init__(
        self,
        preset: str = "default",
        *,
        C: float = 1.0,
        weight_threshold: float = 0.01,
        batch_size: int = 1024,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.preset = preset
        self.C = C
        self.weight_threshold = weight_threshold
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    seconds_per_step = 5.3e-9

    parameter_rules: ClassVar[dict[str, Any]] = {
        "preset": Choice(("fast", "default", "exact")),
        "C": Float(0.0, open_low=True),
        "weight_threshold": Float(0.0),
        "batch_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": VERBOSE,
    }

    def _solve(
        self, X: Csr, positives: Csr, *, first: int, seed: int, progress: Progress | None
    ) -> Csr:
        options = SolverOptions(
            cost=self.C,
            max_passes={"fast": 5, "default": 8, "exact": 20}[self.preset],
            tolerance=0.1 if self.preset == "exact" else 0.0,
            shrink=_SHRINK,
            restore=_RESTORE,
            threshold=self.weight_threshold,
            seed=seed,
        )
        solution = _native.solve_blocks(
            X,
            positives,
            options,
            first_block=first // LANES,
            n_threads=_native.n_threads(self.n_jobs),
            progress=progress,
        )
        bias = sparse.csr_array(solution.bias[None, :])
        return sparse.csr_array(sparse.vstack([solution.weights, bias], format="csr"))
