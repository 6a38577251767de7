"""What lets an estimator be saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        # Here, not above: the table of kinds stands over all estimators, this one included.
        from defrag.persistence import save  # noqa: PLC0415

        save(self, path)
