"""Explanations of re-ranked scores by the scores of the base and cosines with prototypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag.classifiers._base import unit_rows
from defrag.explain.explainers import Explainer
from defrag.explain.formulas import logarithmic_mean, secant
from defrag.explain.parts import Attribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.reranking._candidates import Candidates
    from defrag.typing import Csr, Ids

    Values = NDArray[np.float64]

__all__ = ["RerankedExplainer", "constants_of"]

# Lower bound of scores before the logarithm, as in the ranking.
_MIN_SCORE = float(np.nextafter(np.float32(0.0), np.float32(1.0)))


class RerankedExplainer(Explainer):
    """Explainer of re-ranked scores, ``exp(log b + strength * cos + constant)``.

    The constant is the sum of the propensity term of the label and of a reference that gives the
    best label of the row the best score of the base; both are held fixed.

    Parameters
    ----------
    base : Explainer
        The scores b of the base.
    prototypes : csr_array, shape (n_labels, n_features)
        The prototypes of the labels.
    strength : float
        The factor of the cosines.
    constants : ndarray of float64, shape (n_labels,)
        The constants.
    fixed : ndarray of float64, shape (n_labels,)
        The log scores of labels that the base did not find; NaN for the others.
    candidates : ndarray of bool, shape (n_labels,)
        The labels that were re-ranked.
    """

    def __init__(
        self,
        base: Explainer,
        prototypes: Csr,
        strength: float,
        *,
        constants: Values,
        fixed: Values,
        candidates: NDArray[np.bool_],
    ) -> None:
        self._base = base
        self._prototypes = prototypes.astype(np.float64)
        self._strength = strength
        self._constants = constants
        self._fixed = fixed
        self._candidates = candidates

    @classmethod
    def of_any_row(cls, base: Explainer, prototypes: Csr, strength: float) -> RerankedExplainer:
        """Return an explainer relative to a row that equals the prototype of the label."""
        n_labels = prototypes.shape[0]
        return cls(
            base,
            prototypes,
            strength,
            constants=np.full(n_labels, -strength),
            fixed=np.full(n_labels, np.nan),
            candidates=np.ones(n_labels, dtype=np.bool_),
        )

    def _logs(self, scores: Values) -> Values:
        logs = np.log(np.maximum(scores, _MIN_SCORE))
        return np.where(np.isnan(self._fixed), logs, self._fixed)

    def scores(self, X: Csr) -> Values:
        """Return the scores of the labels for the rows of a canonical matrix."""
        cosines = (unit_rows(X, 1) @ self._prototypes.T).toarray()
        logs = self._logs(self._base.scores(X))
        return _bounded_exp(logs + self._strength * cosines + self._constants)

    def attribute(self, row: Csr) -> Attribution:
        """Return the contributions of entries by the score of the base and the cosine."""
        found = self._base.attribute(row)
        empty = type(row)((1, row.shape[1]), dtype=row.dtype)
        scores, base_scores = self._base.scores(row)[0], self._base.scores(empty)[0]
        logs, base_logs = self._logs(scores), self._logs(base_scores)
        unit = unit_rows(row, 1)
        near = self._strength * (self._prototypes[:, unit.indices].toarray() * unit.data)
        start = base_logs + self._constants
        slopes = secant(_bounded_exp, logs + near.sum(axis=1) + self._constants, start)
        # Contributions to the score of the base become contributions to its logarithm.
        known = np.isnan(self._fixed) & (np.maximum(scores, base_scores) > _MIN_SCORE)
        means = np.where(known, logarithmic_mean(logs, base_logs), 1.0)
        base_part = found.times(np.where(known, slopes / means, 0.0))
        notes = [
            (f"re-ranked; the base gives the label {score:.4f}",)
            if candidate
            else ("not one of the labels that are re-ranked: the score is what it would have been",)
            for score, candidate in zip(scores, self._candidates, strict=True)
        ]
        both = base_part.contributions + near * slopes[:, None]
        return Attribution(both, base_part.paths, found.notes, found.how).with_notes(notes)


def _bounded_exp(logs: Values) -> Values:
    """Return exponentials, at most 1."""
    return np.exp(np.minimum(logs, 0.0))


def constants_of(
    found: Candidates, strength: float, weight: float, labels: Ids, *, n_ranked: int
) -> dict[str, Any]:
    """Return keyword arguments of :class:`RerankedExplainer` for labels and one row.

    Parameters
    ----------
    found : Candidates
        The candidates of one row.
    strength, weight : float
        The factors of cosine and bonus.
    labels : ndarray of int32
        The labels.
    n_ranked : int
        Number of candidates that the base ranked; the others were added.
    """
    known = found.labels[0] >= 0
    best = float(np.max(found.log_scores[0], where=known, initial=-np.inf))
    reference = best - float(np.max(found.sums(strength, weight)[0]))
    matches = found.labels[0] == labels[:, None]
    rows, columns = np.nonzero(matches & (np.arange(len(known)) >= n_ranked))
    fixed = np.full(len(labels), np.nan)
    fixed[rows] = found.log_scores[0, columns]
    constants = weight * found.bonus[labels].astype(np.float64) + reference
    return {"constants": constants, "fixed": fixed, "candidates": matches.any(axis=1)}
