"""Texts as matrices with named columns, for programs that read matrices only.

Called by ``defrag convert``, for training texts with a new vectoriser and for test texts with the
columns of a model, and by ``defrag compare``, which trains every method on the same matrices.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from defrag.exceptions import DataWarning
from defrag.text._texts import check_text_labels
from defrag.text.classifier import TextClassifier, default_vectorizer
from defrag.text.vectorizer import TextVectorizer
from defrag.typing import Csr


class Vectorized(NamedTuple):
    """Texts as a matrix, their labels if any, and the names of all columns."""

    X: Csr
    Y: Csr | None
    vocabulary: Sequence[str]
    label_names: Sequence[str]


def text_matrices(
    texts: Sequence[str],
    labels: Sequence[Sequence[str]] | None = None,
    *,
    vectorizer: TextVectorizer | None = None,
    like: TextClassifier | None = None,
    name: str = "texts",
) -> Vectorized:
    """Turn texts and the names of their labels into matrices.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    labels : sequence of sequences of str, optional
        The names of their labels.
    vectorizer : TextVectorizer, optional
        What makes the features, fitted to the texts.
    like : TextClassifier, optional
        A model whose features and labels are the columns; labels that it does not know are
        dropped with a warning.
    name : str
        Name of the texts in the warning.

    Examples
    --------
    >>> from defrag.text import text_matrices
    >>> texts = ["quick sort", "a sort", "hash map", "a hash"]
    >>> found = text_matrices(texts, [["sorting"], ["sorting"], ["hashing"], ["hashing"]])
    >>> found.X.shape, found.vocabulary, list(found.label_names)
    ((4, 2), ['hash', 'sort'], ['hashing', 'sorting'])
    """
    if like is None:
        made = vectorizer or default_vectorizer(n_jobs=-1)
        X = made.fit_transform(texts)
        known = check_text_labels([[]] * len(texts) if labels is None else labels, len(texts))
        Y, names = known.matrix, np.asarray(known.classes).tolist()
    else:
        made = like.vectorizer_.set_params(n_jobs=-1)
        X, names = made.transform(texts), like.classes_.tolist()
        Y = _known_labels(name, labels or [], names)
    vocabulary = made.get_feature_names_out().tolist()
    return Vectorized(X, None if labels is None else Y, vocabulary, names)


def _known_labels(name: str, labels: Sequence[Sequence[str]], names: list[str]) -> Csr:
    known = set(names)
    kept = [[one for one in row if one in known] for row in labels]
    unknown = {one for row in labels for one in row} - known
    if unknown:
        labels_were = "label was" if len(unknown) == 1 else "labels were"
        message = f"{len(unknown):,} {labels_were} dropped, unknown to the model"
        warnings.warn(f"{name}: {message}", DataWarning, stacklevel=3)
    # An extra row with every name, so that every label gets its column.
    return check_text_labels([*kept, names], len(kept) + 1).matrix[:-1]
