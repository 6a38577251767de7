"""Estimators as data: words, settings and JSON, and the nesting of composites.

An estimator is written down in four places: the flags of ``defrag train``, a word such as
``label-tree:n_trees=3`` of ``defrag compare`` and the studies, the settings of an Annif project,
and the JSON of records, which has the form of the parameters in a model file. All of them are read
here, so that a word means the same everywhere; the rule of which part stands around which is in
:func:`compose` alone. Called by ``cli``, ``lab`` and ``annif``.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from defrag import registry
from defrag._validation import check_seed

if TYPE_CHECKING:
    from defrag._estimator import Estimator
    from defrag.focusing import Focus
    from defrag.imputation import Fiat

NONE = "none"
"""The word for None, and for no groups, no re-ranking and no imputation."""

FOCUS = "focus"
"""The word for focused rows in place of groups, or beside them: ``tight+focus``."""


class Variant(NamedTuple):
    """A grouping of features with a short word: its name, its clustering and what it fixes."""

    name: str
    clustering: str
    fixed: dict[str, Any]

    @property
    def kind(self) -> type[Any]:
        """The class of the clustering."""
        return _class(self.clustering)


VARIANTS = {
    "x": Variant("DEFRAG-X", "defrag", {}),
    "xy": Variant("DEFRAG-XY", "defrag", {"representation": "xy"}),
    "n": Variant("DEFRAG-N", "defrag", {"split": "ndcg"}),
    "hybrid": Variant("Hybrid", "hybrid", {}),
    "tight": Variant("Tight", "tight", {}),
}
"""The variants of the paper, and our own."""

# --- Words: ``label-tree:n_trees=3,preset=fast``.

_WORDS = {"true": True, "yes": True, "false": False, "no": False, NONE: None, "": None}
_FORMS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    (r"[-+]?\d+", int),
    (r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", float),
    (r"\d+\s*[,-]\s*\d+", lambda text: tuple(int(part) for part in re.split("[,-]", text))),
)


def parse_value(text: str) -> Any:
    """Return the value of a parameter: a number, a range, a truth value, None or a word.

    Examples
    --------
    >>> [parse_value(text) for text in ("3", "1e-2", "3-5", "yes", "none", "fast")]
    [3, 0.01, (3, 5), True, None, 'fast']
    """
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for form, read in _FORMS:
        if re.fullmatch(form, word):
            return read(word)
    return text


def with_setting(word: str, parameter: str, value: Any) -> str:
    """Return a word with one more parameter."""
    return f"{word}{',' if ':' in word else ':'}{parameter}={value}"


def find_class(word: str, role: registry.Role) -> type[Any]:
    """Return the class of an estimator by its word.

    - Raises ValueError if the role has no such estimator.
    """
    known = {entry.word: entry for entry in registry.entries(role)}
    if word not in known:
        raise ValueError(f"no {role} is called {word!r}: use one of {', '.join(known)}")
    return known[word].estimator()


def parse_estimator(text: str, role: registry.Role) -> Any:
    """Return the estimator of ``word`` or ``word:parameter=value,parameter=value``.

    Examples
    --------
    >>> parse_estimator("dismec:C=2", "classifier").C
    2
    """
    kind = find_class(text.partition(":")[0], role)
    return checked(kind(**_settings(text, kind)))


def parse_groups(text: str) -> tuple[str, Any]:
    """Return the name and the clustering of a word such as ``hybrid`` or ``defrag:split=ndcg``."""
    if text in VARIANTS:
        found = VARIANTS[text]
        return found.name, found.kind(**found.fixed)
    words = [entry.word for entry in registry.entries("clustering")]
    if text.partition(":")[0] not in words:
        raise ValueError(
            f"no groups of features are called {text!r}: use none, {FOCUS}, "
            f"{', '.join(VARIANTS)} or one of {', '.join(words)}"
        )
    pooling = parse_estimator(text, "clustering")
    return _named(pooling), pooling


def parse_composite(
    classifier: str, groups: str = NONE, rerank: str = NONE, impute: str = NONE
) -> tuple[str, Any]:
    """Return the name and the estimator of words for its parts.

    Parameters
    ----------
    classifier : str
        Word of a classifier, with parameters or without.
    groups : str
        ``none``, ``focus``, a word of ``VARIANTS`` or a clustering of the registry, or two of
        them: ``tight+focus``.
    rerank, impute : str
        ``none``, or the kind of prototypes and the mode of imputation, with parameters of
        ``Refrag`` and ``Fiat`` or without.

    Examples
    --------
    >>> parse_composite("label-tree:n_trees=3", "xy")[0]
    'LabelTree(n_trees=3), DEFRAG-XY'
    """
    foreign = foreign_class(classifier)
    if foreign is not None:
        if (groups, rerank, impute) != (NONE, NONE, NONE):
            raise ValueError(f"{classifier!r} is not of defrag: it takes no groups and the like")
        return foreign
    model = parse_estimator(classifier, "classifier")
    names, parts = [_named(model)], {}
    for word in groups.split("+"):
        if word.partition(":")[0] == FOCUS:
            parts["focus"] = parse_estimator(word, "focus")
            names.append(_named(parts["focus"]))
        elif word != NONE:
            name, parts["groups"] = parse_groups(word)
            names.append(name)
    if rerank != NONE:
        kind = rerank.partition(":")[0]
        parts["rerank"] = {"co_occurrence": kind, **_settings(rerank, _class("refrag"))}
        names.append(f"REFRAG {rerank}")
    if impute != NONE:
        fiat = _class("fiat")
        parts["impute"] = fiat(impute.partition(":")[0], **_settings(impute, fiat))
        names.append(f"FIAT {impute}")
    return ", ".join(names), compose(model, **parts)


_FOREIGN = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)(?::(.*))?")

ENTRY_POINTS = "defrag.classifiers"
"""The group of entry points by which packages give classifiers a word."""


def foreign_class(text: str) -> tuple[str, Any] | None:
    """Return the name and the estimator of ``package.module:Class:parameter=value``, or None.

    So are the words of other packages, entry points of the group ``defrag.classifiers``. The class
    is any with ``fit(X, Y)`` and one of ``predict_topk``, ``decision_function``, ``predict_proba``
    and ``predict``.

    Examples
    --------
    >>> foreign_class("sklearn.neighbors:KNeighborsClassifier:n_neighbors=3")
    ('KNeighborsClassifier(n_neighbors=3)', KNeighborsClassifier(n_neighbors=3))
    """
    match = _FOREIGN.fullmatch(text)
    found: Any = None
    if match is None:
        word, _, settings = text.partition(":")
        given = [point for point in entry_points(group=ENTRY_POINTS) if point.name == word]
        found = given[0].load() if given else None
    else:
        module, name, settings = match.groups()
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"{text!r}: {error}") from None
    if found is None:
        return None
    if not hasattr(found, "fit"):
        raise ValueError(f"{text!r}: must be a class with fit, got {found!r:.60}")
    try:
        made = [part.partition("=") for part in filter(None, (settings or "").split(","))]
        model = found(**{name: parse_value(value) for name, _, value in made})
    except TypeError as error:
        raise ValueError(f"{text!r}: {error}") from None
    return " ".join(found.__name__.split()) + (f"({settings})" if settings else "()"), model


def compose(
    base: Any,
    *,
    groups: Any = None,
    focus: Focus | None = None,
    rerank: Mapping[str, Any] | None = None,
    impute: Fiat | None = None,
    run: Mapping[str, Any] | None = None,
    **of_groups: Any,
) -> Any:
    """Return a classifier inside the composites that are given; their parameters are checked.

    Groups of features stand next to the classifier, focused rows around them (but inside tight
    groups, which are shorter rows to focus), then re-ranking, and imputation outermost: it fills in
    features before all others see them.

    - ``groups``: a clustering of features.
    - ``rerank``, ``of_groups``: parameters of :class:`defrag.Refrag` and of
      :class:`defrag.Agglomerated`.
    - ``run``: ``random_state`` and ``n_jobs`` of every composite.

    Examples
    --------
    >>> from defrag import Focus, LabelTree
    >>> compose(LabelTree(), focus=Focus(), rerank={"gamma": 2.0})
    Refrag(base=Focused(base=LabelTree(), focus=Focus()), gamma=2.0)
    """
    shared = dict(run or {})
    model = checked(base)
    if focus is not None and isinstance(groups, _class("tight")):
        model, focus = checked(_class("focused")(model, checked(focus), **shared)), None
    if groups is not None:
        whole = _class("agglomerated")
        model = checked(whole(model, checked(groups), **of_groups, **shared))
    if focus is not None:
        model = checked(_class("focused")(model, checked(focus), **shared))
    if rerank is not None:
        model = checked(_class("refrag")(model, **rerank, **shared))
    if impute is not None:
        model = checked(_class("imputed")(model, checked(impute), **shared))
    return model


def _class(word: str) -> type[Any]:
    """Return a class by its word; its module is imported now, so that others need not be."""
    return registry.find(word).estimator()


def checked(estimator: Any) -> Any:
    """Return an estimator after checking its parameters, before any data are read."""
    estimator._check_parameters()
    check_seed(vars(estimator).get("random_state"))
    return estimator


def _settings(text: str, kind: type[Any]) -> dict[str, Any]:
    """Return the parameters after the colon of a word."""
    parameters: dict[str, Any] = {}
    names = kind().get_params(deep=False)
    for setting in filter(None, text.partition(":")[2].split(",")):
        name, found, value = setting.partition("=")
        if not found or name not in names:
            expected = f"parameter=value with a parameter of {kind.__name__}"
            raise ValueError(f"{text!r}: expected {expected}, got {setting!r}")
        parameters[name] = parse_value(value)
    return parameters


def _named(estimator: Any) -> str:
    return title(describe(estimator)).removesuffix("()")


# --- JSON: ``{"kind": "label_tree", "parameters": {...}}``, as in a model file.

Spec = dict[str, Any]
"""Kind and parameters of an estimator; an inner estimator is a value of that form."""

# Of the run, not of the method.
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
        Its kind and all its parameters, defaults included, so that a default that changes in a
        later version is not mistaken for the same estimator. Seeds, threads and progress bars are
        not part of it.

    Examples
    --------
    >>> from defrag import Agglomerated, Defrag, LabelTree
    >>> spec = describe(Agglomerated(LabelTree(3), Defrag()))
    >>> spec["kind"], spec["parameters"]["base"]["parameters"]["n_trees"]
    ('agglomerated', 3)
    """
    name = type(estimator).__name__
    kinds = [entry.kind for entry in registry.entries() if entry.name == name]
    if not kinds:
        raise ValueError(f"only estimators of the registry can be described, got {name}")
    parameters = {
        parameter: _plain(value, f"{parameter} of {name}")
        for parameter, value in sorted(estimator.get_params(deep=False).items())
        if parameter not in _NOT_PART
    }
    return {"kind": kinds[0], "parameters": parameters}


