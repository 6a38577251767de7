"""Registry of estimators.

Public names, model files, ``train --classifier``, ``cluster --method``, cost estimates and the
contract tests are derived from it. To add an estimator, add one line to ``_ESTIMATORS``; modules
are imported on first use.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entry", "Role", "entries", "find", "kinds", "registered"]

Role: TypeAlias = Literal[
    "classifier", "composite", "clustering", "imputation", "focus", "vectorizer", "text"
]
"""A composite is a classifier around another classifier, a clustering groups features, an
imputation fills in missing features, a focus selects entries of points, a vectorizer turns texts
into points, and a text classifier combines a vectorizer and a classifier.
LPSR, which has a default base, counts as a classifier."""


@dataclass(frozen=True)
class Entry:
    """An estimator and its names in Python, on the command line and in model files.

    Parameters
    ----------
    name : str
        Name of the class.
    room : str
        The module that exports it.
    word : str
        Name on the command line.
    role : Role
        Kind of estimator.
    """

    name: str
    room: str
    word: str
    role: Role

    @property
    def kind(self) -> str:
        """Name in model files."""
        return self.word.replace("-", "_")

    def estimator(self) -> type[Any]:
        """Return the class."""
        found: type[Any] = getattr(importlib.import_module(self.room), self.name)
        return found


_CLASSIFIERS, _BASELINES = "defrag.classifiers", "defrag.baselines"

_ESTIMATORS: list[Entry] = [
    Entry("LabelTree", _CLASSIFIERS, "label-tree", "classifier"),
    Entry("DiSMEC", _CLASSIFIERS, "dismec", "classifier"),
    Entry("Parabel", _BASELINES, "parabel", "classifier"),
    Entry("Bonsai", _BASELINES, "bonsai", "classifier"),
    Entry("PLT", _BASELINES, "plt", "classifier"),
    Entry("PPDSparse", _BASELINES, "ppd-sparse", "classifier"),
    Entry("ProXML", _BASELINES, "proxml", "classifier"),
    Entry("SLEEC", _BASELINES, "sleec", "classifier"),
    Entry("AnnexML", _BASELINES, "annexml", "classifier"),
    Entry("LEML", _BASELINES, "leml", "classifier"),
    Entry("LPSR", _BASELINES, "lpsr", "classifier"),
    Entry("FastXML", _BASELINES, "fastxml", "classifier"),
    Entry("PfastreXML", _BASELINES, "pfastrexml", "classifier"),
    Entry("CRAFTML", _BASELINES, "craftml", "classifier"),
    Entry("Agglomerated", "defrag.agglomeration", "agglomerated", "composite"),
    Entry("Refrag", "defrag.reranking", "refrag", "composite"),
    Entry("Imputed", "defrag.imputation", "imputed", "composite"),
    Entry("Focused", "defrag.focusing", "focused", "composite"),
    Entry("Focus", "defrag.focusing", "focus", "focus"),
    Entry("Fiat", "defrag.imputation", "fiat", "imputation"),
    Entry("TextVectorizer", "defrag.text", "text-vectorizer", "vectorizer"),
    Entry("TextClassifier", "defrag.text", "text-classifier", "text"),
    Entry("Defrag", "defrag.agglomeration", "defrag", "clustering"),
    Entry("Hybrid", "defrag.agglomeration", "hybrid", "clustering"),
    Entry("ITDC", _BASELINES, "itdc", "clustering"),
    Entry("SCBC", _BASELINES, "scbc", "clustering"),
    Entry("LSC", _BASELINES, "lsc", "clustering"),
    Entry("BCLS", _BASELINES, "bcls", "clustering"),
    Entry("RandomGroups", _BASELINES, "random-groups", "clustering"),
    Entry("HashGroups", _BASELINES, "hash-groups", "clustering"),
    Entry("TopFeatures", _BASELINES, "top-features", "clustering"),
]  # fmt: skip


def entries(*roles: Role) -> tuple[Entry, ...]:
    """Return the estimators of some roles, or all of them, in the order of the list."""
    return tuple(entry for entry in _ESTIMATORS if not roles or entry.role in roles)


def kinds(*roles: Role) -> tuple[str, ...]:
    """Return the names in model files of the estimators of some roles."""
    return tuple(entry.kind for entry in entries(*roles))


def find(word: str) -> Entry:
    """Return the estimator with a name on the command line or in model files.

    Raises
    ------
    KeyError
        If there is none.
    """
    for entry in _ESTIMATORS:
        if word in {entry.word, entry.kind}:
            return entry
    raise KeyError(word)


@contextmanager
def registered(entry: Entry) -> Iterator[Entry]:
    """Register an estimator inside a ``with`` statement.

    With this, a program can train its own estimator from the command line, save it and load it
    like any other.
    """
    for other in _ESTIMATORS:
        if {entry.name, entry.word} & {other.name, other.word}:
            raise ValueError(f"{entry.name} ({entry.word}) is already registered")
    _ESTIMATORS.append(entry)
    try:
        yield entry
    finally:
        _ESTIMATORS.remove(entry)
