"""The data set ``debian`` of defrag, which ``defrag.load_dataset("debian")`` reads."""

from __future__ import annotations

from pathlib import Path

DEBIAN: Path = Path(__file__).parent / "debian.xz"
