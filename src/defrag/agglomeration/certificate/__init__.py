"""Tied weights, and bounds on how much tying changes the scores of a linear model."""

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
