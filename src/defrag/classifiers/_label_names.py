"""Label names: names for ids, and labels of other data as columns of a model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from defrag._names import Names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag._validation import Labels
    from defrag.typing import Csr

__all__ = ["label_names", "labels_of_model", "names_by_score"]


class _Named(Protocol):
    """The attributes of a fitted classifier that describe its labels."""

    multilabel_: bool
    class_names_: NDArray[Any] | None
    label_names_: Sequence[str] | None


def label_names(model: _Named) -> Names:
    """Return the names of the labels of a model, or its classes if they are strings.

    Raises
    ------
    ValueError
        If it has none.
    """
    names: Any = model.label_names_ if model.label_names_ is not None else model.class_names_
    if isinstance(names, Names):
        return names
    if names is None or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"this {type(model).__name__} has no label names: fit it with lists of names, or set "
            "label_names_"
        )
    return Names.of(names)


def labels_of_model(model: _Named, labels: Labels) -> Csr:
    """Return labels of other data with the columns of a model.

    Names that are unknown to the model get additional columns, which it never predicts.

    Raises
    ------
    ValueError
        If they are names or classes, but the labels of the model are ids; or if a class is
        unknown to the model.
    """
    if labels.classes is None:
        return labels.matrix
    classes = model.class_names_
    if classes is None:
        what = "names" if labels.multilabel else "classes"
        raise ValueError(f"Y must contain labels of the model, got {what}")
    if not model.multilabel_:
        for unknown in np.setdiff1d(labels.classes, classes).tolist():
            raise ValueError(f"Y must contain labels of the model, got {unknown!r}")
    return labels.in_columns_of(classes)


def names_by_score(scores: Csr, names: NDArray[Any]) -> list[list[str]]:
    """Return the names of the columns of each row, by decreasing score, then by column."""
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    found = names[scores.indices[order]].tolist()
    return [found[begin:end] for begin, end in pairwise(scores.indptr.tolist())]
