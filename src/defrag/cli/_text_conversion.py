"""Texts as matrices, with the names of their columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from defrag.cli._console import escaped
from defrag.cli._corpora import read_corpus
from defrag.exceptions import DataWarning
from defrag.io.atomic import atomic_writer
from defrag.io.files import display_name
from defrag.persistence import load
from defrag.text import TextClassifier
from defrag.text._texts import check_label_names
from defrag.text.classifier import default_vectorizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.io.corpora import CorpusForm
    from defrag.typing import Csr

__all__ = ["Vectorized", "vectorize", "write_names"]


@dataclass(frozen=True)
class Vectorized:
    """Texts as a matrix, their labels if any, and the names of all columns."""

    X: Csr
    Y: Csr | None
    vocabulary: Sequence[str]
    label_names: Sequence[str]


def vectorize(
    source: str, form: CorpusForm, *, like: str | None, parameters: dict[str, Any]
) -> Vectorized:
    """Read texts and turn them into a matrix.

    Parameters
    ----------
    source : str
        The corpus.
    form : CorpusForm
        Its format.
    like : str or None
        A model of texts whose words and labels are the columns; None to find them here.
    parameters : dict
        Parameters of the vectoriser that the user has set.
    """
    if like is None:
        vectorizer = default_vectorizer().set_params(**parameters, n_jobs=-1, verbose=1)
        vectorizer.check_parameters()
        texts, labels = read_corpus(source, form)
        X = vectorizer.fit_transform(texts)
        names: list[str] = []
        Y = None
        if labels is not None:
            found = check_label_names(labels, len(texts))
            Y, names = found.matrix, found.names
        return Vectorized(X, Y, vectorizer.get_feature_names_out().tolist(), names)
    model = load(like)
    if not isinstance(model, TextClassifier):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{like}: is a {type(model).__name__}, not a model of texts"
        )
    texts, labels = read_corpus(source, form)
    vectorizer, names = model.vectorizer_.set_params(n_jobs=-1), model.classes_.tolist()
    Y = None if labels is None else _known_labels(source, labels, names)
    words = vectorizer.get_feature_names_out().tolist()
    return Vectorized(vectorizer.transform(texts), Y, words, names)


def _known_labels(source: str, labels: list[list[str]], names: list[str]) -> Csr:
    known = set(names)
    kept = [[name for name in row if name in known] for row in labels]
    unknown = {name for row in labels for name in row} - known
    if unknown:
        message = f"{len(unknown):,} labels that the model does not have were left out"
        warnings.warn(f"{display_name(source)}: {message}", DataWarning, stacklevel=2)
    # One more row has every name, so that every label has its column.
    return check_label_names([*kept, names], len(kept) + 1).matrix[:-1]


def write_names(path: str | None, names: Sequence[str]) -> None:
    """Write names, one per line, if there is a path.

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
