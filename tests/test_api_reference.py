"""The API reference of the manual has every public name."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import defrag

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs" / "api").glob("*.md"))
TEXT = "".join(page.read_text(encoding="utf-8") for page in PAGES)
MODULES = re.findall(r"^\.\. automodule:: (\S+)$", TEXT, re.MULTILINE)


def test_public_names_are_described_once():
    named = re.findall(r"^\.\. auto(?:class|function):: defrag\.(\w+)$", TEXT, re.MULTILINE)
    inside = [name for module in MODULES for name in importlib.import_module(module).__all__]
    rooms = [name for name in defrag.__all__ if f"defrag.{name}" in MODULES]
    assert {"baselines", "metrics"} == set(rooms)
    missing = set(defrag.__all__) - set(named) - set(inside) - set(rooms)
    assert missing == set()
    assert len(set(named)) == len(named)


def test_pages_are_more_than_lists():
    for page in PAGES:
        words = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL).split()
        assert len(words) > 30, page.name


def test_pages_load_no_formula_renderer():
    described = [getattr(defrag, name) for name in defrag.__all__]
    for module in map(importlib.import_module, MODULES):
        described += [module, *(getattr(module, name) for name in module.__all__)]
    texts = [page.read_text(encoding="utf-8") for page in PAGES[0].parent.parent.rglob("*.md")]
    texts += [inspect.getdoc(one) or "" for one in described]
    assert len(texts) > 100
    assert not [text for text in texts if ":math:" in text or ".. math::" in text]
