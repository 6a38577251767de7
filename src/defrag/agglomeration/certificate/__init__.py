"""The theorem: how far scores move when weights are tied by groups of features."""

from __future__ import annotations

from defrag.agglomeration.certificate._certificate import (
    Certificate,
    certificate,
    label_certificate,
    lipschitz,
    tie_weights,
    untie,
)

__all__ = [
    "Certificate",
    "certificate",
    "label_certificate",
    "lipschitz",
    "tie_weights",
    "untie",
]
