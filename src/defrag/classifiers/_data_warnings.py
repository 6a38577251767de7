"""Warnings about data that a classifier can be trained on, but hardly was meant to be."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from defrag.exceptions import DataWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag._validation import Labels
    from defrag.typing import Csr

__all__ = ["check_names", "warn_of", "warn_of_data"]


def warn_of(message: str) -> None:
    # Attributed to the caller of the public method, which is wrapped once.
    warnings.warn(message, DataWarning, stacklevel=4)


def warn_of_data(X: Csr, labels: Labels) -> None:
    """Warn about data without features or with a single label."""
    if X.nnz == 0:
        warn_of("X has no features: all points get the same labels")
    n_labels = np.count_nonzero(np.bincount(labels.matrix.indices, minlength=1))
    if n_labels == 1:
        noun = "label" if labels.multilabel else "class"
        warn_of(f"Y has a single {noun}")


def check_names(what: str, names: Sequence[str], length: int) -> None:
    if isinstance(names, str) or len(names) != length:
        got = repr(names) if isinstance(names, str) else len(names)
        raise ValueError(f"{what} must be {length} strings, got {got}")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(  # noqa: TRY004 - as every other bad value
                f"{what} must be strings, got {name!r}"
            )
    if len(set(names)) < length:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        # Shown at the caller of save.
        message = f"{what} has {twice!r} more than once"
        warnings.warn(message, DataWarning, stacklevel=3)
