"""Zstandard: from the standard library since Python 3.14, from an extra before."""

from __future__ import annotations

from typing import Any

__all__ = ["load_zstd"]


def load_zstd() -> Any:
    """Return the Zstandard module, or None if it is not installed."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415
    except ImportError:
        try:
            from backports import zstd  # noqa: PLC0415 - an extra
        except ImportError:
            return None
    return zstd
