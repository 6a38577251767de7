"""Settings of the manual."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from defrag.lab.results import filled, write_pages

HERE = Path(__file__).resolve().parent

project = "defrag"
author = "the defrag developers"
copyright = "the defrag developers"  # noqa: A001 - the name that Sphinx reads
release = installed_version("defrag")
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_typehints = "none"
exclude_patterns = ["build"]
html_theme = "furo"
html_title = "defrag"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
# Docstrings inherited from scikit-learn refer to its own glossary.
suppress_warnings = ["ref.term", "ref.ref"]


def write_generated(_: Any) -> None:
    """Write the reference of the command line and the pages of results before pages are read."""
    sys.path.insert(0, str(HERE.parent / "tools"))
    from command_reference import reference  # noqa: PLC0415 - found by the line before

    (HERE / "generated").mkdir(exist_ok=True)
    (HERE / "generated" / "commands.md").write_text(reference(), encoding="utf-8")
    write_pages(HERE / "results")


def fill_tables(_: Any, __: str, source: list[str]) -> None:
    """Write the tables of records between their two comments."""
    source[0] = filled(source[0], HERE / "results")


def setup(app: Any) -> None:
    """Connect what is generated to the build."""
    app.connect("builder-inited", write_generated, priority=400)
    app.connect("source-read", fill_tables)
