"""Explanations of texts: the words of a score, and what names and the ranker add to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._scikit import check_is_fitted
from defrag.classifiers._answers import check_count, explain_point
from defrag.explain import Explanations
from defrag.explain.explanation import Span, without_features
from defrag.text._texts import check_texts
from defrag.text.ranker import join_candidates
from defrag.typing import Csr

if TYPE_CHECKING:
    from defrag.text.classifier import TextClassifier

_UNKNOWN = "the text has no known word, so no label is predicted"


def explain_text(
    model: TextClassifier, text: str, label: str | None, k: int | None, language: str | None
) -> Any:
    """Return explanations of a text; see ``TextClassifier.explain``."""
    check_is_fitted(model)
    if not isinstance(text, str):
        raise ValueError(f"text must be one string, got {text!r:.60}")  # noqa: TRY004 - as every other bad value
    row = model._rows([text])
    table = model._labels_
    number = None if label is None else table.number(label)
    if not row.nnz and number is None and table.ranker is None:
        if k is None:
            raise ValueError(_UNKNOWN)
        check_count("k", k)
        return Explanations()
    found = _explanations(model, text, row, number, k)
    features, begins, ends = model.vectorizer_.spans(text)
    places = zip(features.tolist(), begins.tolist(), ends.tolist(), strict=True)
    spans = tuple(Span(*place) for place in places)
    shown = Explanations(
        replace(one, text=text, spans=spans, name=table.name(one.label, language))
        for one in (found if isinstance(found, Explanations) else [found])
    )
    return shown if isinstance(found, Explanations) else shown[0]


def _explanations(
    model: TextClassifier, text: str, row: Csr, number: int | None, k: int | None
) -> Any:
    """Return explanations of a label, or of the best ones under the labels they have now."""
    checked = check_texts([text])
    table = model._labels_

    def explain(label: int | None, n: int | None) -> Any:
        if label is not None and n is None and table.ranker is not None:
            return _explain_candidate(model, checked[0], row, label)
        return _explain_words(model, row, label, n)

    if number is not None:
        olds = [number] if table.current is None else np.flatnonzero(table.current == number)
        olds = [old for old in [*olds, number] if old < table.n_ranked]
        if not olds:
            label = model.classes_[number]
            raise ValueError(f"label {label!r} has no training points, so nothing explains it")
        best = max((explain(int(old), k) for old in olds), key=lambda one: one.score)
        return replace(best, label=model.classes_[number], label_id=number)
    if table.current is None and table.ranker is None:
        return explain(None, k)
    ids, _, sources = model._best(checked, 1 if k is None else check_count("k", k))
    pairs = zip(ids[0].tolist(), sources[0].tolist(), strict=True)
    found = [
        replace(explain(source, None), label=model.classes_[label], label_id=label)
        for label, source in pairs
        if label >= 0
    ]
    if k is None and not found:
        raise ValueError("no label is predicted for the text: give the label to explain")
    return Explanations(found) if k is not None else found[0]


def _explain_words(model: TextClassifier, row: Csr, label: int | None, k: int | None) -> Any:
    label_of, names = model.classes_.__getitem__, model._names()
    return explain_point(model.base_, row, label, k, label_of=label_of, names=names)


def _explain_candidate(model: TextClassifier, text: str, row: Csr, label: int) -> Any:
    """Explain a probability: the words' part is the score of the base, then come two terms.

    These are what the name changes, and what the ranker makes of the score without a name.
    """
    table: Any = model._labels_
    ranking = model._base_ranking(row, model.base_.n_labels_)  # the label may be far down
    found = join_candidates(*ranking, table.evidence.find([text], n_threads=1))
    whole, alone = table.ranker.shares(found, label)
    one: Any = without_features(label, model.classes_[label])
    if label < model.base_.n_labels_:
        one = _explain_words(model, row, label, None)
    name = table.evidence.describe(text, label) or "no name"
    terms = [(name, whole - alone), ("rank among candidates", alone - one.score)]
    return one.with_terms(terms, row.shape[1])
