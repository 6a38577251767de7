"""An explanation of a score as data: contributions of features, pieces of a text, a dictionary.

`explain_row` and `rank_features` make them from what an explainer computes (``explainers.py``);
``explain`` and ``label_features`` of every classifier return them. How they look on a terminal and
in a notebook is in ``showing.py``, imported on first use, since few programs print one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag.typing import Csr, Floats, Ids

if TYPE_CHECKING:
    from defrag.explain.explainers import Explainer
    from defrag.explain.parts import Step


class Span(NamedTuple):
    """An occurrence of a feature in a text; positions count characters."""

    feature: int
    begin: int
    end: int


class Segment(NamedTuple):
    """A piece of a text, and the contribution of its features to the score."""

    text: str
    weight: float


# Number of features shown; the others are summed.
_SHOWN = 10


class Shown(ABC):
    """Base class of what prints itself as a table, and shows it with bars in notebooks."""

    @abstractmethod
    def table(self, n: int | None = None) -> Any:
        """Return a table of the n first rows, for ``rich.print``."""

    @abstractmethod
    def _repr_html_(self) -> str:
        """Return the table with bars."""

    def __str__(self) -> str:
        return str(_showing().as_text(self.table()))

    def __rich__(self) -> Any:
        return self.table()


def _showing() -> ModuleType:
    from defrag.explain import showing  # noqa: PLC0415 - with rich, which few programs need

    return showing


class Contribution(NamedTuple):
    """The contribution of one feature."""

    feature: int
    name: str
    value: float
    contribution: float
    without: float


@dataclass(frozen=True, eq=False)
class Explanation(Shown):
    """The contributions of the features of a point to the score of a label.

    Prints as a table; in notebooks, the table has bars.

    Attributes
    ----------
    label : str, int or class
        The label, by its name if it has one.
    label_id : int
        The id of the label.
    score : float
        The score, as from ``predict_topk``.
    base : float
        The score of a point without features.
    features : ndarray of int32, shape (n_entries,)
        The features of the point, by decreasing absolute contribution.
    names : list of str
        Their names, or their ids as strings.
    values : ndarray of float32
        Their values.
    contributions : ndarray of float64
        Their contributions: ``base + contributions.sum()`` is the score.
    without : ndarray of float64
        The score of the point without each feature, with the search held fixed. Where each
        score takes a prediction, NaN for all but the 1,000 features with the largest
        contributions, or fewer for a point with many thousands.
    path : tuple of Step
        The path to the label in each tree; empty for methods without label trees.
    how : str
        How the contributions were computed: from weights, or by leaving features out.
    notes : tuple of str
        Remarks on the score.
    text : str or None
        The text, if a text was explained.
    name : str or None
        What the label is called, if the model has a thesaurus.

    See Also
    --------
    LabelFeatures : The features that give a label the highest scores.
    """

    label: Any
    label_id: int
    score: float
    base: float
    features: Ids
    names: list[str]
    values: Floats
    contributions: NDArray[np.float64]
    without: NDArray[np.float64]
    path: tuple[Step, ...]
    how: str
    notes: tuple[str, ...] = ()
    text: str | None = None
    spans: tuple[Span, ...] = field(default=(), repr=False)
    name: str | None = None

    def top(self, n: int = _SHOWN) -> list[Contribution]:
        """Return the features with the largest contributions, of either sign.

        Parameters
        ----------
        n : int, default=10
            Number of features.
        """
        columns = (
            self.features[:n].tolist(),
            self.names[:n],
            self.values[:n].tolist(),
            self.contributions[:n].tolist(),
            self.without[:n].tolist(),
        )
        return [Contribution(*row) for row in zip(*columns, strict=True)]

    def rest(self, n: int = _SHOWN) -> float:
        """Return the sum of the contributions that :meth:`top` leaves out."""
        return float(self.contributions[n:].sum())

    def segments(self) -> list[Segment]:
        """Return the text in pieces, each with the contribution of its features.

        The contribution of a feature is split evenly among its occurrences, and among the
        characters of each.
        """
        if self.text is None:
            raise ValueError("segments requires a text, but a row of features was explained")
        return highlight(self.text, self.spans, self.features, self.contributions)

    def as_dict(self, n: int | None = None) -> dict[str, Any]:
        """Return the explanation as numbers, strings, lists and dictionaries, for JSON.

        Parameters
        ----------
        n : int, optional
            The number of features; default: all.
        """
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        number = len(self.features) if n is None else n
        found: dict[str, Any] = {
            "label": label,
            "label_id": self.label_id,
            "score": self.score,
            "base": self.base,
            "how": self.how,
            "notes": list(self.notes),
            "features": [
                {**one._asdict(), "without": None if np.isnan(one.without) else one.without}
                for one in self.top(number)
            ],
            "rest": self.rest(number),
            "path": [
                {"tree": step.member, "node": step.node, "child": step.child,
                 "score": step.score, "base": step.base}
                for step in self.path
            ],
        }  # fmt: skip
        if self.name is not None:
            found["name"] = self.name
        if self.text is not None:
            found["segments"] = [one._asdict() for one in self.segments()]
        return found

    @property
    def title(self) -> str:
        """The label, after its name if it has one."""
        return str(self.label) if self.name is None else f"{self.name} ({self.label})"

    def in_text(self, text: str, spans: Sequence[Span]) -> Explanation:
        """Return the explanation with the text that the features come from."""
        return replace(self, text=text, spans=tuple(spans))

    def with_terms(self, terms: Sequence[tuple[str, float]], first_id: int) -> Explanation:
        """Return the explanation with terms that are not features, numbered from ``first_id`` on.

        The score grows by their sum.
        """
        added = np.array([value for _, value in terms], dtype=np.float64)
        score = self.score + float(added.sum())
        contributions = np.append(self.contributions, added)
        order = np.argsort(-np.abs(contributions), kind="stable")
        ids = np.append(self.features, np.arange(first_id, first_id + len(terms), dtype=np.int32))
        names = [*self.names, *(name for name, _ in terms)]
        return replace(
            self,
            score=score,
            features=ids[order],
            names=[names[i] for i in order.tolist()],
            values=np.append(self.values, np.ones(len(terms), dtype=np.float32))[order],
            contributions=contributions[order],
            without=np.append(self.without + score - self.score, score - added)[order],
        )

    def __repr__(self) -> str:
        return (
            f"Explanation(label={self.label!r}, score={self.score:.4f}, base={self.base:.4f}, "
            f"{len(self.features)} features)"
        )

    def table(self, n: int | None = None) -> Any:
        """Return a table of the n largest contributions, for ``rich.print``; default: ten."""
        return _showing().explanation_table(self, n or _SHOWN)

    def _repr_html_(self) -> str:
        return str(_showing().explanation_html(self))


def without_features(label_id: int, label: Any) -> Explanation:
    """Return the explanation of a score of 0 to which no feature contributes."""
    none = np.zeros(0)
    values = none.astype(np.float32)
    return Explanation(label, label_id, 0.0, 0.0, none.astype(np.int32), [], values, none, none, (),
                       "")  # fmt: skip


class Explanations(tuple[Explanation, ...]):
    """Explanations of the best labels of a point, best first."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self)


