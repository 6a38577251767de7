"""A backend for Annif, the subject indexing tool of national libraries.

The modules are divided by what may be imported: this one, by the settings of a server, imports
nothing; ``plugin``, by every Flask application, nothing of Annif outside of it; ``backend`` needs
Annif; ``settings`` does not, and is tested without it.
"""

from __future__ import annotations

__all__ = ["register"]


def register() -> None:
    """Register ``backend=defrag`` with Annif.

    The command ``annif`` does this itself if this package is installed. A process that imports
    Annif must call it once; a process that another program starts, such as gunicorn, can call
    it in the file named by the environment variable ``ANNIF_SETTINGS``.
    """
    # Annif has no public way to add a backend: this is its table of backends.
    from annif.backend import _backend_fns  # noqa: PLC0415 - an extra

    _backend_fns.setdefault("defrag", _backend)


def _backend() -> type:
    from defrag.annif.backend import DefragBackend  # noqa: PLC0415 - only when a project uses it

    return DefragBackend
