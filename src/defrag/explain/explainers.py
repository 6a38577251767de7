"""How models are taken apart: one small class per way in which scores come about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag.explain.formulas import secant
from defrag.explain.leaving_out import attribute_by_orders
from defrag.explain.parts import Attribution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from defrag.typing import Csr, Ids

    Scores = NDArray[np.float64]

__all__ = ["Averaged", "Explainer", "Noted", "SingleIndex", "Transformed", "members_that_found"]


class Explainer(ABC):
    """The scores of some labels, with the search that found them held fixed."""

    @abstractmethod
    def scores(self, X: Csr) -> Scores:
        """Return the scores of the labels for the rows of a canonical matrix.

        Parameters
        ----------
        X : csr_array, shape (n_rows, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of float64, shape (n_rows, n_labels)
        """

    def attribute(self, row: Csr) -> Attribution:
        """Return what each entry of a row contributes to the scores.

        Unless a method overrides it, entries are left out.

        Parameters
        ----------
        row : csr_array, shape (1, n_features)
            The row.
        """
        return attribute_by_orders(self.scores, row)


class SingleIndex(Explainer):
    """Scores that are a function of one weighted sum each.

    Parameters
    ----------
    weights : callable
        Returns the weights of rising features, (n_labels, n_features), and of the labels'
        constants, (n_labels,), float64.
    unit : callable
        Returns the rows as the weights take them.
    link : callable
        The function, of an array, element by element.
    known : ndarray of bool, shape (n_labels,)
        The labels that have weights; others score 0.
    """

    def __init__(
        self,
        weights: Callable[[Ids], tuple[Scores, Scores]],
        unit: Callable[[Csr], Csr],
        link: Callable[[Scores], Scores],
        known: NDArray[np.bool_],
    ) -> None:
        self._weights = weights
        self._unit = unit
        self._link = link
        self._known = known

    def scores(self, X: Csr) -> Scores:
        """Return the scores of the labels for the rows of a canonical matrix."""
        narrow, features = only_own_features(self._unit(X))
        weights, bias = self._weights(features)
        return np.where(self._known, self._link(bias + narrow @ weights.T), 0.0)

    def attribute(self, row: Csr) -> Attribution:
        """Return summands of the weighted sum times the slope of the function."""
        unit = self._unit(row)
        weights, bias = self._weights(unit.indices)
        summands = weights * unit.data.astype(np.float64)
        slopes = secant(self._link, bias + summands.sum(axis=1), bias)
        return Attribution.plain(summands * np.where(self._known, slopes, 0.0)[:, None])


class Transformed(Explainer):
    """Scores of a model of transformed rows.

    Parameters
    ----------
    inner : Explainer
        The model of transformed rows.
    transform : callable
        Transforms a canonical matrix.
    shares : callable
        Returns, for a row and the transformed row, the share of each transformed entry that
        belongs to each entry of the row; see :meth:`Attribution.spread`.
    """

    def __init__(
        self,
        inner: Explainer,
        transform: Callable[[Csr], Csr],
        shares: Callable[[Csr, Csr], Csr],
    ) -> None:
        self._inner = inner
        self._transform = transform
        self._shares = shares

    def scores(self, X: Csr) -> Scores:
        """Return the scores of the labels for the rows of a canonical matrix."""
        return self._inner.scores(self._transform(X))

    def attribute(self, row: Csr) -> Attribution:
        """Return the contributions of transformed entries, shared by those they came from."""
        transformed = self._transform(row)
        return self._inner.attribute(transformed).spread(self._shares(row, transformed))


@dataclass(frozen=True)
class Noted(Explainer):
    """Scores with notes about them.

    Attributes
    ----------
    inner : Explainer
        The scores.
    notes : sequence of sequences of str
        The notes of each label.
    """

    inner: Explainer
    notes: Sequence[Sequence[str]]

    def scores(self, X: Csr) -> Scores:
        """Return the scores of the labels for the rows of a canonical matrix."""
        return self.inner.scores(X)

    def attribute(self, row: Csr) -> Attribution:
        """Return the contributions, with the notes."""
        return self.inner.attribute(row).with_notes(self.notes)


@dataclass(frozen=True)
class Averaged(Explainer):
    """The mean of the scores of several members.

    Attributes
    ----------
    parts : sequence of Explainer
        The members.
    found : ndarray of bool, shape (n_labels, n_members)
        The members whose search found each label; it counts as 0 in the others.
    missed : ndarray of bool, shape (n_labels,)
        The labels that no search found; all members count for them.
    """

    parts: Sequence[Explainer]
    found: NDArray[np.bool_]
    missed: NDArray[np.bool_]

    @classmethod
    def of_all(cls, parts: Sequence[Explainer], n_labels: int) -> Averaged:
        """Return the mean in which every member counts."""
        found = np.ones((n_labels, len(parts)), dtype=np.bool_)
        return cls(parts, found, np.zeros(n_labels, dtype=np.bool_))

    def _weights(self) -> Scores:
        return np.asarray(self.found / self.found.shape[1])

    def scores(self, X: Csr) -> Scores:
        """Return the scores of the labels for the rows of a canonical matrix."""
        weights = self._weights()
        total = np.zeros((X.shape[0], len(weights)))
        for number, part in enumerate(self.parts):
            total += part.scores(X) * weights[:, number]
        return total

    def attribute(self, row: Csr) -> Attribution:
        """Return the mean of the contributions to the scores of the members."""
        weights = self._weights()
        parts = [
            part.attribute(row).times(weights[:, number], number)
            for number, part in enumerate(self.parts)
        ]
        n_labels = len(weights)
        return Attribution(
            np.sum([part.contributions for part in parts], axis=0),
            [[step for part in parts for step in part.paths[i]] for i in range(n_labels)],
            [self._notes(i) for i in range(n_labels)],
            parts[0].how,
        )

    def _notes(self, i: int) -> tuple[str, ...]:
        n_found, n_members = int(self.found[i].sum()), self.found.shape[1]
        if self.missed[i]:
            return ("the search does not find this label: its score is that of a full search",)
        if n_found < n_members:
            return (f"{n_found} of {n_members} members find this label; it is 0 in the others",)
        return ()


def members_that_found(
    answers: Sequence[Ids], labels: Ids
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which members found each label, and the labels that none found.

    Parameters
    ----------
    answers : sequence of ndarray of int32, shape (1, k)
        The labels that each member ranked.
    labels : ndarray of int32
        The labels to look for.

    Returns
    -------
    found : ndarray of bool, shape (n_labels, n_members)
        True in all members for a label that none found.
    missed : ndarray of bool, shape (n_labels,)
        The labels that none found.
    """
    found = np.stack([np.isin(labels, answer) for answer in answers], axis=1)
    missed = np.asarray(~found.any(axis=1))
    found[missed] = True
    return found, missed


def only_own_features(X: Csr) -> tuple[Csr, Ids]:
    """Return a matrix without empty columns, and the features that are left."""
    features, columns = np.unique(X.indices, return_inverse=True)
    narrow = type(X)((X.data, columns, X.indptr), shape=(X.shape[0], len(features)))
    return narrow, features.astype(np.int32)
