"""Classifiers of texts by their words on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag.cli._models import build, build_over
from defrag.focusing import Focused
from defrag.text.classifier import TextClassifier, default_base, default_vectorizer
from defrag.text.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.cli._models import Impute, Rerank

__all__ = ["VECTORIZER_FLAGS", "build_text_classifier"]

VECTORIZER_FLAGS = tuple(
    name for name in TextVectorizer.parameter_rules if name not in {"n_jobs", "verbose"}
)
"""Parameters that ``train`` hands on to the vectoriser."""


def build_text_classifier(
    word: str,
    agglomerate: str | None,
    parameters: dict[str, Any],
    *,
    rerank: Rerank,
    impute: Impute,
    run: dict[str, Any],
) -> TextClassifier:
    """Return a classifier of texts with progress bars.

    Parameters
    ----------
    word : str
        The classifier.
    agglomerate : str or None
        A preset of feature groups, ``none``, or None if the user has not set it: then the
        classifier is trained on focused rows, the default of ``TextClassifier``.
    parameters : dict
        Parameters that the user has set.
    rerank, impute : words
        Kind of re-ranking and imputation, or none.
    run : dict
        ``random_state`` and ``n_jobs``.
    """
    of_texts = {name: parameters[name] for name in VECTORIZER_FLAGS if name in parameters}
    others = {name: value for name, value in parameters.items() if name not in of_texts}
    vectorizer = default_vectorizer().set_params(**of_texts, verbose=1)
    vectorizer.check_parameters()

    def inner(rest: dict[str, Any], settings: dict[str, Any]) -> Classifier:
        if agglomerate is not None:
            return build(word, agglomerate, rest, **settings)
        base = build(word, "none", {**_recommended(word), **rest}, **settings)
        return Focused(base, **settings)

    base = build_over(inner, others, rerank=rerank, impute=impute, run=run)
    return TextClassifier(base, vectorizer, **run)


def _recommended(word: str) -> dict[str, Any]:
    """Return the number of trees that ``TextClassifier`` has by default."""
    return {"n_trees": default_base().get_params()["base__n_trees"]} if word == "label-tree" else {}
