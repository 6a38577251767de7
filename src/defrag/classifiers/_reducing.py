"""Base class of composites whose base works on transformed points."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from defrag._progress import progress_stage
from defrag.classifiers._composite import Composite

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.typing import Csr

__all__ = ["Reducing"]


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
