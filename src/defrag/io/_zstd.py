"""Zstandard: of the standard library since Python 3.14, of an extra before."""

from __future__ import annotations

from typing import Any

__all__ = ["load_zstd"]


def load_zstd() -> Any:
    """Return the module of Zstandard, or None if there is none."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415
    except ImportError:
        try:
            from backports import zstd  # noqa: PLC0415 - an extra
        except ImportError:
            return None
    return zstd