def explain_row(
    explainer: Explainer, row: Csr, labels: Sequence[tuple[int, Any]], names: Sequence[str] | None
) -> Explanations:
    """Explain the scores of labels, given by id and name, for a row."""
    parts = explainer.take_apart(row)
    found = parts.attribution
    sizes = np.abs(found.contributions)
    ids = row.indices.tolist()
    own = list(map(str, ids)) if names is None else [names[j] for j in ids]
    explanations = []
    for i, (label_id, label) in enumerate(labels):
        order = np.argsort(-sizes[i], kind="stable")
        explanations.append(
            Explanation(
                label=label,
                label_id=label_id,
                score=float(parts.scores[i]),
                base=float(parts.bases[i]),
                features=row.indices[order].astype(np.int32),
                names=[own[j] for j in order.tolist()],
                values=row.data[order],
                contributions=found.contributions[i, order],
                without=parts.without[order, i],
                path=tuple(step.having(step.contributions[order]) for step in found.paths[i]),
                how=found.how,
                notes=tuple(found.notes[i]),
            )
        )
    return Explanations(explanations)


# --- The features that give a label the highest scores.

_ROWS_AT_A_TIME = 50_000
_NAMES_SHOWN = 10


@dataclass(frozen=True, eq=False)
class LabelFeatures(Shown):
    """The features that give a label the highest scores.

    Attributes
    ----------
    label : str, int or class
        The label, by its name if it has one.
    label_id : int
        The id of the label.
    base : float
        The score of a point without features.
    features : ndarray of int32, shape (n,)
        The features, by decreasing score.
    names : list of str
        Their names, or their ids as strings.
    scores : ndarray of float64, shape (n,)
        The score of a point that has only this feature.
    """

    label: Any
    label_id: int
    base: float
    features: Ids
    names: list[str]
    scores: NDArray[np.float64]

    def as_dict(self) -> dict[str, Any]:
        """Return the features as numbers, strings, lists and dictionaries, for JSON."""
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        rows = zip(self.features.tolist(), self.names, self.scores.tolist(), strict=True)
        return {
            "label": label,
            "label_id": self.label_id,
            "base": self.base,
            "features": [
                {"feature": feature, "name": name, "score": score} for feature, name, score in rows
            ],
        }

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:_NAMES_SHOWN])
        more = ", ..." if len(self.names) > _NAMES_SHOWN else ""
        return f"LabelFeatures(label={self.label!r}: {shown}{more})"

    def table(self, n: int | None = None) -> Any:
        """Return a table of the n best features, for ``rich.print``; default: all."""
        return _showing().features_table(self, n)

    def _repr_html_(self) -> str:
        return str(_showing().features_html(self))


