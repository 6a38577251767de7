"""Write the parts of the README and the manual that show records of docs/results/records.

    python tools/build_results.py

Writes the results pages, of which git has only the one that the README names, the tables between
comments in README.md and docs/*.md, and the picture of the README. New records come from ``defrag reproduce all --data DIR
--results docs/results``.
"""

from pathlib import Path

from defrag.lab.results import draw_picture, filled, write_pages

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main() -> None:
    """Write all files and print the names of those that changed."""
    for page in write_pages(FOLDER):
        print(page.relative_to(ROOT))
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = filled(old, FOLDER)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))
    picture = ROOT / "docs" / "pictures" / "texts.svg"
    picture.write_text(draw_picture(FOLDER), encoding="utf-8")


if __name__ == "__main__":
    main()
