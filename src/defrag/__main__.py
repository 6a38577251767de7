"""``python -m defrag`` is the ``defrag`` command."""

from __future__ import annotations

from defrag.cli import main

main()
