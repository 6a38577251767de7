"""Bonsai: shallow, wide and unbalanced label trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._native import SolverOptions
from defrag._parameters import VERBOSE, Choice, Float, Int
from defrag._progress import progress_bar
from defrag.classifiers._base import unit_rows
from defrag.classifiers.label_trees._base import TreeClassifier
from defrag.trees.kary import build_kary_tree

if TYPE_CHECKING:
    from defrag._native import LabelTreeArrays
    from defrag.classifiers.label_trees._base import TreeData
    from defrag.typing import Csr, Ids, Seed

__all__ = ["Bonsai"]


class Bonsai(TreeClassifier):
    """Shallow, unbalanced label trees (Khandagale et al., 2020).

    Labels are clustered by spherical k-means into up to 100 children per node of any size, so
    that similar labels stay together and errors accumulate over few levels. The label of a
    cluster of size one moves to its second best cluster. Labels that are not similar to any
    centre join the smallest cluster (in the published program, the first).

    Parameters
    ----------
    n_trees : int, default=3
        Number of trees that are averaged.
    arity : int, default=100
        Maximum number of children; a node with at most this many labels is a leaf.
    max_depth : int, default=2
        Maximum number of nodes on a path from the root to a leaf, both included; use 3 for
        more than about 50,000 labels.
    label_representation : {"x", "y", "xy"}, default="x"
        Vector of a label for clustering: the sum of its points, its co-occurrences with other
        labels, or both.
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
    LabelTree : Balanced wide trees.
    Parabel : Balanced binary trees, as published.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Bonsai
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> model = Bonsai(arity=2, random_state=0).fit(X, np.repeat(["a", "b", "c"], 4))
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        n_trees: int = 3,
        *,
        arity: int = 100,
        max_depth: int = 2,
        label_representation: str = "x",
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
        self.arity = arity
        self.max_depth = max_depth
        self.label_representation = label_representation
        self.C = C
        self.weight_threshold = weight_threshold
        self.max_passes = max_passes
        self.tol = tol
        self.label_entries = label_entries
        self.beam_size = beam_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    seconds_per_step = 2.7e-8

    parameter_rules: ClassVar[dict[str, Any]] = {
        "n_trees": Int(1),
        "arity": Int(2, 65536),
        "max_depth": Int(1),
        "label_representation": Choice(("x", "y", "xy")),
        "C": Float(0.0, open_low=True),
        "weight_threshold": Float(0.0),
        "max_passes": Int(1),
        "tol": Float(0.0),
        "label_entries": Int(0),
        "beam_size": Int(1),
        "n_jobs": Int(none=True),
        "verbose": VERBOSE,
    }
    _discount: ClassVar[float] = 0.98

    def _widths(self) -> tuple[int, int, int]:
        return self.arity, self.arity, self.arity

    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        with progress_bar("clustering labels", enabled=self.verbose > 0) as progress:
            return build_kary_tree(
                vectors,
                seen,
                arity=self.arity,
                max_depth=self.max_depth,
                seed=seed,
                n_threads=_native.n_threads(self.n_jobs),
                progress=progress,
            )

    def _label_vectors(self, data: TreeData, seen: Ids) -> Csr:
        threads = _native.n_threads(self.n_jobs)
        parts = []
        if "x" in self.label_representation:
            parts.append(super()._label_vectors(data, seen))
        if "y" in self.label_representation:
            Y = data.Y[:, seen]
            parts.append(co_occurrences(Y, max_entries=self.label_entries, n_threads=threads))
        if len(parts) == 1:
            return parts[0]
        both = sparse.csr_array(sparse.hstack(parts, format="csr"))
        both.sort_indices()
        return unit_rows(both, threads)

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


def co_occurrences(Y: Csr, *, max_entries: int, n_threads: int) -> Csr:
    """Return the L2-normalised co-occurrences of each label with the other labels.

    Parameters
    ----------
    Y : csr_array, shape (n_points, n_labels)
        The labels of the points.
    max_entries : int
        Number of entries to keep per label, 0 for all.
    n_threads : int
        Number of threads.
    """
    # One more entry, since a label occurs most often with itself, and that entry is removed.
    kept = max_entries + 1 if max_entries else 0
    counts = _native.multiply(sparse.csr_array(Y.T), Y, max_entries=kept, n_threads=n_threads)
    own = np.repeat(np.arange(Y.shape[1]), np.diff(counts.indptr)) == counts.indices
    counts.data[own] = 0.0
    counts.eliminate_zeros()
    return unit_rows(counts, n_threads)
