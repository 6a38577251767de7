"""Classifiers on agglomerated features, as in the ensembles of the paper.

Every member has a clustering of its own: what one clustering merges, another keeps apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from defrag import _native
from defrag._parameters import Choice, fitted, param
from defrag._scikit import clone
from defrag.agglomeration._clustering import FeatureClustering
from defrag.agglomeration.defrag import Hybrid
from defrag.classifiers._answers import best_labels
from defrag.classifiers._composite import Reducing, check_part
from defrag.classifiers._support import Cost
from defrag.classifiers.label_tree import LabelTree
from defrag.explain.explainers import Averaged, Transformed, members_that_found
from defrag.explain.parts import shares_of_groups
from defrag.persistence.fields import Part, State
from defrag.persistence.kinds import Child, Unfitted
from defrag.trees import member_seeds

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from defrag.classifiers._base import Classifier
    from defrag.explain.explainers import Explainer
    from defrag.typing import Csr, Floats, Ids

# For clustering and pooling.
_SECONDS_PER_NON_ZERO = 8e-8


def _match_members(part: Part, model: Agglomerated) -> None:
    """Check that the members in a file match, and set them."""
    poolings, bases = part.children["agglomerations"], part.children["bases"]
    if len(poolings) != len(bases) or not bases:
        part.fail(f"children '{part.prefix}agglomerations' and 'bases' must be equally many, "
                  f"at least one, got {len(poolings)} and {len(bases)}")  # fmt: skip
    model.members_ = list(zip(poolings, bases, strict=True))
    for number, (groups, base) in enumerate(model.members_):
        for what, got, wanted in (
            (f"agglomerations/{number}' must have the features", groups.n_features_in_,
             model.n_features_in_),
            (f"bases/{number}' must have the groups", base.n_features_in_, groups.n_clusters_),
            (f"bases/{number}' must have the labels", base.n_labels_, model.n_labels_),
        ):  # fmt: skip
            if got != wanted:
                part.fail(f"model '{part.prefix}{what} of its ensemble ({wanted}), got {got}")


class Agglomerated(Reducing):
    """Train a classifier on groups of features, one clustering per member.

    If the base is an ensemble, every member has an independent clustering, as in the paper:
    features that are merged in one clustering are separate in another.

    See Also
    --------
    Hybrid : The recommended agglomeration.
    Defrag : The agglomeration of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Agglomerated, Defrag
    >>> from defrag.baselines import Parabel
    >>> X = np.kron(np.eye(4), np.ones((3, 4)))
    >>> Y = np.repeat([0, 1, 2, 3], 3)
    >>> model = Agglomerated(Parabel(n_trees=2), Defrag(max_cluster_size=4), random_state=0)
    >>> model.fit(X, Y).predict(X[::3]).tolist()
    [0, 1, 2, 3]
    """

    agglomeration: FeatureClustering | None = param(
        doc="The clustering of features.",
        default=None,
        kind="Defrag, Hybrid or one of defrag.baselines, default=Hybrid()",
        kw_only=False,
    )
    per_member: bool = param(
        Choice((True, False)),
        "Whether every member has its own clustering, or all share one, as with ``Tight``.",
        default=True,
    )

    members_: list[tuple[FeatureClustering, Classifier]] = fitted(
        "list of (clustering, classifier)", "The fitted pairs."
    )

    _state = State(
        Child(
            of=("clustering",),
            many=True,
            optional=True,
            name="agglomerations",
            get=lambda model: [groups for groups, _ in model.members_],
        ),
        Child(
            many=True,
            optional=True,
            name="bases",
            get=lambda model: [base for _, base in model.members_],
        ),
        finish=_match_members,
        parameters={"agglomeration": Unfitted(("clustering",))},
    )

    def _default_parts(self) -> dict[str, Callable[[], Any]]:
        return {**super()._default_parts(), "agglomeration": Hybrid}

    def _unfitted_members(self, seed: int) -> list[Classifier]:
        """Return the members of the base, or the base itself."""
        base = self._unfitted_base()
        base._check_parameters()  # n_members is derived from parameters
        n_members = self._n_clusterings()
        make = base._as_member if n_members > 1 else partial(clone, base)
        seeds = member_seeds(seed, n_members)
        return [make().set_params(random_state=own, n_jobs=self.n_jobs) for own in seeds]

    def _unfitted_clustering(self) -> FeatureClustering:
        agglomeration = Hybrid() if self.agglomeration is None else self.agglomeration
        check_part(self, "agglomeration", agglomeration, FeatureClustering)
        return agglomeration

    def _n_clusterings(self) -> int:
        """Return the number of clusterings: one for every member of the base, or one for all."""
        differ = self.per_member and self._unfitted_clustering()._differs_by_seed
        return self._unfitted_base()._n_members if differ else 1

    def _fit_reduction(self, X: Csr, Y: Csr, seed: int) -> FeatureClustering:
        own: FeatureClustering = clone(self._unfitted_clustering())
        own.set_params(random_state=seed, n_jobs=self.n_jobs)
        return own._fit_canonical(X, Y)

    def _reduce(self, reduction: FeatureClustering, X: Csr) -> Csr:
        """Pool the features of each group."""
        return reduction._apply(X)

    def _reduced_width(self, reduction: FeatureClustering, n_features: int) -> int:  # noqa: ARG002
        """Return the number of groups."""
        return reduction.n_clusters_

    def _set_members(self, members: list[tuple[FeatureClustering, Classifier]]) -> None:
        self.members_ = members

    def _default_base(self) -> Classifier:
        return LabelTree()

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        return self._average(self._answers(X, k, exhaustive=exhaustive), k)

    def _average(self, answers: list[tuple[Ids, Floats]], k: int) -> tuple[Ids, Floats]:
        if len(answers) == 1:
            return answers[0]
        return _native.average_trees(answers, k=k, n_threads=self._threads)

    def _answers(self, X: Csr, k: int, *, exhaustive: bool) -> list[tuple[Ids, Floats]]:
        """Return the best labels of each member."""
        n_ranked = self._n_ranked(k)
        return [
            model._rank(groups._apply(X), n_ranked, exhaustive=exhaustive)
            for groups, model in self.members_
        ]

    def _n_ranked(self, k: int) -> int:
        """Return the number of labels that each member ranks."""
        if len(self.members_) == 1:
            return k
        return min(max(k, self._labels_per_member), self.n_labels_)

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:
        """Return an explainer that divides contributions of groups among their features."""
        alone = len(self.members_) == 1
        answers = [] if row is None or alone else self._answers(row, k, exhaustive=False)
        return self._explainer_of(row, labels, k, answers)

    def _explain_best(self, row: Csr, n: int, k: int) -> tuple[Ids, Explainer]:
        if len(self.members_) == 1:
            ((groups, model),) = self.members_
            pooled = groups._apply(row)
            labels, inner = model._explain_best(pooled, n, k)
            return labels, _of_groups(groups, inner, row, pooled)
        answers = self._answers(row, k, exhaustive=False)
        labels = best_labels(self._average(answers, k)[0], n)
        return labels, self._explainer_of(row, labels, k, answers)

    def _explainer_of(
        self, row: Csr | None, labels: Ids, k: int, answers: list[tuple[Ids, Floats]]
    ) -> Explainer:
        """Return an explainer of the members that found each label, or of all members."""
        parts = []
        for groups, model in self.members_:
            pooled = None if row is None else groups._apply(row)
            inner = model._explainer(pooled, labels, self._n_ranked(k))
            parts.append(_of_groups(groups, inner, row, pooled))
        if len(parts) == 1:
            return parts[0]
        if not answers:
            return Averaged.of_all(parts, len(labels))
        return Averaged(parts, *members_that_found([ranked for ranked, _ in answers], labels))

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of the base and of a clustering per member."""
        pooling = Cost(self._n_clusterings() * X.nnz * _SECONDS_PER_NON_ZERO, 0.0)
        return self._unfitted_base()._training_cost(X, Y) + pooling

    def _fitted_parts(self) -> list[BaseEstimator]:
        return [part for member in getattr(self, "members_", []) for part in member]

    def _max_ranked(self) -> int:
        return min(self.n_labels_, sum(model._max_ranked() for _, model in self.members_))


def _of_groups(
    groups: FeatureClustering, inner: Explainer, row: Csr | None, pooled: Csr | None
) -> Explainer:
    known = None if row is None or pooled is None else (row, pooled)
    shares = partial(shares_of_groups, groups.labels_)
    return Transformed(inner, groups._apply, shares, known=known)
