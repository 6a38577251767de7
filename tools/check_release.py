"""Check that a tag, pyproject.toml, CHANGELOG.md and CITATION.cff name the same version.

Usage: python tools/check_release.py v0.1.0 [--notes]

With --notes, print the changelog section of the version.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def only_match(pattern: str, name: str) -> str:
    """Return the first group of the only match of a pattern in a file."""
    found = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    if len(found) != 1:
        sys.exit(f"{name}: {len(found)} lines like {pattern}, 1 expected")
    return str(found[0])


def release_notes(version: str) -> tuple[str, str]:
    """Return the date and the changelog section of a version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)\n(.*?)(?=^## |\Z)"
    found = re.search(heading, text, re.MULTILINE | re.DOTALL)
    if found is None or not found[2].strip():
        sys.exit(f"CHANGELOG.md: no section '## {version} (YYYY-MM-DD)' with text in it")
    return found[1], found[2].strip()


def main() -> None:
    """Check one tag."""
    tag, *options = sys.argv[1:]
    version = only_match(r'^version = "(.+)"$', "pyproject.toml")
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, but pyproject.toml has version {version}")
    date, notes = release_notes(version)
    cited = only_match(r'^version: "?([^"\n]+)"?$', "CITATION.cff")
    released = only_match(r'^date-released: "?([^"\n]+)"?$', "CITATION.cff")
    if (cited, released) != (version, date):
        sys.exit(f"CITATION.cff: {cited} of {released}, but the changelog has {version} of {date}")
    if "--notes" in options:
        print(notes)


if __name__ == "__main__":
    main()
