"""Generate the reference of the command line from the commands.

    python tools/command_reference.py > commands.md

The manual calls :func:`reference` when it is built, so that it is never out of date.
"""

import re
from typing import Any

from defrag.cli.app import VERBS, import_verb

HEAD = """# Commands and options

Generated from the commands when this manual was built; `defrag VERB --help` prints the same on a
terminal. [Command line](../command_line.md) shows the commands in the order of their use.
"""


def reference() -> str:
    """Return the reference as Markdown: a section per verb, a table per panel of options."""
    return "\n".join([HEAD, *(_section(verb) for verb in VERBS)])


def _section(verb: str) -> str:
    command = import_verb(verb)
    text, _, examples = (command.help or "").partition("\b\nExamples:\n")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join([verb, *map(_shown_name, arguments)])
    parts = [f"## {verb}\n", f"    defrag {usage} [OPTIONS]\n"]
    parts += [f"{_plain(paragraph)}\n" for paragraph in text.split("\n\n") if paragraph.strip()]
    if examples.strip():
        parts.append("```\n" + re.sub(r"(?m)^  ", "", examples.rstrip("\n")) + "\n```\n")
    panels: dict[str, list[Any]] = {}
    for one in command.params:
        if not getattr(one, "hidden", False):
            panel = "arguments" if one in arguments else one.rich_help_panel or "options"
            panels.setdefault(panel, []).append(one)
    for panel, found in panels.items():
        parts += [f"### {verb}: {panel}\n", _table(found)]
    return "\n".join(parts)


def _table(found: list[Any]) -> str:
    lines = ["| | | default |", "|---|---|---|"]
    for one in found:
        names = [_shown_name(one)] if one.param_type_name == "argument" else _flags(one)
        shown = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {shown} | {_cell(one.help or '')} | {_cell(_default(one))} |")
    return "\n".join(lines) + "\n"


def _flags(option: Any) -> list[str]:
    names = [*option.opts, *option.secondary_opts]
    if option.is_flag:
        return names
    value = option.metavar or ("NUMBER" if isinstance(option.default, (int, float)) else "VALUE")
    return [*names[:-1], f"{names[-1]} {value}"]


def _shown_name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _default(option: Any) -> str:
    if isinstance(option.show_default, str):
        return option.show_default
    value = option.default
    if callable(value) or value is None or value is False or value == ():
        return ""
    return str(getattr(value, "value", value))


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("\\[", "[")


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    print(reference())
