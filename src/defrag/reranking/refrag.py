"""Re-ranking for rare labels: REFRAG of the paper, extended by a propensity weight.

The score of a label is ``alpha log b + (1 - alpha) log a + w log q``: b is the score of the
base classifier, a = exp(-gamma (1 - cos)) the similarity of the point and the prototype of the
label, and q the inverse propensity of the label. Unlike in the paper, points and prototypes
are L2-normalised; otherwise the norms of the prototypes would dominate the ranking.
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from defrag import _native
from defrag._parameters import Choice, Float, Int, OrAuto
from defrag._progress import logger, progress_stage
from defrag._propensity import inverse_propensity
from defrag.agglomeration import Defrag
from defrag.agglomeration.co_occurrence import CoOccurrence, find_groups
from defrag.classifiers._base import Classifier, unit_rows
from defrag.classifiers._composite import Wrapping
from defrag.classifiers._cost import Cost
from defrag.classifiers._division import csr_arrays, csr_from_arrays
from defrag.classifiers._following import following_nothing
from defrag.classifiers.label_trees.label_tree import LabelTree
from defrag.exceptions import DataWarning
from defrag.reranking._candidates import Candidates, add_nearest, factors, log_scores, ranked_labels
from defrag.reranking._explain import RerankedExplainer, constants_of
from defrag.reranking._trade_off import Tally, TradeOff, settings_to_try
from defrag.trees.seeds import member_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from defrag.classifiers._division import Arrays
    from defrag.explain.explainers import Explainer
    from defrag.typing import Csr, Floats, Ids, Seed

__all__ = ["Refrag"]

# Estimated times on one thread: ranking a candidate by one setting, and clustering the features,
# per non-zero of X.
_SECONDS_PER_CANDIDATE = 1.2e-8
_SECONDS_PER_CLUSTERED_NON_ZERO = 6e-7


class Refrag(Wrapping):
    """Re-rank the best labels of a classifier, so that rare labels are found more often.

    Every label has a prototype, the mean of its training points, and an inverse propensity,
    which is large for rare labels. Both raise labels that the base classifier scores too low
    because it has seen few of their points; P@1 falls. With ``"auto"``, the trade-off is
    measured on held-out training points, for which the base is trained again, and the setting
    with the best ``target`` is chosen among those that lose at most ``max_loss`` of ``guard``,
    including three standard errors, so that the limit also holds on other points.

    Parameters
    ----------
    base : classifier, default=LabelTree(n_trees=3)
        Any classifier of this library.
    co_occurrence : {"identity", "cosine", "block"}, default="identity"
        Prototypes are plain means, or multiplied by the pseudo co-occurrence of the features,
        as cosines or, as in the paper, raw. Co-occurrence costs more and was not better than
        plain means on any data set that was tried.
    alpha : float in [0.001, 1] or "auto", default=0.8
        Weight of the base relative to the prototypes.
    gamma : float or "auto", default="auto"
        Decay of the score with the distance from the prototype; 30 in PfastreXML. With 0,
        prototypes are not used.
    propensity_weight : float or "auto", default="auto"
        Exponent of the inverse propensity in the score.
    target : {"PSP@1", "PSP@3", "PSP@5"}, default="PSP@3"
        Metric that "auto" maximises.
    guard : {"P@1", "P@3", "P@5"}, default="P@1"
        Metric whose loss is limited.
    max_loss : float, default=0.5
        Maximum loss of ``guard``, in points.
    candidates : int, default=50
        Number of labels of the base that are re-ranked.
    widen : int, default=0
        Number of labels with the nearest prototypes that are added to the candidates, with the
        lowest score of these.
    prototype_entries : int, default=500
        Number of largest entries kept in a prototype; 0 for all.
    agglomeration : Defrag, optional
        The clustering of features for blocks; default: that of the paper, on all points.
    n_clusterings : int, default=3
        Number of clusterings, over which blocks are averaged.
    A, B : float, default=0.55, 1.5
        Parameters of the propensities; see :func:`defrag.metrics.inverse_propensity`.
    held_out : float, default=0.2
        Fraction of the training points that is held out in each round of "auto".
    held_out_rows : int, default=10000
        Rounds are repeated with other points until this many, or all, have been held out.
    random_state : int, RandomState, Generator or None, default=None
        Seed; overrides that of ``base``.
    n_jobs : int, optional
        Number of threads; overrides that of ``base``.

    Attributes
    ----------
    base_ : classifier
        The base, trained on all points.
    alpha_, gamma_, propensity_weight_ : float
        The given or chosen values.
    trade_off_ : TradeOff or None
        All settings that "auto" tried, with their metrics, which prints as a table; None
        without "auto".
    prototypes_ : csr_array, shape (n_labels, n_features)
        Unit prototypes, zero for labels without points.
    bonus_ : ndarray of float32, shape (n_labels,)
        Logarithms of the inverse propensities, 0 for labels without points.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    defrag.metrics.evaluate : PSP and coverage, the metrics of rare labels.

    Notes
    -----
    The best label of a point gets the best score of the base; a label whose sum is lower by t
    gets a score that is lower by the factor exp(-t / alpha). With ``gamma=0`` or
    ``alpha=1`` and ``propensity_weight=0`` these are the scores of the base.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Parabel, Refrag
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = np.repeat(["a", "b", "c"], 4)
    >>> model = Refrag(Parabel(1), gamma=30, propensity_weight=0.5, random_state=0).fit(X, Y)
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        base: Classifier | None = None,
        *,
        co_occurrence: str = "identity",
        alpha: float | str = 0.8,
        gamma: float | str = "auto",
        propensity_weight: float | str = "auto",
        target: str = "PSP@3",
        guard: str = "P@1",
        max_loss: float = 0.5,
        candidates: int = 50,
        widen: int = 0,
        prototype_entries: int = 500,
        agglomeration: Defrag | None = None,
        n_clusterings: int = 3,
        A: float = 0.55,
        B: float = 1.5,
        held_out: float = 0.2,
        held_out_rows: int = 10_000,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.base = base
        self.co_occurrence = co_occurrence
        self.alpha = alpha
        self.gamma = gamma
        self.propensity_weight = propensity_weight
        self.target = target
        self.guard = guard
        self.max_loss = max_loss
        self.candidates = candidates
        self.widen = widen
        self.prototype_entries = prototype_entries
        self.agglomeration = agglomeration
        self.n_clusterings = n_clusterings
        self.A = A
        self.B = B
        self.held_out = held_out
        self.held_out_rows = held_out_rows
        self.random_state = random_state
        self.n_jobs = n_jobs

    parameter_rules: ClassVar[dict[str, Any]] = {
        "co_occurrence": Choice(("identity", "cosine", "block")),
        "alpha": OrAuto(Float(0.001, 1.0)),
        "gamma": OrAuto(Float(0.0, 1e6)),
        "propensity_weight": OrAuto(Float(0.0, 1e6)),
        "target": Choice(("PSP@1", "PSP@3", "PSP@5")),
        "guard": Choice(("P@1", "P@3", "P@5")),
        "max_loss": Float(0.0),
        "candidates": Int(1),
        "widen": Int(0),
        "prototype_entries": Int(0),
        "n_clusterings": Int(1),
        "A": Float(0.0),
        "B": Float(0.0, open_low=True),
        "held_out": Float(0.0, 0.5, open_low=True),
        "held_out_rows": Int(1),
        "n_jobs": Int(none=True),
    }

    def choose(
        self, target: str | None = None, *, guard: str | None = None, max_loss: float | None = None
    ) -> Refrag:
        """Choose another setting that "auto" has measured, without training.

        Parameters
        ----------
        target, guard : str, optional
            Like the parameters; default: the values of the parameters.
        max_loss : float, optional
            Like the parameter.

        Returns
        -------
        self : Refrag
            The classifier with the chosen ``alpha_``, ``gamma_`` and ``propensity_weight_``.
        """
        check_is_fitted(self)
        if self.trade_off_ is None:
            raise ValueError(
                "choose requires gamma or propensity_weight to be 'auto' in fit, "
                f"got {self.gamma!r} and {self.propensity_weight!r}"
            )
        given = {"target": target, "guard": guard, "max_loss": max_loss}
        chosen = copy(self)  # an error leaves self unchanged
        chosen.set_params(**{name: value for name, value in given.items() if value is not None})
        chosen.check_parameters()
        chosen._choose_setting(self.trade_off_)  # noqa: SLF001 - of the same class
        self.__dict__ = chosen.__dict__
        return self

    def _train(self, X: Csr, Y: Csr, seed: int) -> None:
        trade_off = None
        if not self.trains_once():
            trade_off = self._measure(X, Y, seed, self._settings())
        super()._train(X, Y, seed)
        self.trade_off_: TradeOff | None = trade_off
        if trade_off is not None:
            self._choose_setting(trade_off)

    def trains_once(self) -> bool:
        """Return whether the base is trained once, without rounds on held-out points."""
        return len(self._settings()[0]) == 1

    def _settings(self) -> tuple[NDArray[np.float64], ...]:
        return settings_to_try(self.alpha, self.gamma, self.propensity_weight)

    def learn_first(self, X: Csr, Y: Csr, seed: int) -> Arrays:
        """Return the prototypes of the labels and their inverse propensities."""
        rows = unit_rows(X, _native.n_threads(self.n_jobs))
        return {**csr_arrays(self._find_prototypes(rows, Y, seed)), "bonus": self._find_bonus(Y)}

    def learn_last(self, data: tuple[Csr, Csr] | None, seed: int, learnt: Arrays) -> None:  # noqa: ARG002 - everything is learnt first
        """Set prototypes, inverse propensities and the first setting."""
        self.prototypes_ = csr_from_arrays(learnt)
        self.bonus_: Floats = learnt["bonus"]
        self.trade_off_ = None
        self.alpha_, self.gamma_, self.propensity_weight_ = (
            float(one[0]) for one in self._settings()
        )

    def default_base(self) -> Classifier:
        """Return a ``LabelTree`` with three trees."""
        return LabelTree(3)

    def _choose_setting(self, trade_off: TradeOff) -> None:
        """Set the best allowed setting; warn if it has no effect."""
        chosen = trade_off.choose(self.target, self.guard, self.max_loss)
        if chosen == 0:
            message = (
                f"Refrag changes nothing: no setting raises {self.target} with a loss of at most "
                f"{self.max_loss:g} points of {self.guard}, three standard errors included, on "
                f"{trade_off.n_rows:,} held-out points; raise max_loss or print trade_off_"
            )
            warnings.warn(message, DataWarning, stacklevel=2)
        loss = trade_off.loss(self.guard)[chosen]
        gain = trade_off.measures[self.target][chosen] - trade_off.measures[self.target][0]
        logger.info("Refrag: %s %+.2f, %s %+.2f on %d held-out points", self.target, gain,
                    self.guard, -loss, trade_off.n_rows)  # fmt: skip
        self.alpha_ = float(trade_off.alpha[chosen])
        self.gamma_ = float(trade_off.gamma[chosen])
        self.propensity_weight_ = float(trade_off.propensity_weight[chosen])

    def _measure(
        self,
        X: Csr,
        Y: Csr,
        seed: int,
        settings: tuple[NDArray[np.float64], ...],
    ) -> TradeOff:
        """Return the metrics of settings on points that the base was not trained on."""
        tally = Tally(*factors(*settings))
        rows = unit_rows(X, _native.n_threads(self.n_jobs))
        rounds = list(self._rounds(Y, seed))
        for number, (held, rest) in enumerate(rounds):
            # The shape of a previous model is for the final model, not for those of the rounds.
            with progress_stage(f"round {number + 1} of {len(rounds)}"), following_nothing():
                model = self.fit_base(X[rest], Y[rest], seed)
            prototypes = self._find_prototypes(rows[rest], Y[rest], seed)
            found = self._propose(
                model, prototypes, self._find_bonus(Y[rest]), X[held], 5, exhaustive=False
            )
            weights = np.maximum(inverse_propensity(Y[rest], self.A, self.B), 1.0)
            tally.add(found, Y[held], weights, _native.n_threads(self.n_jobs))
        alpha, gamma, weight = settings
        return TradeOff(alpha, gamma, weight, tally.measures(), tally.errors(), tally.n_rows)

    def _rounds(self, Y: Csr, seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield the held-out points of each round, and the others."""
        n_rows = Y.shape[0]
        n_labelled = int(np.count_nonzero(np.diff(Y.indptr)))
        n_held = max(1, int(self.held_out * n_rows))
        if n_labelled <= n_held:
            raise ValueError(
                f"Refrag requires more than {n_held} labelled points to choose gamma or "
                f"propensity_weight, got n_samples = {n_labelled}: set them, or lower held_out"
            )
        order = np.random.default_rng([seed, 1]).permutation(n_rows)
        done = 0
        while done < min(self.held_out_rows, n_rows) and done + n_held <= n_rows:
            held = np.sort(order[done : done + n_held])
            yield held, np.setdiff1d(np.arange(n_rows), held, assume_unique=True)
            done += n_held

    def _find_prototypes(self, rows: Csr, Y: Csr, seed: int) -> Csr:
        threads = _native.n_threads(self.n_jobs)
        by_label = sparse.csr_array(Y.T)
        entries = self.prototype_entries
        sums = _native.multiply(by_label, rows, max_entries=entries, n_threads=threads)
        if self.co_occurrence == "identity":
            return unit_rows(sums, threads)
        default = Defrag(sample_points=1.0)
        groups = find_groups(
            rows,
            Y,
            default if self.agglomeration is None else self.agglomeration,
            prefit=False,
            seeds=member_seeds(seed, self.n_clusterings),
            n_jobs=self.n_jobs,
            owner="Refrag",
        )
        scale = "cosine" if self.co_occurrence == "cosine" else "raw"
        blocks = CoOccurrence.of_rows(rows, groups, scale=scale, n_threads=threads)
        return blocks.multiply(unit_rows(sums, threads), max_entries=entries, n_threads=threads)

    def _find_bonus(self, Y: Csr) -> Floats:
        """Return the logarithms of inverse propensities.

        Labels without points, which would have the largest, get 0. Inverse propensities are at
        least 1; the formula gives values below 1 for fewer than three points.
        """
        seen = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
        inverse = np.maximum(inverse_propensity(Y, self.A, self.B), 1.0)
        return np.where(seen, np.log(inverse), 0.0).astype(np.float32)

    def _propose(
        self,
        base: Classifier,
        prototypes: Csr,
        bonus: Floats,
        X: Csr,
        k: int,
        *,
        exhaustive: bool,
        compare: bool = True,
    ) -> Candidates:
        """Return the candidates of points; without ``compare``, all cosines are 0."""
        threads = _native.n_threads(self.n_jobs)
        n = min(max(self.check_parameter("candidates"), k), prototypes.shape[0])
        labels, scores = base.rank(X, n, exhaustive=exhaustive)
        logs = log_scores(scores)
        rows = unit_rows(X, threads)
        width = min(self.check_parameter("widen"), prototypes.shape[0])
        if width:
            nearest = _native.multiply(
                rows, sparse.csr_array(prototypes.T), max_entries=width, n_threads=threads
            )
            labels, logs = add_nearest(labels, logs, nearest, width)
        cosines = np.zeros(labels.shape, dtype=np.float32)
        if compare:
            cosines = _native.candidate_products(rows, labels, prototypes, n_threads=threads)
        return Candidates(labels, logs, cosines, bonus)

    def training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of training the base, of the rounds of "auto" and of prototypes."""
        trainings, n_ranked = 1.0, 0.0
        n_settings = len(settings_to_try(self.alpha, self.gamma, self.propensity_weight)[0])
        if n_settings > 1:
            n_held_out = max(1, int(self.held_out * X.shape[0]))
            n_rounds = min(int(1 / self.held_out), -(-self.held_out_rows // n_held_out))
            trainings += n_rounds * (1.0 - self.held_out)
            n_ranked = n_rounds * self.held_out * X.shape[0] * n_settings * self.candidates
        n_clusterings = 0 if self.co_occurrence == "identity" else self.n_clusterings
        seconds = trainings * n_clusterings * X.nnz * _SECONDS_PER_CLUSTERED_NON_ZERO
        base = self.unfitted_base().training_cost(X, Y).times(1.1 * trainings)
        return base + Cost(seconds + n_ranked * _SECONDS_PER_CANDIDATE, 0.0)

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        strengths, weights = self._factors()
        strength, weight = float(strengths[0]), float(weights[0])
        if strength == 0.0 and weight == 0.0:
            return self.base_.rank(X, k, exhaustive=exhaustive)
        found = self._candidates(X, k, exhaustive=exhaustive, compare=strength != 0.0)
        threads = _native.n_threads(self.n_jobs)
        columns = found.best(strengths, weights, k, n_threads=threads)[:, 0]
        return ranked_labels(found, columns, strength, weight)

    def _factors(self) -> tuple[Floats, Floats]:
        """Return the factors of cosine and bonus, one each."""
        return factors(
            np.array([self.alpha_]), np.array([self.gamma_]), np.array([self.propensity_weight_])
        )

    def _candidates(self, X: Csr, k: int, *, exhaustive: bool, compare: bool) -> Candidates:
        return self._propose(
            self.base_,
            self.prototypes_,
            self.bonus_,
            X,
            k,
            exhaustive=exhaustive,
            compare=compare,
        )

    def explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:
        """Return an explainer of scores relative to the best label, which is held fixed."""
        strength, weight = (float(one[0]) for one in self._factors())
        if strength == 0.0 and weight == 0.0:
            return self.base_.explainer(row, labels, k)
        n_ranked = min(max(self.check_parameter("candidates"), k), self.n_labels_)
        base = self.base_.explainer(row, labels, n_ranked)
        prototypes = self.prototypes_[labels]
        if row is None:
            return RerankedExplainer.of_any_row(base, prototypes, strength)
        found = self._candidates(row, k, exhaustive=False, compare=strength != 0.0)
        held = constants_of(found, strength, weight, labels, n_ranked=n_ranked)
        return RerankedExplainer(base, prototypes, strength, **held)

    def max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`rank` can find for a point."""
        widen: int = self.check_parameter("widen")
        return min(self.n_labels_, self.base_.max_ranked() + widen)
