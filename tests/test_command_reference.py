"""The reference of the command line names every verb and every flag."""

import importlib.util
import re
from pathlib import Path

import pytest

from defrag.cli.app import VERBS, import_verb

PATH = Path(__file__).resolve().parents[1] / "tools" / "command_reference.py"


@pytest.fixture(scope="module")
def text():
    spec = importlib.util.spec_from_file_location("command_reference", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference()


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
