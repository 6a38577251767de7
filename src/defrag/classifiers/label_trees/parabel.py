"""Parabel: balanced binary label trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from defrag._native import LabelTreeArrays, SolverOptions
from defrag._parameters import VERBOSE, Float, Int
from defrag.classifiers.label_trees._base import TreeClassifier, cluster_labels
from defrag.trees.balanced import widen_tree

if TYPE_CHECKING:
    from defrag.typing import Csr, Ids, Seed

__all__ = ["Parabel"]


class Parabel(TreeClassifier):
    """Balanced binary label trees (Prabhu et al., 2018).

    Parameters
    ----------
    n_trees : int, default=3
        Number of trees that are averaged.
    max_leaf_size : int, default=100
        Maximum number of labels in a leaf.
    C : float, default=1.0
        Weight of the loss relative to the regulariser.
    weight_threshold : float, default=0.1
        Weights up to this absolute value are dropped.
    max_passes : int, default=20
        Maximum number of passes of the solver over the points of a node.
    tol : float, default=0.1
        The solver stops when its projected gradients differ by at most this.
    label_entries : int, default=0
        Number of largest entries kept in label vectors for clustering, 0 for all.
    beam_size : int, default=10
        Number of nodes kept per level of the search.
    random_state : int, RandomState, Generator or None, default=None
        Seed.
    n_jobs : int, optional
        Number of threads.
    verbose : bool or int, default=0
        Whether to show progress bars on a terminal.

    Attributes
    ----------
    trees_ : list of TrainedTree
        The trees.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    LabelTree : Faster, and at least as accurate.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Parabel
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> model = Parabel(random_state=0).fit(X, np.repeat(["a", "b", "c"], 4))
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        n_trees: int = 3,
        *,
        max_leaf_size: int = 100,
        C: float = 1.0,
        weight_threshold: float = 0.1,
        max_passes: int = 20,
        tol: float = 0.1,
        label_entries: int = 0,
        beam_size: int = 10,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaf_size = max_leaf_size
        self.C = C
        self.weight_threshold = weight_threshold
        self.max_passes = max_passes
        self.tol = tol
        self.label_entries = label_entries
        self.beam_size = beam_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    seconds_per_step = 1.4e-8

    parameter_rules: ClassVar[dict[str, Any]] = {
        "n_trees": Int(1),
        "max_leaf_size": Int(1, 65536),
        "C": Float(0.0, open_low=True),
        "weight_threshold": Float(0.0),
        "max_passes": Int(1),
        "tol": Float(0.0),
        "label_entries": Int(0),
        "beam_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": VERBOSE,
    }

    def _widths(self) -> tuple[int, int, int]:
        return 2, 2, self.max_leaf_size

    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        binary = cluster_labels(self, vectors, seed, n_leaves=None)
        return widen_tree(binary, seen, arity=2, root_arity=2)

    def _solver(self, seed: int) -> SolverOptions:
        return SolverOptions(
            cost=self.C,
            bias=1.0,
            offset=False,
            max_passes=self.max_passes,
            tolerance=self.tol,
            threshold=self.weight_threshold,
            seed=seed,
        )
