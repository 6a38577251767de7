"""Settings of the manual."""

from __future__ import annotations

from importlib.metadata import version as installed_version

project = "defrag"
author = "the defrag developers"
release = installed_version("defrag")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_typehints = "none"
exclude_patterns = ["build"]
html_theme = "furo"
html_title = "defrag"
# Docstrings inherited from scikit-learn refer to its own glossary.
suppress_warnings = ["ref.term", "ref.ref"]
