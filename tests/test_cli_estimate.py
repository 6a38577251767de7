"""What the command line says that training will cost."""

from __future__ import annotations

import pytest
from scipy import sparse

from cli_model_data import points
from defrag import (
    Agglomerated,
    DiSMEC,
    Hybrid,
    LabelTree,
)
from defrag.cli import _estimate


def test_estimate_grows_with_the_work():
    X, Y = points()
    one = _estimate.estimate(LabelTree(), X, Y)
    three = _estimate.estimate(LabelTree(3), X, Y)
    pooled = _estimate.estimate(Agglomerated(LabelTree(3), Hybrid()), X, Y)
    assert one.seconds < three.seconds < pooled.seconds
    assert one.bytes < three.bytes
    flat = _estimate.estimate(DiSMEC(), X, Y)
    many = sparse.hstack([Y] * 100, format="csr")
    assert _estimate.estimate(DiSMEC(), X, many).seconds == pytest.approx(50 * flat.seconds)
    assert _estimate.estimate(DiSMEC(), X, many).bytes > flat.bytes
    assert _estimate.estimate(Agglomerated(DiSMEC()), X, Y).seconds > flat.seconds
    assert _estimate.estimate(LabelTree(n_jobs=2), X, Y).seconds == one.seconds / 2


@pytest.mark.parametrize(
    ("seconds", "size", "said"),
    [
        (0.1, 10, "about 1 s, 1 MB"),
        (3.2, 120e6, "about 3 s, 120 MB"),
        (600, 2.3e9, "about 10 min, 2.3 GB"),
        (9000, 1e9, "about 2.5 h, 1.0 GB"),
    ],
)
def test_estimate_in_words(seconds, size, said):
    assert _estimate.Estimate(seconds, size).shown() == said
