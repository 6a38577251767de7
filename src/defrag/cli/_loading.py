"""Loading of classifiers for the verbs that predict and explain."""

from __future__ import annotations

from typing import Any

from defrag._progress import progress_pulse
from defrag.classifiers._base import Classifier
from defrag.cli._console import escaped
from defrag.persistence import load
from defrag.text import TextClassifier

__all__ = ["label_of_word", "load_classifier"]


def load_classifier(path: str, n_jobs: int | None = None) -> Classifier | TextClassifier:
    """Load the classifier of a model file.

    Raises
    ------
    ValueError
        If the file holds another kind of model.
    """
    with progress_pulse(f"reading {escaped(path)}"):
        model = load(path)
    if not isinstance(model, (Classifier, TextClassifier)):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{path}: is a {type(model).__name__}, not a classifier"
        )
    model.set_params(n_jobs=n_jobs)
    return model


def label_of_word(model: Classifier | TextClassifier, word: str) -> Any:
    """Return the label that a word denotes: a name, a class, or otherwise an id."""
    if isinstance(model, TextClassifier):
        return word
    if model.class_names_ is not None:
        return next((one for one in model.class_names_ if str(one) == word), word)
    if model.label_names_ is not None and word in model.label_names_:
        return word
    return int(word) if word.isdecimal() else word
