"""Classifiers around another classifier: what Refrag, Imputed, Focused and the like share.

A composite trains and asks its parts through the underscore methods of
:class:`~defrag.classifiers._base.Classifier`, with matrices that are checked once. Which base class
fits depends on what ``defrag.distributed`` may do: train the base elsewhere (:class:`Wrapping`), or
fit the reductions in the plan and the members elsewhere (:class:`Reducing`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar

from defrag._estimator import Estimator
from defrag._parameters import fitted, param
from defrag._progress import progress_stage
from defrag._scikit import clone
from defrag._scratch import Arrays, kept_rows
from defrag.classifiers._base import Classifier
from defrag.classifiers._following import Shapes
from defrag.explain.explainers import Explainer, Transformed
from defrag.explain.parts import Shares
from defrag.persistence.fields import State
from defrag.persistence.kinds import Child, Unfitted
from defrag.typing import Csr, Floats, Ids, Seed


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

    _part_names: ClassVar[tuple[str, ...]] = ("base_",)

    base: Classifier | None = param(
        doc="Any classifier of this library.",
        kind="classifier, default=LabelTree()",
        default=None,
        kw_only=False,
    )
    random_state: Seed = param(doc="Seed; overrides those of the parts.", default=None)
    n_jobs: int | None = param(
        doc="Number of threads, as in scikit-learn; overrides those of the parts.", default=None
    )

    base_: Classifier = fitted("classifier", "The base, trained.")

    _state = State(parameters={"base": Unfitted()})

    @abstractmethod
    def _default_base(self) -> Classifier:
        """Return the base that is used if ``base`` is None."""

    def _default_parts(self) -> dict[str, Callable[[], Any]]:
        return {"base": self._default_base}

    def _unfitted_base(self) -> Classifier:
        """Return the given or the default base.

        - Raises ValueError if it is not a classifier of this library.
        """
        base = self._default_base() if self.base is None else self.base
        check_part(self, "base", base, Classifier)
        return base

    def _check_parameters(self) -> None:
        """Raise ValueError unless parameters obey their rules and the base is a classifier."""
        super()._check_parameters()
        self._unfitted_base()

    def _fit_base(self, X: Csr, Y: Csr, seed: int, shapes: Shapes | None = None) -> Classifier:
        """Return a copy of the base, trained with the seed and the threads of the composite."""
        return self._copy_of_base(seed)._fit_canonical(X, Y, shapes)

    def _copy_of_base(self, seed: int) -> Classifier:
        """Return an unfitted copy of the base with the seed and the threads of the composite."""
        model: Classifier = clone(self._unfitted_base())
        model.set_params(random_state=seed, n_jobs=self.n_jobs)
        return model

    def _max_ranked(self) -> int:
        return self.base_._max_ranked()


BASE = Child("base_", features="n_features", labels="n_labels")
"""The declaration of a fitted base with the features and labels of its owner."""


class Wrapping(Composite):
    """Base class of composites that train their base once, on unchanged points.

    Everything else is learnt either from the data alone, before the base is trained, or
    afterwards with the trained base. The base can therefore be trained in another process.
    """

    _needs_points: ClassVar[bool] = False
    """Whether :meth:`learn_last` needs the points."""

    def _trains_once(self) -> bool:
        """Return whether the base is trained once with these parameters."""
        return True

    def _learn_first(self, X: Csr, Y: Csr, seed: int) -> Arrays:  # noqa: ARG002 - of subclasses
        """Return the arrays that are learnt from the data without the base."""
        return {}

    @abstractmethod
    def _learn_last(self, data: tuple[Csr, Csr] | None, seed: int, learnt: Arrays) -> None:
        """Set the fitted attributes, given ``base_`` and the result of :meth:`learn_first`.

        - ``data`` ((csr_array, csr_array) or None): points and labels; None only if
          ``needs_points`` is False.
        - ``learnt``: the result of :meth:`learn_first`.
        """

    def _train(self, X: Csr, Y: Csr, seed: int, shapes: Shapes | None = None) -> None:
        learnt = self._learn_first(X, Y, seed)
        self.base_ = self._fit_base(X, Y, seed, shapes)
        self._learn_last((X, Y), seed, learnt)


# --- Base class of composites whose base works on transformed points.


class Reducing(Composite):
    """Base class of classifiers on points that another estimator has transformed.

    A model has one or more members, each of which is a fitted reduction and a classifier.
    """

    @abstractmethod
    def _fit_reduction(self, X: Csr, Y: Csr, seed: int) -> Any:
        """Return the fitted reduction of a member."""

    @abstractmethod
    def _reduce(self, reduction: Any, X: Csr) -> Csr:
        """Return the points that the classifier of a member is trained on."""

    def _reduced_width(self, reduction: Any, n_features: int) -> int:  # noqa: ARG002 - of subclasses
        """Return the number of features of the reduced points."""
        return n_features

    @abstractmethod
    def _set_members(self, members: list[tuple[Any, Classifier]]) -> None:
        """Set the fitted attributes from reductions and classifiers."""

    def _unfitted_members(self, seed: int) -> list[Classifier]:
        """Return the classifiers of the members, with their seeds as ``random_state``."""
        base: Classifier = clone(self._unfitted_base())
        return [base.set_params(random_state=seed, n_jobs=self.n_jobs)]

    def _takes_weights(self) -> bool:
        """Return whether the base does; reductions have no weights."""
        return self._unfitted_base()._takes_weights()

    def _train(
        self,
        X: Csr,
        Y: Csr,
        seed: int,
        shapes: Shapes | None = None,
        *,
        weights: Floats | None = None,
    ) -> None:
        members = []
        bases = self._unfitted_members(seed)
        for number, base in enumerate(bases):
            stage = f"{base._member_noun} {number + 1} of {len(bases)}"
            with progress_stage(stage) if len(bases) > 1 else nullcontext():
                reduction = self._fit_reduction(X, Y, base.random_state)  # type: ignore[arg-type]
                rows = kept_rows("reduced rows", X.shape[0], partial(self._some, reduction, X))
                model = base._fit_canonical(rows, Y, shapes, weights)
            members.append((reduction, model))
        self._set_members(members)

    def _some(self, reduction: Any, X: Csr, some: slice) -> Csr:
        """Return some of the reduced points."""
        return self._reduce(reduction, X if some == slice(0, X.shape[0]) else X[some])


class Transforming(Reducing):
    """Base class of composites with one member, whose base predicts on transformed rows."""

    @abstractmethod
    def _transformed(self, X: Csr) -> Csr:
        """Return the rows that the base predicts on."""

    @abstractmethod
    def _shares(self, row: Csr, transformed: Csr) -> Shares:
        """Return the shares of the entries of a row in those of the transformed row."""

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        return self.base_._rank(self._transformed(X), k, exhaustive=exhaustive)

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:
        """Return an explainer that divides contributions among the entries they come from."""
        transformed = None if row is None else self._transformed(row)
        return self._explainer_of(self.base_._explainer(transformed, labels, k), row, transformed)

    def _explain_best(self, row: Csr, n: int, k: int) -> tuple[Ids, Explainer]:
        transformed = self._transformed(row)
        labels, inner = self.base_._explain_best(transformed, n, k)
        return labels, self._explainer_of(inner, row, transformed)

    def _explainer_of(
        self, inner: Explainer, row: Csr | None, transformed: Csr | None
    ) -> Explainer:
        known = None if row is None or transformed is None else (row, transformed)
        return Transformed(inner, self._transformed, self._shares, known=known)
