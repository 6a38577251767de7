"""Training and test points of a comparison, from matrices or from texts."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from defrag._progress import progress_pulse
from defrag.cli._corpora import form_of_corpus, form_of_matrix, read_labelled, text_options
from defrag.cli._data import read, read_names
from defrag.io import Split
from defrag.io.files import display_name
from defrag.text.classifier import default_vectorizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from defrag.cli._corpora import AnyForm
    from defrag.io.documents import CorpusOptions
    from defrag.typing import Csr

__all__ = ["TrainTest", "read_train_test"]


class TrainTest(NamedTuple):
    """Training points, test points, and the names of their labels, if any."""

    train: Split
    test: Split
    label_names: list[str] | None


def read_train_test(
    train: str,
    test: str,
    *,
    train_labels: str | None,
    test_labels: str | None,
    label_names: str | None,
    form: AnyForm | None,
    options: CorpusOptions,
    **reading: Any,
) -> TrainTest:
    """Read training and test points.

    Texts are vectorised by the default vectoriser, fitted to the training texts. Labels that only
    the test texts have cannot be predicted, and count as missed.

    Parameters
    ----------
    train, test : str
        The files, both matrices or both texts.
    train_labels, test_labels : str, optional
        Their label files, if the data files have no labels.
    label_names : str, optional
        File with the names of the labels, one per line, if the data have label ids.
    form : AnyForm, optional
        Format of both files.
    options : CorpusOptions
        How tables of texts are read.
    **reading : Any
        How matrices are read; see :func:`defrag.cli._data.read`.
    """
    forms = [form_of_corpus(path, form, options) for path in (train, test)]
    if (forms[0] is None) != (forms[1] is None):
        texts, matrix = (train, test) if forms[0] is not None else (test, train)
        raise ValueError(f"{display_name(texts)} has texts, but {display_name(matrix)} a matrix")
    if forms[0] is None or forms[1] is None:
        first = _read_matrix(train, train_labels, form, reading)
        sizes = {"n_features": first.X.shape[1], "n_labels": first.Y.shape[1]}
        second = _read_matrix(test, test_labels, form, {**reading, **sizes})
        names = None
        if label_names is not None:
            names = read_names(label_names, first.Y.shape[1], "name", "label")
        return TrainTest(first, second, names)
    halves = [
        read_labelled(path, found, text_options(options, found, labels, label_names))
        for path, found, labels in zip(
            (train, test), (forms[0], forms[1]), (train_labels, test_labels), strict=True
        )
    ]
    (train_texts, train_names), (test_texts, test_names) = halves
    vectorizer = default_vectorizer().set_params(verbose=1)
    X = vectorizer.fit_transform(train_texts)
    with progress_pulse("vectorising the test texts"):
        X_test = vectorizer.transform(test_texts)
    columns = {
        name: place for place, name in enumerate(sorted(set(chain(*train_names, *test_names))))
    }
    return TrainTest(
        Split(X, _indicators(train_names, columns)),
        Split(X_test, _indicators(test_names, columns)),
        list(columns),
    )


def _read_matrix(
    path: str, labels: str | None, form: AnyForm | None, reading: Mapping[str, Any]
) -> Split:
    found = read(path, labels=labels, form=form_of_matrix(form), **reading)
    if found.Y is None:
        raise ValueError(f"{display_name(path)}: has no labels")
    return Split(found.X, found.Y)


def _indicators(labels: Sequence[Sequence[str]], columns: Mapping[str, int]) -> Csr:
    rows = [sorted({columns[name] for name in names}) for names in labels]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(indptr[-1]))
    ones = np.ones(len(indices), dtype=np.float32)
    return sparse.csr_array((ones, indices, indptr), shape=(len(rows), len(columns)))
