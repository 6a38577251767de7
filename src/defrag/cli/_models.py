"""Classifiers by the words that the command line has for them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from defrag._parameters import check_parameters
from defrag._validation import check_seed
from defrag.classifiers import (
    PLT,
    Agglomerated,
    Bonsai,
    DiSMEC,
    LabelTree,
    Parabel,
    PPDSparse,
    ProXML,
)
from defrag.cli._flags import flag_name
from defrag.cli.cluster import PRESETS, Preset
from defrag.imputation import Fiat, Imputed
from defrag.reranking import Refrag

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.agglomeration import Defrag
    from defrag.classifiers._base import Classifier

Estimator = TypeVar("Estimator", bound="Classifier | Defrag | Fiat")

__all__ = ["CLASSIFIERS", "Agglomeration", "Base", "Impute", "Rerank", "build", "build_over"]

CLASSIFIERS: dict[str, type[Classifier]] = {
    "label-tree": LabelTree,
    "parabel": Parabel,
    "bonsai": Bonsai,
    "plt": PLT,
    "dismec": DiSMEC,
    "ppdsparse": PPDSparse,
    "proxml": ProXML,
}
"""Every classifier that can be trained; a line here is all that a new one needs."""

Base = Enum("Base", {word: word for word in CLASSIFIERS}, type=str)  # type: ignore[misc] # the table names the members
Agglomeration = Enum(  # type: ignore[misc] # likewise
    "Agglomeration", {word: word for word in ("none", *(p.value for p in Preset))}, type=str
)


class Rerank(str, Enum):
    """What labels are ranked anew by, beside their propensities."""

    none = "none"
    identity = "identity"
    cosine = "cosine"
    block = "block"


class Impute(str, Enum):
    """How missing features are imputed."""

    none = "none"
    blend = "blend"
    cosine = "cosine"
    paper = "paper"


def build_over(
    inner: Callable[[dict[str, Any], dict[str, Any]], Classifier],
    parameters: dict[str, Any],
    *,
    rerank: Rerank,
    impute: Impute,
    run: dict[str, Any],
) -> Classifier:
    """Build a classifier with what comes before and after it.

    Parameters
    ----------
    inner : callable
        Makes the classifier of the other parameters and of ``run``.
    parameters : dict
        What the user set.
    rerank, impute : words
        Whether and how labels are ranked anew and rows imputed.
    run : dict
        ``random_state`` and ``n_jobs``.
    """
    others = dict(parameters)
    taken: dict[str, dict[str, Any]] = {}
    used = [word for word, on in (("rerank", rerank), ("impute", impute)) if on.value != "none"]
    for word, names in (("rerank", RERANK_FLAGS), ("impute", IMPUTE_FLAGS)):
        taken[word] = {name: others[name] for name in names if name in others}
    for name in {*taken["rerank"], *taken["impute"]}:
        owners = [word for word in ("rerank", "impute") if name in taken[word]]
        if not set(owners) & set(used):
            words = " or ".join(f"--{word}" for word in owners)
            raise ValueError(f"{flag_name(name)} changes nothing without {words}")
        others.pop(name)
    model = inner(others, run)
    if "rerank" in used:
        model = _checked(Refrag(model, co_occurrence=rerank.value, **taken["rerank"], **run))
    if "impute" in used:
        rows = _checked(Fiat(impute.value, **taken["impute"]))
        model = _checked(Imputed(model, rows, **run))
    return model


def _own_flags(estimator: type[Any], without: tuple[str, ...]) -> tuple[str, ...]:
    """Give the parameters of an estimator that are flags of their own."""
    hidden = {*without, "n_jobs"}
    rules = estimator._rules  # noqa: SLF001 - the one table there is
    return tuple(name for name in rules if name not in hidden)


RERANK_FLAGS = _own_flags(Refrag, ("co_occurrence",))
IMPUTE_FLAGS = _own_flags(Fiat, ("mode", "prefit", "row_norm"))


def build(
    word: str, agglomerate: str, parameters: dict[str, Any], *, random_state: int, n_jobs: int
) -> Classifier:
    """Build a classifier as the user asked for it, with progress bars.

    Parameters
    ----------
    word : str
        The classifier.
    agglomerate : str
        A preset of feature groups, or ``none``.
    parameters : dict
        What the user set. A name that some classifier has is about the classifier; any
        other is about the groups.
    random_state, n_jobs : int
        Of the whole.
    """
    kind = CLASSIFIERS[word]
    of_classifiers = {name for one in CLASSIFIERS.values() for name in one().get_params()}
    mine = {name: value for name, value in parameters.items() if name in of_classifiers}
    for name in mine:
        if name not in kind().get_params():
            raise ValueError(f"{flag_name(name)} is not a parameter of --classifier {word}")
    others = {name: value for name, value in parameters.items() if name not in mine}
    run: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
    if agglomerate == "none":
        for name in others:
            raise ValueError(f"{flag_name(name)} changes nothing with --agglomerate none")
        return _checked(kind(**mine, **run, verbose=1))
    whole = {name: others.pop(name) for name in ("per_member",) if name in others}
    pooling, fixed = PRESETS[Preset(agglomerate)]
    known = pooling().get_params()
    for name in others:
        if name in fixed or name not in known:
            flag = flag_name(name)
            raise ValueError(f"{flag} cannot be combined with --agglomerate {agglomerate}")
    groups = _checked(pooling(**fixed, **others, verbose=1))
    return _checked(Agglomerated(_checked(kind(**mine, verbose=1)), groups, **whole, **run))


def _checked(estimator: Estimator) -> Estimator:
    """Find out before any data are read that a parameter is wrong."""
    check_parameters(estimator, estimator._rules)  # noqa: SLF001 - the one table there is
    check_seed(estimator.random_state)
    return estimator
