"""Any classifier on agglomerated features: the paper's ensembles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import clone

from defrag import _native
from defrag._parameters import Choice, Int, check_parameters
from defrag.agglomeration import Hybrid
from defrag.agglomeration._clustering import FeatureClustering
from defrag.classifiers._base import Classifier
from defrag.classifiers.label_trees.label_tree import LabelTree
from defrag.trees.seeds import member_seeds

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from defrag.typing import Csr, Floats, Ids, Seed

__all__ = ["Agglomerated"]


class Agglomerated(Classifier):
    """Train a classifier on groups of features, one clustering per member.

    Where the base is an ensemble (it has ``n_trees``), every member gets an independent
    clustering, as in the paper: what one clustering blurs, another keeps apart. A base
    that is one model gets one clustering.

    Parameters
    ----------
    base : classifier, default=LabelTree()
        Any classifier of this library.
    agglomeration : Defrag, Hybrid or one of defrag.agglomeration.rivals, default=Hybrid()
        How features are grouped.
    per_member : bool, default=True
        Whether every member has a clustering of its own, or all share one.
    random_state : int, RandomState, Generator or None, default=None
        Seed of clusterings and members; it replaces those of ``base`` and
        ``agglomeration``.
    n_jobs : int, optional
        Threads; it replaces those of ``base`` and ``agglomeration``.

    Attributes
    ----------
    members_ : list of (clustering, classifier)
        The fitted pairs.
    classes_ : ndarray
        The classes, or the label ids.
    n_labels_ : int
        How many labels there are.
    n_features_in_ : int
        How many features X had.

    See Also
    --------
    Hybrid : The agglomeration we recommend.
    Defrag : The paper's.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Agglomerated, Defrag, Parabel
    >>> X = np.kron(np.eye(4), np.ones((3, 4)))
    >>> Y = np.repeat([0, 1, 2, 3], 3)
    >>> model = Agglomerated(Parabel(n_trees=2), Defrag(max_cluster_size=4), random_state=0)
    >>> model.fit(X, Y).predict(X[::3]).tolist()
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        base: Classifier | None = None,
        agglomeration: FeatureClustering | None = None,
        *,
        per_member: bool = True,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.base = base
        self.agglomeration = agglomeration
        self.per_member = per_member
        self.random_state = random_state
        self.n_jobs = n_jobs

    _rules: ClassVar[dict[str, Any]] = {
        "per_member": Choice((True, False)),
        "n_jobs": Int(none=True),
    }

    def _train(self, X: Csr, Y: Csr, seed: int) -> None:
        base = LabelTree() if self.base is None else self.base
        agglomeration = Hybrid() if self.agglomeration is None else self.agglomeration
        for name, part, kind in (
            ("base", base, Classifier),
            ("agglomeration", agglomeration, FeatureClustering),
        ):
            if not isinstance(part, kind):
                raise ValueError(  # noqa: TRY004 - scikit-learn's contract wants a ValueError
                    f"{name} of Agglomerated must be a {kind.__name__}, got {part!r}"
                )
        check_parameters(base, base._rules)  # noqa: SLF001 - before n_trees is believed
        n_members = getattr(base, "n_trees", 1) if self.per_member else 1
        settings: dict[str, Any] = {"n_jobs": self.n_jobs}
        members = []
        for member_seed in member_seeds(seed, n_members):
            settings["random_state"] = member_seed
            groups = clone(agglomeration).set_params(**settings).fit(X, Y)
            model = clone(base).set_params(**settings)
            if n_members > 1:
                model.set_params(n_trees=1)
            members.append((groups, model.fit(groups.transform(X), Y)))
        self.members_: list[tuple[FeatureClustering, Classifier]] = members

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        alone = len(self.members_) == 1
        handed_on = k if alone else min(max(k, self._handed_on), self.n_labels_)
        answers = [
            model._rank(groups.transform(X), handed_on, exhaustive=exhaustive)  # noqa: SLF001
            for groups, model in self.members_
        ]
        if alone:
            return answers[0]
        threads = _native.n_threads(self.n_jobs)
        return _native.average_trees(answers, top_k=k, n_threads=threads)

    def _fitted_parts(self) -> list[BaseEstimator]:
        return [part for member in getattr(self, "members_", []) for part in member]

    def _reach(self) -> int:
        reach = sum(model._reach() for _, model in self.members_)  # noqa: SLF001
        return min(self.n_labels_, reach)
