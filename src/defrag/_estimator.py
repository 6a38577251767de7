"""What lets an estimator be saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from defrag.io.files import PathLike

__all__ = ["Saveable"]


class Saveable:
    """Gives an estimator the method ``save``."""

    def save(self, path: PathLike) -> None:
        """Write the fitted model to one file; :func:`defrag.load` reads it.

        Parameters
        ----------
        path : path
            The file, by habit ``*.safetensors``. It appears whole or not at all; the same
            model gives the same bytes. ``n_jobs`` and ``verbose`` are not part of the model.
        """
        self._write(path)

    def _write(self, path: PathLike, **options: Any) -> None:
        """Save with the options of :func:`defrag.persistence.save`."""
        # Here, not above: the table of kinds stands over all estimators, this one included.
        from defrag import persistence  # noqa: PLC0415

        persistence.save(self, path, **options)
