"""Conversion of texts to matrices with named columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from defrag.cli._console import escaped
from defrag.cli._flags import flag_name, refuse_flags
from defrag.cli._models import build_vectorizer
from defrag.exceptions import DataWarning
from defrag.io.files import atomic_writer
from defrag.persistence import load
from defrag.text import TextClassifier
from defrag.text._texts import check_label_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.io.corpora import LabelledTexts
    from defrag.text import TextVectorizer
    from defrag.typing import Csr

__all__ = ["Columns", "Vectorized", "find_columns", "write_names"]


@dataclass(frozen=True)
class Vectorized:
    """Texts as a matrix, their labels if any, and the names of all columns."""

    X: Csr
    Y: Csr | None
    vocabulary: Sequence[str]
    label_names: Sequence[str]


@dataclass(frozen=True)
class Columns:
    """Columns of the matrices: the features, and the label names if they are known."""

    vectorizer: TextVectorizer
    label_names: list[str] | None

    def vectorize(self, source: str, corpus: LabelledTexts) -> Vectorized:
        """Turn texts into matrices.

        Parameters
        ----------
        source : str
            Name of the file in messages.
        corpus : LabelledTexts
            Texts and the names of their labels. The vectoriser is fitted to them if
            label names are not known yet.
        """
        texts, labels = corpus
        if self.label_names is None:
            X = self.vectorizer.fit_transform(texts)
            found = check_label_names([[]] * len(texts) if labels is None else labels, len(texts))
            Y, names = found.matrix, found.names
        else:
            X, names = self.vectorizer.transform(texts), self.label_names
            Y = _known_labels(source, labels or [], names)
        words = self.vectorizer.get_feature_names_out().tolist()
        return Vectorized(X, None if labels is None else Y, words, names)


def find_columns(like: str | None, parameters: dict[str, Any]) -> Columns:
    """Return the columns of a model, or a vectoriser that is not yet fitted.

    Parameters
    ----------
    like : str or None
        A model file of a text classifier.
    parameters : dict
        Parameters of the vectoriser that the user has set.
    """
    if like is None:
        return Columns(build_vectorizer(parameters).set_params(n_jobs=-1), None)
    refuse_flags("with --like", {flag_name(name): value for name, value in parameters.items()})
    model = load(like)
    if not isinstance(model, TextClassifier):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{like}: is a {type(model).__name__}, not a model of texts"
        )
    return Columns(model.vectorizer_.set_params(n_jobs=-1), model.classes_.tolist())


def _known_labels(source: str, labels: list[list[str]], names: list[str]) -> Csr:
    known = set(names)
    kept = [[name for name in row if name in known] for row in labels]
    unknown = {name for row in labels for name in row} - known
    if unknown:
        labels_were = "label was" if len(unknown) == 1 else "labels were"
        message = f"{len(unknown):,} {labels_were} dropped, unknown to the model"
        warnings.warn(f"{source}: {message}", DataWarning, stacklevel=2)
    # An extra row with every name, so that every label gets its column.
    return check_label_names([*kept, names], len(kept) + 1).matrix[:-1]


def write_names(path: str | None, names: Sequence[str]) -> None:
    """Write names, one per line, if a path is given.

    Raises
    ------
    ValueError
        If a name has a line break.
    """
    if path is None:
        return
    for name in names:
        if "\n" in name or name.endswith("\r"):
            raise ValueError(f"{path}: a name must be one line, got {escaped(name)!r}")
    with atomic_writer(path) as file:
        file.write("".join(f"{name}\n" for name in names).encode())
