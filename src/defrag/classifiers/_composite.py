"""Base class of classifiers around another classifier."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import clone

from defrag.classifiers._base import Classifier

if TYPE_CHECKING:
    from defrag._estimator import Estimator
    from defrag.classifiers._division import Arrays
    from defrag.typing import Csr

__all__ = ["Composite", "Wrapping", "check_part"]


def check_part(owner: Estimator, name: str, part: Any, kind: type[Any]) -> None:
    """Raise ValueError unless a part of a composite has the required type."""
    if not isinstance(part, kind):
        raise ValueError(  # noqa: TRY004 - scikit-learn requires a ValueError
            f"{name} of {type(owner).__name__} must be a {kind.__name__}, got {part!r}"
        )


class Composite(Classifier):
    """Base class of classifiers around another classifier, their ``base``.

    A subclass trains the base with :meth:`fit_base`; if it has other parts, ``part_names`` lists
    the attributes of all of them.
    """

    part_names: ClassVar[tuple[str, ...]] = ("base_",)
    base: Classifier | None
    base_: Classifier

    @abstractmethod
    def default_base(self) -> Classifier:
        """Return the base that is used if ``base`` is None."""

    def unfitted_base(self) -> Classifier:
        """Return the given or the default base.

        Raises
        ------
        ValueError
            If it is not a classifier of this library.
        """
        base = self.default_base() if self.base is None else self.base
        check_part(self, "base", base, Classifier)
        return base

    def check_parameters(self) -> None:
        """Raise ValueError unless parameters obey their rules and the base is a classifier."""
        super().check_parameters()
        self.unfitted_base()

    def fit_base(self, X: Csr, Y: Csr, seed: int) -> Classifier:
        """Return a copy of the base, trained with the seed and the threads of the composite."""
        return self.copy_of_base(seed).fit_canonical(X, Y)

    def copy_of_base(self, seed: int) -> Classifier:
        """Return an unfitted copy of the base with the seed and the threads of the composite."""
        model: Classifier = clone(self.unfitted_base())
        model.set_params(random_state=seed, n_jobs=self.n_jobs)
        return model

    def max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`rank` can find for a point."""
        return self.base_.max_ranked()


class Wrapping(Composite):
    """Base class of composites that train their base once, on unchanged points.

    Everything else is learnt either from the data alone, before the base is trained, or
    afterwards with the trained base. The base can therefore be trained in another process.
    """

    needs_points: ClassVar[bool] = False
    """Whether :meth:`learn_last` needs the points."""

    def trains_once(self) -> bool:
        """Return whether the base is trained once with these parameters."""
        return True

    def learn_first(self, X: Csr, Y: Csr, seed: int) -> Arrays:  # noqa: ARG002 - of subclasses
        """Return the arrays that are learnt from the data without the base."""
        return {}

    @abstractmethod
    def learn_last(self, data: tuple[Csr, Csr] | None, seed: int, learnt: Arrays) -> None:
        """Set the fitted attributes, given ``base_`` and the result of :meth:`learn_first`.

        Parameters
        ----------
        data : (csr_array, csr_array) or None
            Points and labels; None only if ``needs_points`` is False.
        seed : int
            Seed of the training.
        learnt : dict of arrays
            The result of :meth:`learn_first`.
        """

    def _train(self, X: Csr, Y: Csr, seed: int) -> None:
        learnt = self.learn_first(X, Y, seed)
        self.base_ = self.fit_base(X, Y, seed)
        self.learn_last((X, Y), seed, learnt)
