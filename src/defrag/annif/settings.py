"""Conversion of the settings of an Annif project, strings, to a text classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from defrag._parameters import rules_of
from defrag.classifiers._base import Classifier
from defrag.focusing import Focused
from defrag.specs import checked, find_class, parse_value
from defrag.text.classifier import TextClassifier, default_vectorizer
from defrag.text.vectorizer import TextVectorizer

_OF_TEXTS = {name for name in rules_of(TextVectorizer) if name not in {"n_jobs", "verbose"}}
_OWN = {"answers", "classifier", "focus", "names", "random_state"}
# Settings that Annif itself reads from the section of a project.
_OF_ANNIF = {
    "access", "allow_learn", "analyzer", "backend", "language", "limit", "name", "project_id",
    "transform", "vocab",
}  # fmt: skip


# Languages that join words or inflect them: runs of characters find what words share. On the
# validation part of makupalat (Finnish), F1@5 is .145 with words and pairs, .251 with five
# characters, .258 with three trees as well.
_JOINING = frozenset(["da", "de", "et", "fi", "hu", "is", "nb", "nl", "nn", "no", "se", "sv", "tr"])
_OF_JOINING = {"characters": 5, "n_trees": 3}


def build_classifier(settings: Mapping[str, Any], *, n_jobs: int) -> TextClassifier:
    """Return the classifier that the settings of a project describe.

    - ``settings``: strings, as in ``projects.cfg``: ``classifier`` (a word of ``defrag train``;
      default ``label-tree``), ``focus`` (default true), ``random_state`` (default 0), parameters of
      :class:`defrag.TextVectorizer` and of the classifier. Others are ignored. Without any about
      texts, some languages have runs of characters, and three trees unless a number is given.

    Examples
    --------
    >>> build_classifier({"characters": "4", "n_trees": "3", "vocab": "yso"}, n_jobs=1)
    TextClassifier(base=Focused(base=LabelTree(n_trees=3)), n_jobs=1,
                   random_state=0, vectorizer=TextVectorizer(characters=4))
    """
    kind = _kind(settings)
    own = kind().get_params()
    of_classifier = {name: _value(settings[name]) for name in settings if name in own}
    of_texts = {name: _value(settings[name]) for name in settings if name in _OF_TEXTS}
    language = "" if settings.get("analyzer") else str(settings.get("language", ""))
    if not of_texts and language.partition("-")[0] in _JOINING:
        of_texts = {"characters": _OF_JOINING["characters"]}
        if "n_trees" in own:
            of_classifier.setdefault("n_trees", _OF_JOINING["n_trees"])
    of_classifier.pop("random_state", None)
    base: Classifier | None = None
    if of_classifier or not {"classifier", "focus"}.isdisjoint(settings):
        base = checked(kind(**of_classifier))
        if _value(settings.get("focus", "true")):
            base = Focused(base)
    # Without settings of texts, the trial decides.
    vectorizer = checked(default_vectorizer(**of_texts)) if of_texts else None
    seed = _value(settings.get("random_state", "0"))
    return TextClassifier(base, vectorizer, random_state=seed, n_jobs=n_jobs)


def tried_settings(trial: Any, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings that a trial of Optuna suggests, of those that the classifier has."""
    known = _kind(settings)().get_params()
    tried = {"characters": trial.suggest_categorical("characters", ["none", "4", "5"])}
    if "n_trees" in known:
        tried["n_trees"] = str(trial.suggest_int("n_trees", 1, 3))
    if "C" in known:
        tried["C"] = str(trial.suggest_float("C", 0.3, 3.0, log=True))
    return tried


def unknown_settings(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of settings that neither the classifier nor Annif uses."""
    known = {*_OF_ANNIF, *_OWN, *_OF_TEXTS, *_kind(settings)().get_params()}
    return sorted(set(settings) - known)


def _kind(settings: Mapping[str, Any]) -> type[Classifier]:
    return find_class(str(settings.get("classifier", "label-tree")), "classifier")


def _value(setting: Any) -> Any:
    return parse_value(setting) if isinstance(setting, str) else setting
