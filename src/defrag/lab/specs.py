"""Estimators as JSON: their words in the registry and all their parameters.

A run happens in a process of its own, and its record says what was run: both need an estimator
that is plain data. Seeds, threads and progress bars are not part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag import registry
from defrag.lab import peers

if TYPE_CHECKING:
    from defrag._estimator import Estimator
    from defrag.lab.corpus import Corpus

__all__ = ["Spec", "build", "describe", "run_seconds", "title"]

Spec = dict[str, Any]
"""``{"estimator": word, "parameters": {...}}``; an inner estimator is a value of that form."""

_NOT_PART = frozenset({"random_state", "n_jobs", "verbose"})


def describe(estimator: Estimator) -> Spec:
    """Return an estimator as plain data.

    Parameters
    ----------
    estimator : estimator of the registry
        Fitted or not; what was learnt is not described.

    Returns
    -------
    spec : dict
        Its word and all its parameters, defaults included, so that a default that changes in a
        later version is not mistaken for the same run.

    Examples
    --------
    >>> from defrag import Agglomerated, Defrag, LabelTree
    >>> spec = describe(Agglomerated(LabelTree(3), Defrag()))
    >>> spec["estimator"], spec["parameters"]["base"]["parameters"]["n_trees"]
    ('agglomerated', 3)
    """
    name = type(estimator).__name__
    words = [entry.word for entry in registry.entries() if entry.name == name]
    if not words:
        raise ValueError(f"an experiment needs estimators of the registry, got {name}")
    parameters = {
        parameter: _plain(value, f"{parameter} of {name}")
        for parameter, value in sorted(estimator.get_params(deep=False).items())
        if parameter not in _NOT_PART
    }
    return {"estimator": words[0], "parameters": parameters}


def build(spec: Spec) -> Any:
    """Return the estimator that :func:`describe` has described.

    Examples
    --------
    >>> from defrag.baselines import Parabel
    >>> build(describe(Parabel(2))).n_trees
    2
    """
    kind = registry.find(spec["estimator"]).estimator()
    return kind(**{name: _restored(value) for name, value in spec["parameters"].items()})


def title(spec: Spec) -> str:
    """Return a short name: the class and the parameters that are not defaults.

    Examples
    --------
    >>> from defrag import Agglomerated, Defrag, LabelTree
    >>> title(describe(Agglomerated(LabelTree(3), Defrag("xy"))))
    "Agglomerated(LabelTree(n_trees=3), Defrag(representation='xy'))"
    """
    entry = registry.find(spec["estimator"])
    usual = entry.estimator()().get_params(deep=False)
    words = []
    for name, value in spec["parameters"].items():
        if isinstance(value, dict):
            words.append((name != "base", title(value)))
        elif value != _plain(usual[name], name):
            words.append((True, f"{name}={value!r}"))
    inner = ", ".join(word for _, word in sorted(words, key=lambda pair: pair[0]))
    return f"{entry.name}({inner})"


def run_seconds(spec: Spec, corpus: Corpus) -> float:
    """Return an estimate of the CPU seconds of a run, right within a factor of two or so.

    Parameters
    ----------
    spec : Spec
        An estimator, whose prediction takes little beside its training, or one of the other
        programs.
    corpus : Corpus
        The data.
    """
    train = corpus.train
    if spec["estimator"] in peers.PEERS:
        n_test = corpus.facts.test_points
        return peers.run_seconds(spec["estimator"], train.X, train.Y, n_test)
    seconds: float = build(spec).training_cost(train.X, train.Y).seconds
    return seconds


def _plain(value: Any, owner: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, owner) for item in value]
    if hasattr(value, "get_params"):
        return describe(value)
    raise ValueError(f"{owner} must be a number, a word or an estimator in an experiment, "
                     f"got {type(value).__name__}")  # fmt: skip


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return build(value)
    if isinstance(value, list):
        return tuple(_restored(item) for item in value)
    return value
