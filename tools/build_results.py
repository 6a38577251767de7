"""Writes the results pages of the manual from the records in docs/results/records.

    python tools/build_results.py

New records come from ``defrag reproduce NAME --data DIR --results docs/results``.
"""

from __future__ import annotations

from pathlib import Path

from defrag.report.results import write_pages

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "results"


def main() -> None:
    """Write every page and print its name."""
    for page in write_pages(FOLDER):
        print(page.relative_to(FOLDER.parent.parent))


if __name__ == "__main__":
    main()
