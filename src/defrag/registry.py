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
    codec : str
        The class that writes and reads model files, as ``module:class`` inside
        ``defrag.persistence.codecs``.
    """

    name: str
    room: str
    word: str
    role: Role
    codec: str

    @property
    def kind(self) -> str:
        """Name in model files."""
        return self.word.replace("-", "_")

    def estimator(self) -> type[Any]:
        """Return the class."""
        found: type[Any] = getattr(importlib.import_module(self.room), self.name)
        return found


_CLASSIFIERS, _BASELINES = "defrag.classifiers", "defrag.baselines"
_TREES_CODEC, _OVR_CODEC = "label_trees:TreesCodec", "one_vs_rest:OneVsRestCodec"
_NEIGHBOURS_CODEC, _GROUPS_CODEC = "embeddings:NeighboursCodec", "agglomeration:PoolingCodec"

_ESTIMATORS: list[Entry] = [
    Entry("LabelTree", _CLASSIFIERS, "label-tree", "classifier", _TREES_CODEC),
    Entry("DiSMEC", _CLASSIFIERS, "dismec", "classifier", _OVR_CODEC),
    Entry("Parabel", _BASELINES, "parabel", "classifier", _TREES_CODEC),
    Entry("Bonsai", _BASELINES, "bonsai", "classifier", _TREES_CODEC),
    Entry("PLT", _BASELINES, "plt", "classifier", _TREES_CODEC),
    Entry("PPDSparse", _BASELINES, "ppd-sparse", "classifier", _OVR_CODEC),
    Entry("ProXML", _BASELINES, "proxml", "classifier", _OVR_CODEC),
    Entry("SLEEC", _BASELINES, "sleec", "classifier", _NEIGHBOURS_CODEC),
    Entry("AnnexML", _BASELINES, "annexml", "classifier", _NEIGHBOURS_CODEC),
    Entry("LEML", _BASELINES, "leml", "classifier", "embeddings:LEMLCodec"),
    Entry("LPSR", _BASELINES, "lpsr", "classifier", "lpsr:LPSRCodec"),
    Entry("FastXML", _BASELINES, "fastxml", "classifier", "forests:FastXMLCodec"),
    Entry("PfastreXML", _BASELINES, "pfastrexml", "classifier", "forests:PfastreXMLCodec"),
    Entry("CRAFTML", _BASELINES, "craftml", "classifier", "forests:CRAFTMLCodec"),
    Entry("Agglomerated", "defrag.agglomeration", "agglomerated", "composite",
          "agglomerated:AgglomeratedCodec"),
    Entry("Refrag", "defrag.reranking", "refrag", "composite", "reranking:RefragCodec"),
    Entry("Imputed", "defrag.imputation", "imputed", "composite", "imputation:ImputedCodec"),
    Entry("Focused", "defrag.focusing", "focused", "composite", "focusing:FocusedCodec"),
    Entry("Focus", "defrag.focusing", "focus", "focus", "focusing:FocusCodec"),
    Entry("Fiat", "defrag.imputation", "fiat", "imputation", "imputation:FiatCodec"),
    Entry("TextVectorizer", "defrag.text", "text-vectorizer", "vectorizer", "text:VectorizerCodec"),
    Entry("TextClassifier", "defrag.text", "text-classifier", "text", "text:TextClassifierCodec"),
    Entry("Defrag", "defrag.agglomeration", "defrag", "clustering", _GROUPS_CODEC),
    Entry("Hybrid", "defrag.agglomeration", "hybrid", "clustering", _GROUPS_CODEC),
    Entry("ITDC", _BASELINES, "itdc", "clustering", _GROUPS_CODEC),
    Entry("SCBC", _BASELINES, "scbc", "clustering", _GROUPS_CODEC),
    Entry("LSC", _BASELINES, "lsc", "clustering", _GROUPS_CODEC),
    Entry("BCLS", _BASELINES, "bcls", "clustering", _GROUPS_CODEC),
    Entry("RandomGroups", _BASELINES, "random-groups", "clustering", _GROUPS_CODEC),
    Entry("HashGroups", _BASELINES, "hash-groups", "clustering", _GROUPS_CODEC),
    Entry("TopFeatures", _BASELINES, "top-features", "clustering", _GROUPS_CODEC),
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
