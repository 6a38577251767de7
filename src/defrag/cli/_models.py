"""Classifiers and vectorisers, built from the words and flags of the command line."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from defrag import registry
from defrag._validation import check_seed
from defrag.agglomeration import Agglomerated, Defrag, FeatureClustering, Hybrid
from defrag.cli._flags import flag_name
from defrag.focusing import Focus, Focused
from defrag.imputation import Fiat, Imputed
from defrag.reranking import Refrag
from defrag.text.classifier import default_vectorizer
from defrag.text.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier

Estimator = TypeVar("Estimator", bound="Classifier | FeatureClustering | Fiat | Focus")

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


PRESETS: dict[Preset, tuple[type[FeatureClustering], dict[str, Any]]] = {
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
    chosen = {"focus": focus, "rerank": rerank.value != "none", "impute": impute.value != "none"}
    used = {part for part, on in chosen.items() if on}
    of_parts = _flags_of_parts(parameters)
    model = build(word, agglomerate, _flags_of_base(word, parameters, of_parts, used), **run)
    if "focus" in used:
        # An explicit Focus instead of None, so that the model file lists its parameters.
        model = _checked(Focused(model, _checked(Focus(**of_parts["focus"])), **run))
    if "rerank" in used:
        model = _checked(Refrag(model, co_occurrence=rerank.value, **of_parts["rerank"], **run))
    if "impute" in used:
        rows = _checked(Fiat(impute.value, **of_parts["impute"]))
        model = _checked(Imputed(model, rows, **run))
    return model


def _flags_of_parts(parameters: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the parameters that each part would take."""
    names = {"focus": FOCUS_FLAGS, "rerank": RERANK_FLAGS, "impute": IMPUTE_FLAGS}
    return {
        part: {name: parameters[name] for name in mine if name in parameters}
        for part, mine in names.items()
    }


def _flags_of_base(
    word: str, parameters: dict[str, Any], of_parts: dict[str, dict[str, Any]], used: set[str]
) -> dict[str, Any]:
    """Return the parameters that no part takes; refuse those of parts that are not used."""
    # Parts may share the name of a parameter with the classifier.
    of_classifier = registry.find(word).estimator().parameter_rules
    left = {}
    for name, value in parameters.items():
        owners = [part for part, mine in of_parts.items() if name in mine]
        if used.intersection(owners):
            continue
        if owners and name not in of_classifier:
            words = " or ".join(f"--{part}" for part in owners)
            raise ValueError(f"{flag_name(name)} changes nothing without {words}")
        left[name] = value
    return left


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
    own, others = _split(word, kind, parameters)
    run: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
    if agglomerate == "none":
        for name in others:
            raise ValueError(f"{flag_name(name)} changes nothing with --agglomerate none")
        return _checked(kind(**own, **run, verbose=1))
    whole = {name: others.pop(name) for name in ("per_member",) if name in others}
    groups = _build_agglomeration(agglomerate, others)
    return _checked(Agglomerated(_checked(kind(**own, verbose=1)), groups, **whole, **run))


def _split(
    word: str, kind: type[Classifier], parameters: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of the classifier and the others; refuse those of another one."""
    of_classifiers = {name for one in classifiers() for name in one().get_params()}
    own = {name: value for name, value in parameters.items() if name in of_classifiers}
    known = kind().get_params()
    for name in own:
        if name not in known:
            raise ValueError(f"{flag_name(name)} is not a parameter of --classifier {word}")
    return own, {name: value for name, value in parameters.items() if name not in own}


def _build_agglomeration(preset: str, parameters: dict[str, Any]) -> FeatureClustering:
    """Return the clustering of a preset; refuse parameters that it has not or that it fixes."""
    pooling, fixed = PRESETS[Preset(preset)]
    known = pooling().get_params()
    for name in parameters:
        if name in fixed or name not in known:
            raise ValueError(f"{flag_name(name)} cannot be combined with --agglomerate {preset}")
    return _checked(pooling(**fixed, **parameters, verbose=1))


def build_vectorizer(parameters: dict[str, Any]) -> TextVectorizer:
    """Return the default vectoriser with the parameters that the user has set."""
    vectorizer = default_vectorizer(**parameters, verbose=1)
    vectorizer._check_parameters()
    return vectorizer


def _checked(estimator: Estimator) -> Estimator:
    """Return an estimator after checking its parameters, before any data are read."""
    estimator._check_parameters()
    check_seed(estimator.random_state)
    return estimator
