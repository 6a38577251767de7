"""Base class of composites whose base works on transformed points."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from defrag._progress import progress_stage
from defrag.classifiers._composite import Composite
from defrag.explain.explainers import Transformed

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.explain.explainers import Explainer
    from defrag.explain.shares import Shares
    from defrag.typing import Csr, Floats, Ids

__all__ = ["Reducing", "Transforming"]


class Reducing(Composite):
    """Base class of classifiers on points that another estimator has transformed.

    A model has one or more members, each of which is a fitted reduction and a classifier.
    """

    @abstractmethod
    def fit_reduction(self, X: Csr, Y: Csr, seed: int) -> Any:
        """Return the fitted reduction of a member."""

    @abstractmethod
    def reduce(self, reduction: Any, X: Csr) -> Csr:
        """Return the points that the classifier of a member is trained on."""

    def reduced_width(self, reduction: Any, n_features: int) -> int:  # noqa: ARG002 - of subclasses
        """Return the number of features of the reduced points."""
        return n_features

    @abstractmethod
    def set_members(self, members: list[tuple[Any, Classifier]]) -> None:
        """Set the fitted attributes from reductions and classifiers."""

    def unfitted_members(self, seed: int) -> list[Classifier]:
        """Return the classifiers of the members, with their seeds as ``random_state``."""
        base: Classifier = clone(self.unfitted_base())
        return [base.set_params(random_state=seed, n_jobs=self.n_jobs)]

    def _train(self, X: Csr, Y: Csr, seed: int) -> None:
        members = []
        bases = self.unfitted_members(seed)
        for number, base in enumerate(bases):
            stage = f"{base.member_noun} {number + 1} of {len(bases)}"
            with progress_stage(stage) if len(bases) > 1 else nullcontext():
                reduction = self.fit_reduction(X, Y, base.random_state)  # type: ignore[arg-type]
                model = base.fit_canonical(self.reduce(reduction, X), Y)
            members.append((reduction, model))
        self.set_members(members)


class Transforming(Reducing):
    """Base class of composites with one member, whose base predicts on transformed rows."""

    base_: Classifier

    @abstractmethod
    def transformed(self, X: Csr) -> Csr:
        """Return the rows that the base predicts on."""

    @abstractmethod
    def shares(self, row: Csr, transformed: Csr) -> Shares:
        """Return the shares of the entries of a row in those of the transformed row."""

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        return self.base_.rank(self.transformed(X), k, exhaustive=exhaustive)

    def explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:
        """Return an explainer that divides contributions among the entries they come from."""
        transformed = None if row is None else self.transformed(row)
        return self._explainer(self.base_.explainer(transformed, labels, k), row, transformed)

    def explain_best(self, row: Csr, n: int, k: int) -> tuple[Ids, Explainer]:
        """Return the best labels and an explainer; see :meth:`Classifier.explain_best`."""
        transformed = self.transformed(row)
        labels, inner = self.base_.explain_best(transformed, n, k)
        return labels, self._explainer(inner, row, transformed)

    def _explainer(self, inner: Explainer, row: Csr | None, transformed: Csr | None) -> Explainer:
        known = None if row is None or transformed is None else (row, transformed)
        return Transformed(inner, self.transformed, self.shares, known=known)
