"""Classifiers of texts by their words on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag.cli._models import build, build_over
from defrag.text.classifier import TextClassifier, default_base, default_vectorizer
from defrag.text.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from collections.abc import Collection

    from defrag.classifiers._base import Classifier
    from defrag.cli._models import Impute, Rerank

__all__ = ["VECTORIZER_FLAGS", "build_text_classifier", "build_vectorizer"]

VECTORIZER_FLAGS = tuple(
    name for name in TextVectorizer.parameter_rules if name not in {"n_jobs", "verbose"}
)
"""Parameters that ``train`` hands on to the vectoriser."""


def build_vectorizer(parameters: dict[str, Any]) -> TextVectorizer:
    """Return the default vectoriser with the parameters that the user has set."""
    given = dict(parameters)
    if given.get("characters") is not None:
        given.setdefault("ngrams", 1)  # characters replace words, and so pairs of words
    vectorizer: TextVectorizer = default_vectorizer().set_params(**given, verbose=1)
    vectorizer.check_parameters()
    return vectorizer


def build_text_classifier(
    word: str,
    agglomerate: str,
    parameters: dict[str, Any],
    *,
    of_classifier: Collection[str],
    focus: bool | None,
    rerank: Rerank,
    impute: Impute,
    run: dict[str, Any],
) -> TextClassifier:
    """Return a classifier of texts with progress bars.

    Parameters
    ----------
    word : str
        The classifier.
    agglomerate : str
        A preset of feature groups, or ``none``.
    parameters : dict
        Parameters that the user has set.
    of_classifier : names
        Parameters of the classifier, which may be those of the other parts too.
    focus : bool or None
        Whether rows are focused; None if the user has not set it: then they are unless
        features are grouped, as in ``TextClassifier``.
    rerank, impute : words
        Kind of re-ranking and imputation, or none.
    run : dict
        ``random_state`` and ``n_jobs``.
    """
    of_texts = {name: parameters[name] for name in VECTORIZER_FLAGS if name in parameters}
    others = {name: value for name, value in parameters.items() if name not in of_texts}
    vectorizer = build_vectorizer(of_texts)

    def inner(rest: dict[str, Any], settings: dict[str, Any]) -> Classifier:
        recommended = _recommended(word) if focused else {}
        return build(word, agglomerate, {**recommended, **rest}, **settings)

    focused = agglomerate == "none" if focus is None else focus
    base = build_over(
        inner,
        others,
        of_classifier=of_classifier,
        focus=focused,
        rerank=rerank,
        impute=impute,
        run=run,
    )
    return TextClassifier(base, vectorizer, **run)


def _recommended(word: str) -> dict[str, Any]:
    """Return the number of trees that ``TextClassifier`` has by default."""
    return {"n_trees": default_base().get_params()["base__n_trees"]} if word == "label-tree" else {}
