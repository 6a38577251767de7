"""FastXML: trees whose splits optimise the nDCG of label rankings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from defrag import _native
from defrag._native import FastxmlOptions
from defrag._parameters import Float, Int
from defrag.classifiers.forests._base import ForestClassifier

if TYPE_CHECKING:
    from defrag.typing import Csr, Seed

__all__ = ["FastXML"]


class FastXML(ForestClassifier):
    """A forest that splits points by their labels (Prabhu and Varma, 2014).

    A node assigns its points to two sides at random and then alternates two steps: the labels of
    each side are ranked by frequency, with the same total weight for every point, and each point
    moves to the side whose ranking has the higher nDCG for it. A sparse logistic separator is
    then trained to predict the side from the features, and its sign sends points to one of two
    children. A leaf keeps the mean labels of its points; the score of a label is its
    mean over the leaves that a point reaches, one per tree.

    Parameters
    ----------
    n_trees : int, default=50
        Number of trees that are averaged.
    max_leaf_size : int, default=10
        Maximum number of points in a leaf.
    leaf_labels : int, default=100
        Maximum number of labels that a leaf keeps, the highest scores first.
    C : float, default=2.0
        Weight of the logistic loss relative to the L1 penalty of a separator; 1 in the paper.
    random_state : int, RandomState, Generator or None, default=None
        Seed; an int gives the same model for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all.
    verbose : int, default=0
        Whether to show progress bars on a terminal.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    PfastreXML : A variant that favours rare labels.
    LabelTree : Faster, smaller, and more accurate on most data.

    Notes
    -----
    The published program uses points as they are; here they are L2-normalised, as in every
    classifier of this library. Points without labels are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import FastXML
    >>> X = np.kron(np.eye(3), np.ones((12, 2)))
    >>> model = FastXML(n_trees=5, random_state=0).fit(X, np.repeat(["a", "b", "c"], 12))
    >>> model.predict(X[::12]).tolist()
    ['a', 'b', 'c']
    """

    seconds_per_step: ClassVar[float] = 2.5e-8
    train_trees = staticmethod(_native.train_fastxml)
    normalized_gains: ClassVar[bool] = True
    """Whether the sides of a node maximise the nDCG of a point, or its DCG."""

    def __init__(
        self,
        n_trees: int = 50,
        *,
        max_leaf_size: int = 10,
        leaf_labels: int = 100,
        C: float = 2.0,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaf_size = max_leaf_size
        self.leaf_labels = leaf_labels
        self.C = C
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    parameter_rules: ClassVar[dict[str, Any]] = {
        "n_trees": Int(1),
        "max_leaf_size": Int(1),
        "leaf_labels": Int(1),
        "C": Float(0.0, open_low=True),
        "n_jobs": Int(none=True),
        "verbose": Int(0),
    }

    def _options(self, X: Csr) -> FastxmlOptions:  # noqa: ARG002 - the same for all data
        return FastxmlOptions(
            max_leaf_size=self.max_leaf_size,
            leaf_labels=self.leaf_labels,
            cost=self.C,
            normalized=self.normalized_gains,
        )

    def _levels(self, n_leaves: float) -> float:
        return math.log2(n_leaves) + 1
