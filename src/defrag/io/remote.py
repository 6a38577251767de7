"""Files of object stores by URI, such as ``s3://bucket/docs.jsonl.gz``: fsspec, an extra."""

from __future__ import annotations

import os
import re
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from defrag.io.files import PathLike


def is_uri(path: PathLike) -> bool:
    """Return whether a path names a file of a store.

    Examples
    --------
    >>> is_uri("s3://bucket/docs.jsonl"), is_uri("docs.jsonl")
    (True, False)
    """
    return re.match("[a-z][a-z0-9+.-]*://", os.fspath(path)) is not None


def open_uri(uri: PathLike) -> IO[bytes]:
    """Open a file of a store for reading, from any place in it."""
    files, path = _located(uri)
    return cast("IO[bytes]", files.open(path, "rb"))


def matching_uris(uri: str) -> list[str]:
    """Return the files of a store that match a pattern."""
    files, path = _located(uri)
    return [files.unstrip_protocol(one) for one in files.glob(path)]


def version_of(uri: PathLike) -> list[Any]:
    """Return what changes when a file of a store does, as far as the store says it."""
    files, path = _located(uri)
    found = files.info(path)
    return [os.fspath(uri), *(str(found.get(key)) for key in ("size", "ETag", "mtime", "created"))]


def _located(uri: PathLike) -> tuple[Any, str]:
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("files by URI need fsspec: pip install 'defrag[remote]'") from None
    found: tuple[Any, str] = fsspec.core.url_to_fs(os.fspath(uri))
    return found
