"""The API reference of the manual has every public name."""

import importlib
import inspect
import re
from pathlib import Path

import defrag

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs" / "api").glob("*.md"))
TEXT = "".join(page.read_text(encoding="utf-8") for page in PAGES)
MODULES = re.findall(r"^\.\. automodule:: (\S+)$", TEXT, re.MULTILINE)


def test_public_names_are_described_once():
    named = re.findall(r"^\.\. auto(?:class|function):: (\S+)\.(\w+)$", TEXT, re.MULTILINE)
    described = [getattr(importlib.import_module(module), name) for module, name in named]
    for module in map(importlib.import_module, MODULES):
        described += [getattr(module, name) for name in module.__all__]
    assert len(set(MODULES)) == len(MODULES)
    twice = [one for one in described if sum(one is other for other in described) > 1]
    assert twice == []
    rooms = "agglomeration baselines classifiers distributed explain io lab metrics serving text"
    for room in (defrag, *(importlib.import_module(f"defrag.{name}") for name in rooms.split())):
        public = [name for name in room.__all__ if not inspect.ismodule(getattr(room, name))]
        assert not [
            name for name in public if not any(getattr(room, name) is one for one in described)
        ], room.__name__


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