def rank_features(
    explainer: Explainer,
    n_features: int,
    *,
    label: tuple[int, Any],
    names: Sequence[str] | None,
    n: int,
) -> LabelFeatures:
    """Score points of one feature each and return the best features."""
    scores = np.empty(n_features)
    for first in range(0, n_features, _ROWS_AT_A_TIME):
        features = np.arange(first, min(first + _ROWS_AT_A_TIME, n_features), dtype=np.int32)
        ones = np.ones(len(features), dtype=np.float32)
        rows = sparse.csr_array(
            (ones, features, np.arange(len(features) + 1, dtype=np.int32)),
            shape=(len(features), n_features),
        )
        scores[features] = explainer.scores(rows)[:, 0]
    empty = sparse.csr_array(np.zeros((1, n_features), dtype=np.float32))
    base = float(explainer.scores(empty)[0, 0])
    speaking = np.flatnonzero(scores > base)
    best = speaking[np.argsort(-scores[speaking], kind="stable")][:n].astype(np.int32)
    own = [str(j) if names is None else names[j] for j in best.tolist()]
    return LabelFeatures(label[1], label[0], base, best, own, scores[best])


# --- Contributions of features, mapped to the text that they come from.


def highlight(
    text: str, spans: Sequence[Span], features: Ids, contributions: NDArray[np.float64]
) -> list[Segment]:
    """Cut a text into pieces that belong to the same features, whose spans may overlap.

    Weights of pieces add up to the contributions of the features that occur in ``spans``.
    """
    worth = dict(zip(features.tolist(), contributions.tolist(), strict=True))
    inside = [
        span for span in spans if span.feature in worth and 0 <= span.begin < span.end <= len(text)
    ]
    covered: dict[int, int] = {}
    for span in inside:
        covered[span.feature] = covered.get(span.feature, 0) + span.end - span.begin
    per_character = np.array([worth[span.feature] / covered[span.feature] for span in inside])
    begins = np.array([span.begin for span in inside], dtype=np.int64)
    ends = np.array([span.end for span in inside], dtype=np.int64)
    change = np.zeros(len(text) + 1)  # difference of the contribution per character
    np.add.at(change, begins, per_character)
    np.subtract.at(change, ends, per_character)
    totals = np.append(0.0, np.cumsum(np.cumsum(change)[:-1]))
    depth = np.zeros(len(text) + 1, dtype=np.int64)  # number of features that cover a character
    np.add.at(depth, begins, 1)
    np.subtract.at(depth, ends, 1)
    bounds = np.unique(np.concatenate([begins, ends, [0, len(text)]]))
    marked = np.cumsum(depth)[bounds[:-1]] > 0
    weights = np.where(marked, np.diff(totals[bounds]), 0.0)
    return [
        Segment(text[begin:end], weight)
        for (begin, end), weight in zip(pairwise(bounds.tolist()), weights.tolist(), strict=True)
    ]
