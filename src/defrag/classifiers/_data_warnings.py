"""Warnings about data that are valid but probably not what the user intended."""

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

__all__ = ["check_names", "warn_about_data", "warn_data"]


def warn_data(message: str, *, n_helpers: int = 0) -> None:
    """Warn the user about the data passed to a public method.

    Parameters
    ----------
    message : str
        The warning.
    n_helpers : int
        Number of functions between the public method and this one.
    """
    # Attributed to the user's code, which calls the wrapper of the method, the method, this.
    warnings.warn(message, DataWarning, stacklevel=4 + n_helpers)


def warn_about_data(X: Csr, labels: Labels) -> None:
    """Warn about data without features or with a single label."""
    if X.nnz == 0:
        warn_data("X has no features: all points get the same labels", n_helpers=1)
    n_labels = np.count_nonzero(np.bincount(labels.matrix.indices, minlength=1))
    if n_labels == 1:
        noun = "label" if labels.multilabel else "class"
        warn_data(f"Y has a single {noun}", n_helpers=1)


def check_names(what: str, names: Sequence[str], length: int) -> None:
    """Raise ValueError unless names are ``length`` strings; warn if they are not distinct."""
    if isinstance(names, str) or len(names) != length:
        got = repr(names) if isinstance(names, str) else len(names)
        raise ValueError(f"{what} must be {length} strings, got {got}")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(  # noqa: TRY004 - as for all invalid values
                f"{what} must be strings, got {name!r}"
            )
    if len(set(names)) < length:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        message = f"{what} has {twice!r} more than once"
        warnings.warn(message, DataWarning, stacklevel=3)  # the caller of save
