"""Folders with the same files, made once in a process and copied."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path


@functools.cache
def _written(fill):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        return {
            path.relative_to(folder): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))  # a folder before what it contains
        }


def copy_filled(fill, folder):
    """Write into an empty folder what a function writes into one."""
    for path, content in _written(fill).items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)
