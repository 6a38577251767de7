"""PfastreXML: FastXML for rare labels, by propensities and prototypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._parameters import Float, Int
from defrag._propensity import inverse_propensity
from defrag.classifiers._base import labels_with_points
from defrag.classifiers._division import Division
from defrag.classifiers.forests._prototypes import label_means, with_prototypes
from defrag.classifiers.forests.fastxml import FastXML

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag._native import Prototypes
    from defrag.classifiers._division import Arrays, Piece
    from defrag.classifiers.forests._base import ForestData
    from defrag.typing import Csr, Floats, Ids, Seed

__all__ = ["PfastreXML"]


class PfastreXML(FastXML):
    """A forest that favours rare labels (Jain, Prabhu and Varma, 2016).

    The trees are those of :class:`FastXML`, except that labels are weighted by their inverse
    propensities, which are large for rare labels. The labels of the leaves that a point reaches are
    re-ranked by their prototypes, the means of their training points: if t is the mean over the
    leaves times the inverse propensity, and d the squared distance between the point and the
    prototype, the score of a label is proportional to
    ``t ** alpha * (1 + exp(gamma / 2 * d)) ** (alpha - 1)``.

    Parameters
    ----------
    n_trees : int, default=50
        Number of trees that are averaged.
    max_leaf_size : int, default=10
        Maximum number of points in a leaf.
    leaf_labels : int, default=100
        Maximum number of labels that a leaf keeps, the highest weighted means first.
    C : float, default=2.0
        Weight of the logistic loss relative to the L1 penalty of a separator; 1 in the paper.
    alpha : float in [0.001, 1], default=0.9
        Weight of the trees relative to the prototypes; with 1, prototypes have no effect. 0.8 in
        the published program, which finds more rare labels and fewer others.
    gamma : float, default=30
        Decay of the score with the distance from the prototype.
    prototype_entries : int, default=200
        Number of largest entries kept in a prototype; 0 for all.
    A, B : float, default=0.55, 1.5
        Parameters of the propensities; see :func:`defrag.metrics.inverse_propensity`.
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
    prototypes_ : Prototypes
        The prototypes and the weights of the labels.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    FastXML : The same without propensities and prototypes.
    Refrag : Re-ranking by prototypes for any classifier.

    Notes
    -----
    Points and prototypes are compared as unit rows without a bias feature. This is equivalent to
    the published program, which appends the bias before it L2-normalises the rows, which halves
    squared distances, and omits the factor one half of the published formula.
    The score of the best label is the largest mean over the leaves; the scores of the others
    keep their ratio to it.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import PfastreXML
    >>> X = np.kron(np.eye(3), np.ones((12, 2)))
    >>> model = PfastreXML(n_trees=5, random_state=0).fit(X, np.repeat(["a", "b", "c"], 12))
    >>> model.predict(X[::12]).tolist()
    ['a', 'b', 'c']
    """

    normalized_gains: ClassVar[bool] = False
    prototypes_: Prototypes

    def __init__(
        self,
        n_trees: int = 50,
        *,
        max_leaf_size: int = 10,
        leaf_labels: int = 100,
        C: float = 2.0,
        alpha: float = 0.9,
        gamma: float = 30.0,
        prototype_entries: int = 200,
        A: float = 0.55,
        B: float = 1.5,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_trees,
            max_leaf_size=max_leaf_size,
            leaf_labels=leaf_labels,
            C=C,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.alpha = alpha
        self.gamma = gamma
        self.prototype_entries = prototype_entries
        self.A = A
        self.B = B

    parameter_rules: ClassVar[dict[str, Any]] = {
        **FastXML.parameter_rules,
        "alpha": Float(0.001, 1.0),
        "gamma": Float(0.0, 1e6),
        "prototype_entries": Int(0),
        "A": Float(0.0),
        "B": Float(0.0, open_low=True),
    }

    def _label_weights(self, Y: Csr) -> Floats:
        # The formula gives values below 1 for fewer than three points.
        weights = np.maximum(inverse_propensity(Y, self.A, self.B), 1.0)
        return np.asarray(weights / weights.max(), dtype=np.float32)

    def divide(self, data: ForestData, seed: int) -> Division:
        """Return one unit per tree; the outline contains the means of all labels."""
        division = super().divide(data, seed)
        labels = labels_with_points(data.Y)
        means = label_means(
            data.X,
            data.Y,
            labels,
            max_entries=self.prototype_entries,
            n_threads=_native.n_threads(self.n_jobs),
        )
        outline = {
            **division.outline,
            "labels": labels,
            "label_weights": data.label_weights[labels],
            "means/indptr": means.indptr,
            "means/indices": means.indices,
            "means/data": means.data,
        }
        return Division(outline, division.costs)

    def assemble(self, outline: Arrays, pieces: Sequence[Piece]) -> None:
        """Set the forest and the prototypes of its labels."""
        super().assemble(outline, pieces)
        arrays = tuple(outline[f"means/{name}"] for name in ("data", "indices", "indptr"))
        shape = (len(outline["labels"]), self.n_features_in_)
        rows = np.searchsorted(outline["labels"], self.forest_.labels)
        means = sparse.csr_array(arrays, shape=shape)[rows]
        self.forest_, self.prototypes_ = with_prototypes(
            self.forest_, means, outline["label_weights"][rows]
        )

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        threads = _native.n_threads(self.n_jobs)
        return _native.forest_search(
            self.forest_,
            _native.unit_rows(X, n_threads=threads),
            k=k,
            prototypes=self.prototypes_,
            alpha=self.check_parameter("alpha"),
            gamma=self.check_parameter("gamma"),
            n_threads=threads,
        )
