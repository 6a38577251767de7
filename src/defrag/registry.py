"""Registry of estimators.

Public names, model files, ``train --classifier``, ``cluster --method``, cost estimates and the
contract tests are derived from it. To add an estimator, add one line to ``_ESTIMATORS``; modules
are imported on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal[
    "classifier", "composite", "clustering", "imputation", "focus", "vectorizer", "text"
]
"""A composite is a classifier around another classifier, a clustering groups features, an
imputation fills in missing features, a focus selects entries of points, a vectorizer turns texts
into points, and a text classifier combines a vectorizer and a classifier.
LPSR, which has a default base, counts as a classifier."""


@dataclass(frozen=True)
class Entry:
    """An estimator and its names in Python, on the command line and in model files."""

    # Name of the class.
    name: str
    # The module that has it, which is imported on first use.
    module: str
    # Name on the command line.
    word: str
    # Kind of estimator.
    role: Role

    @property
    def kind(self) -> str:
        """Name in model files."""
        return self.word.replace("-", "_")

    def estimator(self) -> type[Any]:
        """Return the class."""
        found: type[Any] = getattr(importlib.import_module(self.module), self.name)
        return found


_ESTIMATORS: list[Entry] = [
    Entry("LabelTree", "defrag.classifiers.label_tree", "label-tree", "classifier"),
    Entry("DiSMEC", "defrag.classifiers.one_vs_rest", "dismec", "classifier"),
    Entry("Parabel", "defrag.baselines.label_trees", "parabel", "classifier"),
    Entry("Bonsai", "defrag.baselines.label_trees", "bonsai", "classifier"),
    Entry("PLT", "defrag.baselines.label_trees", "plt", "classifier"),
    Entry("PPDSparse", "defrag.baselines.one_vs_rest", "ppd-sparse", "classifier"),
    Entry("ProXML", "defrag.baselines.one_vs_rest", "proxml", "classifier"),
    Entry("SLEEC", "defrag.baselines.sleec", "sleec", "classifier"),
    Entry("AnnexML", "defrag.baselines.annexml", "annexml", "classifier"),
    Entry("LEML", "defrag.baselines.leml", "leml", "classifier"),
    Entry("LPSR", "defrag.baselines.lpsr", "lpsr", "classifier"),
    Entry("FastXML", "defrag.baselines.forests", "fastxml", "classifier"),
    Entry("PfastreXML", "defrag.baselines.forests", "pfastrexml", "classifier"),
    Entry("CRAFTML", "defrag.baselines.forests", "craftml", "classifier"),
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
    Entry("Tight", "defrag.agglomeration", "tight", "clustering"),
    Entry("ITDC", "defrag.baselines.clusterings.itdc", "itdc", "clustering"),
    Entry("SCBC", "defrag.baselines.clusterings.scbc", "scbc", "clustering"),
    Entry("LSC", "defrag.baselines.clusterings.lsc", "lsc", "clustering"),
    Entry("BCLS", "defrag.baselines.clusterings.bcls", "bcls", "clustering"),
    Entry("RandomGroups", "defrag.baselines.clusterings.simple", "random-groups", "clustering"),
    Entry("HashGroups", "defrag.baselines.clusterings.simple", "hash-groups", "clustering"),
    Entry("TopFeatures", "defrag.baselines.clusterings.simple", "top-features", "clustering"),
]  # fmt: skip


def entries(*roles: Role) -> tuple[Entry, ...]:
    """Return the estimators of some roles, or all of them, in the order of the list."""
    return tuple(entry for entry in _ESTIMATORS if not roles or entry.role in roles)


def kinds(*roles: Role) -> tuple[str, ...]:
    """Return the names in model files of the estimators of some roles."""
    return tuple(entry.kind for entry in entries(*roles))


def find(word: str) -> Entry:
    """Return the estimator with a name on the command line or in model files.

    - Raises KeyError if there is none.
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
