"""Methods by words: a classifier, a reduction before it, re-ranking and imputation.

``label-tree:n_trees=3,preset=fast`` is a word of the registry and parameters of the estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from defrag import registry
from defrag.agglomeration import Agglomerated, Defrag, Hybrid
from defrag.focusing import Focused
from defrag.imputation import Fiat, Imputed
from defrag.lab.specs import describe, title
from defrag.reranking import Refrag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.lab.specs import Spec

__all__ = ["FOCUS", "NONE", "Method", "combine", "parse_estimator", "parse_groups"]

NONE = "none"
"""The word for no groups, no re-ranking, no imputation."""

FOCUS = "focus"
"""The word for focused rows in place of groups."""

_GROUPS = {
    "x": ("DEFRAG-X", Defrag()),
    "xy": ("DEFRAG-XY", Defrag("xy")),
    "n": ("DEFRAG-N", Defrag(split="ndcg")),
    "hybrid": ("Hybrid", Hybrid()),
}
"""Short words of the paper's variants and of the recommended agglomeration."""


@dataclass(frozen=True)
class Method:
    """A named estimator of an experiment."""

    name: str
    spec: Spec


def combine(
    classifiers: Sequence[str],
    agglomerate: Sequence[str] = (NONE,),
    rerank: Sequence[str] = (NONE,),
    impute: Sequence[str] = (NONE,),
) -> list[Method]:
    """Return every combination of classifiers, groups, re-ranking and imputation.

    Parameters
    ----------
    classifiers : sequence of str
        Words of classifiers, with parameters or without.
    agglomerate : sequence of str
        ``none``, ``x``, ``xy``, ``n``, ``hybrid``, or a clustering of the registry or
        ``focus``, with parameters or without.
    rerank, impute : sequence of str
        ``none``, or the kind of prototypes and the mode of imputation, with parameters of
        ``Refrag`` and ``Fiat`` or without.

    Examples
    --------
    >>> for method in combine(["label-tree:n_trees=3"], ["none", "xy"]):
    ...     print(method.name)
    LabelTree(n_trees=3)
    LabelTree(n_trees=3), DEFRAG-XY
    """
    methods = []
    for word, groups, order, filling in product(classifiers, agglomerate, rerank, impute):
        model = parse_estimator(word, "classifier")
        names = [_named(model)]
        if groups.partition(":")[0] == FOCUS:
            focus = parse_estimator(groups, "focus")
            model = _checked(Focused(model, focus))
            names.append(_named(focus))
        elif groups != NONE:
            name, pooling = parse_groups(groups)
            model = _checked(Agglomerated(model, pooling))
            names.append(name)
        if order != NONE:
            prototypes, settings = _settings(order, Refrag)
            model = _checked(Refrag(model, co_occurrence=prototypes, **settings))
            names.append(f"REFRAG {order}")
        if filling != NONE:
            mode, settings = _settings(filling, Fiat)
            model = Imputed(model, _checked(Fiat(mode, **settings)))
            names.append(f"FIAT {filling}")
        methods.append(Method(", ".join(names), describe(model)))
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is there twice")
    return methods


def parse_estimator(text: str, role: registry.Role) -> Any:
    """Return the estimator of ``word`` or ``word:parameter=value,parameter=value``.

    Parameters
    ----------
    text : str
        The word of an estimator of the registry, and its parameters.
    role : Role
        What the estimator must be.

    Examples
    --------
    >>> parse_estimator("dismec:C=2", "classifier").C
    2
    """
    word = text.partition(":")[0]
    known = {entry.word: entry for entry in registry.entries(role)}
    if word not in known:
        raise ValueError(f"no {role} is called {word!r}: use one of {', '.join(known)}")
    kind = known[word].estimator()
    return _checked(kind(**_settings(text, kind)[1]))


def _settings(text: str, kind: type[Any]) -> tuple[str, dict[str, Any]]:
    """Return the word before a colon and the parameters after it."""
    word, _, settings = text.partition(":")
    parameters: dict[str, Any] = {}
    names = kind().get_params(deep=False)
    for setting in filter(None, settings.split(",")):
        name, found, value = setting.partition("=")
        if not found or name not in names:
            raise ValueError(
                f"{text!r}: expected parameter=value with a parameter of {kind.__name__}, "
                f"got {setting!r}"
            )
        parameters[name] = _value(value)
    return word, parameters


def parse_groups(text: str) -> tuple[str, Any]:
    """Return the name and the clustering of a word such as ``hybrid`` or ``defrag:split=ndcg``."""
    if text in _GROUPS:
        return _GROUPS[text]
    words = [entry.word for entry in registry.entries("clustering")]
    if text.partition(":")[0] not in words:
        raise ValueError(
            f"no groups of features are called {text!r}: use none, {FOCUS}, "
            f"{', '.join(_GROUPS)} or one of {', '.join(words)}"
        )
    pooling = parse_estimator(text, "clustering")
    return _named(pooling), pooling


def _named(estimator: Any) -> str:
    return title(describe(estimator)).removesuffix("()")


def _checked(estimator: Any) -> Any:
    estimator.check_parameters()
    return estimator


def _value(text: str) -> Any:
    """Return a number, a truth value, None or a word."""
    words = {"true": True, "false": False, NONE: None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    return int(text) if text.lstrip("+-").isdecimal() else number
