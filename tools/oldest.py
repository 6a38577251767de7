"""Print the lower bounds of pyproject.toml as exact versions, one requirement per line.

Covers build and runtime requirements; test tools are not pinned.
"""

import sys
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# The oldest typer does not restrict click: it warns with 8.5; 8.1 has no separate stderr in tests.
OF_THEIR_TIME = ["click==8.2.1"]

ROOT = Path(__file__).resolve().parent.parent


def pinned(text: str) -> str:
    """Return a requirement pinned to its lower bound."""
    requirement = Requirement(text)
    bounds = [bound.version for bound in requirement.specifier if bound.operator == ">="]
    if len(bounds) != 1:
        sys.exit(f"pyproject.toml: {text} must have one lower bound (>=), has {len(bounds)}")
    return f"{requirement.name}=={bounds[0]}"


def main() -> None:
    """Print the requirements."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for text in settings["build-system"]["requires"] + settings["project"]["dependencies"]:
        print(pinned(text))
    print(*OF_THEIR_TIME, sep="\n")


if __name__ == "__main__":
    main()
