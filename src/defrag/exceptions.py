"""Exceptions and warnings of defrag."""

from __future__ import annotations


class DefragError(Exception):
    """Base class of the exceptions of defrag."""


class FormatError(DefragError, ValueError):
    """A file violates a rule of its format.

    Parameters
    ----------
    path : str
        Name of the file.
    message : str
        The rule and the value that violates it.
    line : int, optional
        Line number, counted from 1.

    Examples
    --------
    >>> from defrag.exceptions import FormatError
    >>> str(FormatError("train.txt", "feature index 905, but the header declares 900", 17))
    'train.txt:17: feature index 905, but the header declares 900'
    """

    def __init__(self, path: str, message: str, line: int | None = None) -> None:
        self.path = path
        self.message = message
        self.line = line
        super().__init__(path, message, line)

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


class DataWarning(UserWarning):
    """Data were accepted, but are probably not what was intended."""


class FormatWarning(UserWarning):
    """A file was read, but part of it looks wrong."""


class ModelFormatError(FormatError):
    """A model file is damaged, hostile, or written by a newer version."""
