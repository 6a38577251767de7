"""A backend for Annif, the subject indexing tool of national libraries."""

from __future__ import annotations

__all__ = ["register"]


def register() -> None:
    """Make ``backend=defrag`` known to Annif.

    The command ``annif`` does it by itself where this package is installed. A process that
    imports Annif calls it once; one that is started by another program, such as gunicorn, in
    the file that the variable ``ANNIF_SETTINGS`` names.
    """
    # Annif has no public way to add a backend: this table is the one that it reads.
    from annif.backend import _backend_fns  # noqa: PLC0415 - an extra

    _backend_fns["defrag"] = _backend


def _backend() -> type:
    from defrag.annif.backend import DefragBackend  # noqa: PLC0415 - when a project asks for it

    return DefragBackend
