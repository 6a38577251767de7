"""Annif's folders: a file ``x.txt`` per text, its labels in ``x.tsv`` or ``x.key``.

A ``tsv`` file has ``<uri><TAB>name`` on each line, a ``key`` file a name; if there are both,
the ``tsv`` file is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag.exceptions import FormatError
from defrag.io.corpora._documents import Document, numbered_lines
from defrag.io.files import open_input

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from defrag.io.corpora._documents import CorpusOptions
    from defrag.io.limits import ReadLimits

__all__ = ["is_folder", "read_folder"]


def is_folder(path: Path) -> bool:
    """Return whether a folder has a text with labels."""
    names = {file.name for file in path.iterdir()}
    stems = {name.removesuffix(".txt") for name in names if name.endswith(".txt")}
    return any({f"{stem}.tsv", f"{stem}.key"} & names for stem in stems)


def read_folder(
    folder: Path, options: CorpusOptions, limits: ReadLimits | None
) -> Iterator[Document]:
    """Yield the documents of a folder, in the order of their file names."""
    files = {path.name: path for path in folder.iterdir()}
    for name in sorted(files):
        if name.endswith(".txt"):
            labels = None
            if options.labels != "ignored":
                labels = _labels(files, name.removesuffix(".txt"), limits)
            yield Document(None, _text(files[name], limits), labels, str(files[name]))


def _text(path: Path, limits: ReadLimits | None) -> str:
    with open_input(path, limits) as stream:
        return "\n".join(line for _, line in numbered_lines(stream))


def _labels(files: dict[str, Path], stem: str, limits: ReadLimits | None) -> list[str] | None:
    if f"{stem}.tsv" in files:
        with open_input(files[f"{stem}.tsv"], limits) as stream:
            return [_uri(stream.name, *line) for line in numbered_lines(stream) if line[1].strip()]
    if f"{stem}.key" in files:
        with open_input(files[f"{stem}.key"], limits) as stream:
            return [line.strip() for _, line in numbered_lines(stream) if line.strip()]
    return None


def _uri(name: str, number: int, line: str) -> str:
    uri = line.split("\t", maxsplit=1)[0].strip().removeprefix("<").removesuffix(">")
    if not uri:
        raise FormatError(name, "expected <uri><TAB>name, got no URI", number)
    return uri
