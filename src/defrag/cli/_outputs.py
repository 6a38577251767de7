"""Checks of output paths before any work is done."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from defrag.io.files import without_compression

__all__ = ["check_model_path", "check_report_path", "check_stdout", "check_targets"]


def check_stdout(path: str, *, as_json: bool) -> None:
    """Raise ValueError if a file and the result would both go to stdout."""
    if as_json and path == "-":
        raise ValueError("--json and an output of - would both write to standard output")


def check_targets(outputs: dict[str, str | None], inputs: dict[str, str | None]) -> None:
    """Raise ValueError if an output is one of the inputs or another output.

    Files are compared by device and inode, so that links and other spellings of a path are
    found. Devices, FIFOs and standard streams may be read and written by one command.

    Parameters
    ----------
    outputs, inputs : dict of str to str or None
        Paths by the name of their argument or flag; None if not given.
    """
    written: list[tuple[str, str]] = []
    for name, path in outputs.items():
        if path is None or path == "-":
            continue
        for other, source in (*inputs.items(), *written):
            if source is not None and _are_same(path, source):
                raise ValueError(f"{path}: {name} is the same file as {other}")
        written.append((name, path))


def check_model_path(model: str) -> None:
    """Raise an error if a model file cannot be written."""
    if model == "-":
        return
    if model != without_compression(model):
        raise ValueError(f"{model}: a model file is memory-mapped and cannot be compressed")
    path = Path(os.path.realpath(model))
    code = 0
    if path.is_dir():
        code = errno.EISDIR
    elif not path.parent.is_dir():
        code = errno.ENOENT
    elif not path.exists() and not os.access(path.parent, os.W_OK):
        code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code), model)


def check_report_path(path: Path) -> None:
    """Raise an OSError if a report cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PermissionError(f"{path}: cannot be written; --report names another file, or none")


def _are_same(path: str, other: str) -> bool:
    if other == "-":
        return False
    if Path(path).is_file() and Path(other).is_file():
        return Path(path).samefile(other)
    if Path(path).exists() or Path(other).exists():
        return False
    return os.path.realpath(path) == os.path.realpath(other)
