"""Check that outputs differ from inputs and from each other."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["check_targets"]


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


def _are_same(path: str, other: str) -> bool:
    if other == "-":
        return False
    if Path(path).is_file() and Path(other).is_file():
        return Path(path).samefile(other)
    if Path(path).exists() or Path(other).exists():
        return False
    return os.path.realpath(path) == os.path.realpath(other)
