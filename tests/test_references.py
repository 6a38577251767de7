"""The references of the manual have every public name, every verb and every flag."""

import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

import defrag
from defrag.cli.app import VERBS, import_verb

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
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
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    texts += [inspect.getdoc(one) or "" for one in described]
    assert len(texts) > 100
    assert not [text for text in texts if ":math:" in text or ".. math::" in text]


@pytest.fixture(scope="module")
def text():
    return runpy.run_path(str(ROOT / "tools" / "command_reference.py"))["reference"]()


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_is_listed(text, verb):
    section = text.split(f"\n## {verb}\n")[1].split("\n## ")[0]
    for param in import_verb(verb).params:
        if param.param_type_name == "option" and not param.hidden:
            for flag in [*param.opts, *param.secondary_opts]:
                assert f"`{flag}`" in section or f"`{flag} " in section
            assert param.help, f"{verb} {param.opts[0]} has no help"


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_no_terminal_markup(verb):
    command = import_verb(verb)
    texts = [command.help, *(getattr(param, "help", None) for param in command.params)]
    assert [text for text in texts if re.search(r"(?<!\\)\[[a-z/@]", text or "")] == []


def test_defaults_and_examples_are_listed(text):
    section = text.split("\n## reproduce\n")[1].split("\n## ")[0]
    assert "    defrag reproduce NAME [OPTIONS]\n" in section
    assert "| `--budget SECONDS` | Budget of one run in CPU seconds, or none. | 120 |" in section
    assert "defrag reproduce table2 --data DIR --report table2.html\n" in section
    assert "\b" not in text
