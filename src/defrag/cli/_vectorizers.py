"""Vectorisers of texts on the command line."""

from __future__ import annotations

from typing import Any

from defrag.text.classifier import default_vectorizer
from defrag.text.vectorizer import TextVectorizer

__all__ = ["VECTORIZER_FLAGS", "build_vectorizer"]

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
