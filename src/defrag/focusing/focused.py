"""A classifier on the important entries of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import clone

from defrag._parameters import Int
from defrag.classifiers import LabelTree
from defrag.classifiers._composite import check_part
from defrag.classifiers._cost import Cost
from defrag.classifiers._reducing import Transforming
from defrag.explain.shares import EntryShares, shares_of_kept
from defrag.focusing.focus import Focus

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.typing import Csr, Seed

__all__ = ["Focused"]

# For the pilot and the selection.
_SECONDS_PER_NON_ZERO = 3e-8


class Focused(Transforming):
    """Train a classifier, and predict, on points that are reduced by :class:`Focus`.

    All members of an ensemble share one pilot.

    Parameters
    ----------
    base : classifier, default=LabelTree()
        Any classifier of this library.
    focus : Focus, default=Focus()
        The reduction.
    random_state : int, RandomState, Generator or None, default=None
        Seed; overrides those of ``base`` and ``focus``.
    n_jobs : int, optional
        Number of threads; overrides those of ``base`` and ``focus``.

    Attributes
    ----------
    base_ : classifier
        The base classifier, trained on reduced points.
    focus_ : Focus
        The fitted reduction.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    Agglomerated : Fewer features, for smaller models.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Focused, LabelTree
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = np.repeat(["a", "b", "c"], 4)
    >>> Focused(LabelTree(), random_state=0).fit(X, Y).predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        base: Classifier | None = None,
        focus: Focus | None = None,
        *,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.base = base
        self.focus = focus
        self.random_state = random_state
        self.n_jobs = n_jobs

    parameter_rules: ClassVar[dict[str, Any]] = {"n_jobs": Int(none=True)}
    part_names = ("base_", "focus_")

    def fit_reduction(self, X: Csr, Y: Csr, seed: int) -> Focus:
        """Return the fitted focus."""
        focus = Focus() if self.focus is None else self.focus
        check_part(self, "focus", focus, Focus)
        own: Focus = clone(focus).set_params(random_state=seed, n_jobs=self.n_jobs)
        return own.fit_canonical(X, Y)

    def reduce(self, reduction: Focus, X: Csr) -> Csr:
        """Return the important entries of points."""
        return reduction.select(X)

    def set_members(self, members: list[tuple[Focus, Classifier]]) -> None:
        """Set the fitted parts."""
        ((self.focus_, self.base_),) = members

    def default_base(self) -> Classifier:
        """Return a ``LabelTree`` with one tree."""
        return LabelTree()

    def training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of the pilot and, as an upper bound, of the base on all entries."""
        pilot = Cost(X.nnz * _SECONDS_PER_NON_ZERO, 12.0 * X.nnz)
        return self.unfitted_base().training_cost(X, Y) + pilot

    @property
    def ranks_kernel_rows(self) -> bool:
        """Whether the base accepts ``KernelRows``, as the focus does."""
        return self.base_.ranks_kernel_rows

    def transformed(self, X: Csr) -> Csr:
        """Return the important entries of rows."""
        return self.focus_.select(X)

    def shares(self, row: Csr, transformed: Csr) -> EntryShares:
        """Return the shares of entries: 1 if they are kept, otherwise 0."""
        return shares_of_kept(row, transformed)
