"""Classifiers and vectorisers, built from the words and flags of the command line."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from defrag import registry
from defrag._validation import check_seed
from defrag.agglomeration import Defrag, Hybrid
from defrag.classifiers import Agglomerated
from defrag.cli._flags import flag_name
from defrag.focusing import Focus, Focused
from defrag.imputation import Fiat, Imputed
from defrag.reranking import Refrag
from defrag.text.classifier import default_vectorizer
from defrag.text.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier

Estimator = TypeVar("Estimator", bound="Classifier | Defrag | Fiat | Focus")

__all__ = [
    "FOCUS_FLAGS",
    "IMPUTE_FLAGS",
    "PRESETS",
    "RERANK_FLAGS",
    "VECTORIZER_FLAGS",
    "Agglomeration",
    "Base",
    "Impute",
    "Preset",
    "Rerank",
    "Weights",
    "build",
    "build_composed",
    "build_vectorizer",
    "classifiers",
    "focuses",
]

Base = Enum("Base", {e.word: e.word for e in registry.entries("classifier")}, type=str)  # type: ignore[misc] # the registry names the members


class Preset(str, Enum):
    """Variants of the paper, and the recommended one."""

    x = "x"
    xy = "xy"
    n = "n"
    hybrid = "hybrid"


PRESETS: dict[Preset, tuple[type[Defrag], dict[str, Any]]] = {
    Preset.x: (Defrag, {}),
    Preset.xy: (Defrag, {"representation": "xy"}),
    Preset.n: (Defrag, {"split": "ndcg"}),
    Preset.hybrid: (Hybrid, {}),
}

Agglomeration = Enum(  # type: ignore[misc] # likewise
    "Agglomeration", {word: word for word in ("none", *(p.value for p in Preset))}, type=str
)


def classifiers() -> list[type[Classifier]]:
    """Return the classifiers that can be trained."""
    return [entry.estimator() for entry in registry.entries("classifier")]


class Rerank(str, Enum):
    """Prototypes of re-ranking."""

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


class Weights(str, Enum):
    """Types of the weights in a model file."""

    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


def focuses(classifier: str, agglomerate: str, *, texts: bool) -> bool:
    """Return the default of ``--focus``: true where focusing costs no precision."""
    return (texts or classifier == "label-tree") and agglomerate == "none"


def build_composed(
    word: str,
    agglomerate: str,
    parameters: dict[str, Any],
    *,
    focus: bool,
    rerank: Rerank,
    impute: Impute,
    run: dict[str, Any],
) -> Classifier:
    """Return a classifier with imputation and focusing before and re-ranking after it.

    Parameters
    ----------
    word : str
        The classifier.
    agglomerate : str
        A preset of feature groups, or ``none``.
    parameters : dict
        Parameters that the user has set.
    focus : bool
        Whether rows are focused.
    rerank, impute : words
        Kind of re-ranking and imputation, or none.
    run : dict
        ``random_state`` and ``n_jobs``.
    """
    # Parts may share the name of a parameter with the classifier.
    of_classifier = registry.find(word).estimator().parameter_rules
    others = dict(parameters)
    taken: dict[str, dict[str, Any]] = {}
    chosen = {"focus": focus, "rerank": rerank.value != "none", "impute": impute.value != "none"}
    used = [part for part, on in chosen.items() if on]
    flags = {"focus": FOCUS_FLAGS, "rerank": RERANK_FLAGS, "impute": IMPUTE_FLAGS}
    for part, names in flags.items():
        taken[part] = {name: others[name] for name in names if name in others}
    for name in {name for mine in taken.values() for name in mine}:
        owners = [part for part in flags if name in taken[part]]
        if not set(owners) & set(used) and name in of_classifier:
            continue
        if not set(owners) & set(used):
            words = " or ".join(f"--{part}" for part in owners)
            raise ValueError(f"{flag_name(name)} changes nothing without {words}")
        others.pop(name)
    model = build(word, agglomerate, others, **run)
    if focus:
        # An explicit Focus instead of None, so that the model file lists its parameters.
        model = _checked(Focused(model, _checked(Focus(**taken["focus"])), **run))
    if "rerank" in used:
        model = _checked(Refrag(model, co_occurrence=rerank.value, **taken["rerank"], **run))
    if "impute" in used:
        rows = _checked(Fiat(impute.value, **taken["impute"]))
        model = _checked(Imputed(model, rows, **run))
    return model


def _own_flags(estimator: type[Any], without: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parameters of an estimator that are flags of ``train``."""
    hidden = {*without, "n_jobs"}
    rules = estimator.parameter_rules
    return tuple(name for name in rules if name not in hidden)


FOCUS_FLAGS = _own_flags(Focus, ())
RERANK_FLAGS = _own_flags(Refrag, ("co_occurrence",))
IMPUTE_FLAGS = _own_flags(Fiat, ("mode", "prefit", "row_norm"))
VECTORIZER_FLAGS = _own_flags(TextVectorizer, ("verbose",))


def build(
    word: str, agglomerate: str, parameters: dict[str, Any], *, random_state: int, n_jobs: int
) -> Classifier:
    """Return a classifier with progress bars.

    Parameters
    ----------
    word : str
        The classifier.
    agglomerate : str
        A preset of feature groups, or ``none``.
    parameters : dict
        Parameters that the user has set. Names of parameters of a classifier belong to the
        classifier, others to the agglomeration.
    random_state, n_jobs : int
        Seed and number of threads.
    """
    kind: type[Classifier] = registry.find(word).estimator()
    of_classifiers = {name for one in classifiers() for name in one().get_params()}
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


def build_vectorizer(parameters: dict[str, Any]) -> TextVectorizer:
    """Return the default vectoriser with the parameters that the user has set."""
    vectorizer = default_vectorizer(**parameters, verbose=1)
    vectorizer.check_parameters()
    return vectorizer


def _checked(estimator: Estimator) -> Estimator:
    """Return an estimator after checking its parameters, before any data are read."""
    estimator.check_parameters()
    check_seed(estimator.random_state)
    return estimator
