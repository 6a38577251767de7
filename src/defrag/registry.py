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
    public : bool
        Whether the package ``defrag`` exports it.
    """

    name: str
    room: str
    word: str
    role: Role
    codec: str
    public: bool = True

    @property
    def kind(self) -> str:
        """Name in model files."""
        return self.word.replace("-", "_")

    def estimator(self) -> type[Any]:
        """Return the class."""
        found: type[Any] = getattr(importlib.import_module(self.room), self.name)
        return found


_LABEL_TREES, _TREES_CODEC = "defrag.classifiers.label_trees", "label_trees:TreesCodec"
_ONE_VS_REST, _OVR_CODEC = "defrag.classifiers.one_vs_rest", "one_vs_rest:OneVsRestCodec"
_EMBEDDINGS, _NEIGHBOURS_CODEC = "defrag.classifiers.embeddings", "embeddings:NeighboursCodec"
_FORESTS = "defrag.classifiers.forests"
_RIVALS, _GROUPS_CODEC = "defrag.agglomeration.rivals", "agglomeration:PoolingCodec"

_ESTIMATORS: list[Entry] = [
    Entry("LabelTree", _LABEL_TREES, "label-tree", "classifier", _TREES_CODEC),
    Entry("Parabel", _LABEL_TREES, "parabel", "classifier", _TREES_CODEC),
    Entry("Bonsai", _LABEL_TREES, "bonsai", "classifier", _TREES_CODEC),
    Entry("PLT", _LABEL_TREES, "plt", "classifier", _TREES_CODEC),
    Entry("DiSMEC", _ONE_VS_REST, "dismec", "classifier", _OVR_CODEC),
    Entry("PPDSparse", _ONE_VS_REST, "ppd-sparse", "classifier", _OVR_CODEC),
    Entry("ProXML", _ONE_VS_REST, "proxml", "classifier", _OVR_CODEC),
    Entry("SLEEC", _EMBEDDINGS, "sleec", "classifier", _NEIGHBOURS_CODEC),
    Entry("AnnexML", _EMBEDDINGS, "annexml", "classifier", _NEIGHBOURS_CODEC),
    Entry("LEML", _EMBEDDINGS, "leml", "classifier", "embeddings:LEMLCodec"),
    Entry("LPSR", "defrag.classifiers", "lpsr", "classifier", "lpsr:LPSRCodec"),
    Entry("FastXML", _FORESTS, "fastxml", "classifier", "forests:FastXMLCodec"),
    Entry("PfastreXML", _FORESTS, "pfastrexml", "classifier", "forests:PfastreXMLCodec"),
    Entry("CRAFTML", _FORESTS, "craftml", "classifier", "forests:CRAFTMLCodec"),
    Entry("Agglomerated", "defrag.classifiers", "agglomerated", "composite",
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
    Entry("ITDC", _RIVALS, "itdc", "clustering", _GROUPS_CODEC, public=False),
    Entry("SCBC", _RIVALS, "scbc", "clustering", _GROUPS_CODEC, public=False),
    Entry("LSC", _RIVALS, "lsc", "clustering", _GROUPS_CODEC, public=False),
    Entry("BCLS", _RIVALS, "bcls", "clustering", _GROUPS_CODEC, public=False),
    Entry("RandomGroups", _RIVALS, "random-groups", "clustering", _GROUPS_CODEC, public=False),
    Entry("HashGroups", _RIVALS, "hash-groups", "clustering", _GROUPS_CODEC, public=False),
    Entry("TopFeatures", _RIVALS, "top-features", "clustering", _GROUPS_CODEC, public=False),
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
