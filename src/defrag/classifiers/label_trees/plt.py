"""Probabilistic label trees: logistic nodes and exact search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from defrag import _native
from defrag._native import Loss, SolverOptions
from defrag._parameters import VERBOSE, Choice, Float, Int
from defrag.classifiers.label_trees._base import TreeClassifier, cluster_labels
from defrag.trees.balanced import widen_tree

if TYPE_CHECKING:
    from defrag._native import KernelRows, LabelTreeArrays
    from defrag.classifiers.label_trees._base import TrainedTree
    from defrag.typing import Csr, Floats, Ids, Seed

__all__ = ["PLT"]


class PLT(TreeClassifier):
    """Probabilistic label trees (Jasinska et al., 2016).

    A node estimates the probability that a label below it is relevant, given that a label
    below its parent is. The score of a label is the product along its path, an estimate of its
    probability for points with at least one label. Points without labels are not used: they
    would only train a factor at the root, which is the same for all labels.

    Parameters
    ----------
    n_trees : int, default=1
        Number of trees that are averaged.
    arity : int, default=2
        Maximum number of children of a node.
    max_leaf_size : int, default=100
        Maximum number of labels in a leaf.
    C : float, default=10.0
        Weight of the loss relative to the regulariser.
    weight_threshold : float, default=0.1
        Weights up to this absolute value are dropped.
    max_passes : int, default=20
        Maximum number of passes of the solver over the points of a node.
    tol : float, default=1.0
        The solver stops when its projected gradients, at most C, differ by at most this.
    label_entries : int, default=0
        Number of largest entries kept in label vectors for clustering, 0 for all.
    search : {"exact", "beam"}, default="exact"
        Best-first search, which is exact, or beam search, which is faster.
    beam_size : int, default=10
        Number of nodes kept per level of ``search="beam"``.
    random_state : int, RandomState, Generator or None, default=None
        Seed; an int gives the same model for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all.
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
    LabelTree : Faster, and more accurate.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import PLT
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> model = PLT(max_leaf_size=2, random_state=0).fit(X, np.repeat(["a", "b", "c"], 4))
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        n_trees: int = 1,
        *,
        arity: int = 2,
        max_leaf_size: int = 100,
        C: float = 10.0,
        weight_threshold: float = 0.1,
        max_passes: int = 20,
        tol: float = 1.0,
        label_entries: int = 0,
        search: str = "exact",
        beam_size: int = 10,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.arity = arity
        self.max_leaf_size = max_leaf_size
        self.C = C
        self.weight_threshold = weight_threshold
        self.max_passes = max_passes
        self.tol = tol
        self.label_entries = label_entries
        self.search = search
        self.beam_size = beam_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    seconds_per_step = 3.5e-8

    parameter_rules: ClassVar[dict[str, Any]] = {
        "n_trees": Int(1),
        "arity": Int(2, 65536),
        "max_leaf_size": Int(1, 65536),
        "C": Float(0.0, open_low=True),
        "weight_threshold": Float(0.0),
        "max_passes": Int(1),
        "tol": Float(0.0),
        "label_entries": Int(0),
        "search": Choice(("exact", "beam")),
        "beam_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": VERBOSE,
    }

    def _widths(self) -> tuple[int, int, int]:
        return self.arity, self.arity, self.max_leaf_size

    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        binary = cluster_labels(self, vectors, seed, n_leaves=None)
        return widen_tree(binary, seen, arity=self.arity, root_arity=self.arity)

    def _solver(self, seed: int) -> SolverOptions:
        return SolverOptions(
            loss=Loss.logistic,
            cost=self.C,
            bias=1.0,
            offset=False,
            max_passes=self.max_passes,
            tolerance=self.tol,
            threshold=self.weight_threshold,
            seed=seed,
        )

    def _loss(self) -> Loss:
        return Loss.logistic

    def _search(
        self, member: TrainedTree, rows: KernelRows, k: int, *, few: bool, exhaustive: bool
    ) -> tuple[Ids, Floats]:
        if self.check_parameter("search") == "beam":
            return super()._search(member, rows, k, few=few, exhaustive=exhaustive)
        return _native.best_first_search(
            member.tree,
            member.weights,
            rows,
            loss=self._loss(),
            k=k,
            index=member.index if few else None,
            n_threads=_native.n_threads(self.n_jobs),
        )
