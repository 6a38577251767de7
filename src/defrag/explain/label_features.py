"""The features that give a label the highest scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.explain.explainers import Explainer
    from defrag.typing import Ids

__all__ = ["LabelFeatures", "rank_features"]

_ROWS_AT_A_TIME = 50_000
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class LabelFeatures:
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
        shown = ", ".join(self.names[:_SHOWN])
        more = ", ..." if len(self.names) > _SHOWN else ""
        return f"LabelFeatures(label={self.label!r}: {shown}{more})"

    def __str__(self) -> str:
        from defrag.explain.showing import as_text  # noqa: PLC0415 - rich takes long to import

        return as_text(self)

    def table(self, n: int | None = None) -> Any:
        """Return a table of the n best features, for ``rich.print``; default: all."""
        from defrag.explain.showing import features_table  # noqa: PLC0415 - as above

        return features_table(self, n)

    def __rich__(self) -> Any:
        return self.table()

    def _repr_html_(self) -> str:
        from defrag.explain._html import features_html  # noqa: PLC0415 - for notebooks alone

        return features_html(self)


def rank_features(
    explainer: Explainer,
    n_features: int,
    *,
    label: tuple[int, Any],
    names: Sequence[str] | None,
    n: int,
) -> LabelFeatures:
    """Score points of one feature each and return the best features.

    Parameters
    ----------
    explainer : Explainer
        The scores of the label.
    n_features : int
        The number of features.
    label : (int, label)
        The id and the name of the label.
    names : sequence of str, optional
        The names of all features.
    n : int
        The number of features to return.
    """
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