def describe_foreign(estimator: Any) -> Spec:
    """Return an estimator of another package as plain data, which :func:`build` takes."""
    known, kind = hasattr(estimator, "get_params"), type(estimator)
    own: dict[str, Any] = estimator.get_params(deep=False) if known else dict(vars(estimator))
    parameters = {name: _plain(value, name) for name, value in own.items()}
    return {"kind": f"{kind.__module__}:{kind.__qualname__}", "parameters": parameters}


def build(spec: Spec) -> Any:
    """Return the estimator that :func:`describe` has described.

    Examples
    --------
    >>> from defrag.baselines import Parabel
    >>> build(describe(Parabel(2))).n_trees
    2
    """
    if ":" in spec["kind"]:
        module, _, name = spec["kind"].partition(":")
        return getattr(importlib.import_module(module), name)(**spec["parameters"])
    parameters = {name: _restored(value) for name, value in spec["parameters"].items()}
    return _class(spec["kind"])(**parameters)


def title(spec: Spec) -> str:
    """Return a short name: the class and the parameters that are not defaults.

    Examples
    --------
    >>> from defrag import Agglomerated, Defrag, LabelTree
    >>> title(describe(Agglomerated(LabelTree(3), Defrag("xy"))))
    "Agglomerated(LabelTree(n_trees=3), Defrag(representation='xy'))"
    """
    entry = registry.find(spec["kind"])
    usual = entry.estimator()().get_params(deep=False)
    words = []
    for name, value in spec["parameters"].items():
        if isinstance(value, dict):
            words.append((name != "base", title(value)))
        elif value != _plain(usual[name], name):
            words.append((True, f"{name}={value!r}"))
    inner = ", ".join(word for _, word in sorted(words, key=lambda pair: pair[0]))
    return f"{entry.name}({inner})"


def _plain(value: Any, owner: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, owner) for item in value]
    if hasattr(value, "get_params"):
        return describe(value)
    kinds = "a number, a word or an estimator to be plain data"
    raise ValueError(f"{owner} must be {kinds}, got {type(value).__name__}")


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return build(value)
    if isinstance(value, list):
        return tuple(_restored(item) for item in value)
    return value
