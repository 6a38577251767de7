"""Write what is committed of the results: their page of texts, tables and picture of the README.

    python tools/build_results.py

Every other page and table is made with the manual. New records come from ``defrag reproduce all
--data DIR --results docs/results``.
"""

from pathlib import Path

from defrag.lab.results import draw_picture, filled, write_pages

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "results"
README = ROOT / "README.md"


def main() -> None:
    """Write all files."""
    write_pages(FOLDER)
    README.write_text(filled(README.read_text(encoding="utf-8"), FOLDER), encoding="utf-8")
    picture = ROOT / "docs" / "pictures" / "texts.svg"
    picture.write_text(draw_picture(FOLDER), encoding="utf-8")


if __name__ == "__main__":
    main()
