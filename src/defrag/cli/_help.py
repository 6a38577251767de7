"""Help texts: choices that do not break inside a word, and flags by the chosen parts."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from defrag import registry

__all__ = ["TrainCommand", "VerbCommand"]

_SHORT = frozenset({
    "classifier", "agglomerate", "focus", "rerank", "impute", "n_trees", "labels", "label_names",
    "random_state", "n_jobs", "weights", "help",
})  # fmt: skip
"""Flags that ``defrag train --help`` shows: the eleven most important ones, and --help."""


class VerbCommand(TyperCommand):
    """A verb that lists choices in the help text of a flag, where lines break at spaces."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        params: list[Any] = self.params  # typed as parameters, which lack the attributes of options
        for param in params:
            # type_descriptor in newer versions of typer, type in older ones.
            kind = getattr(param, "type_descriptor", None) or getattr(param, "type", None)
            choices = getattr(kind, "choices", None)
            if choices and param.metavar is None:
                words = ", ".join(str(getattr(one, "value", one)) for one in choices)
                param.metavar = "WORD"
                param.help = f"{(param.help or '').rstrip('. ')} ({words})."


class TrainCommand(VerbCommand):
    """The verb ``train``, whose help shows important flags, or all flags of the named parts."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hide the flags that the help does not cover, then parse."""
        if {"--help", "-h"} & set(args):
            self._hide_flags(args)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def _hide_flags(self, args: list[str]) -> None:
        parts = {flag: _value(args, f"--{flag}") for flag in _PARTS}
        owners = {
            name: panel
            for flag, value in parts.items()
            if value is not None
            for panel, name in _PARTS[flag](value)
        }
        params: list[Any] = self.params
        for param in params:
            if param.param_type_name != "option":
                continue
            own = getattr(param, "rich_help_panel", None) is None  # of the verb itself
            if param.name in owners:
                param.rich_help_panel = owners[param.name]
            elif param.name == "n_trees" and not owners:
                param.rich_help_panel = None
            shown = param.name in _SHORT if not owners else own or param.name in owners
            param.hidden = not shown


def _value(args: list[str], flag: str) -> str | None:
    """Return the value of a flag, given as ``--flag value`` or ``--flag=value``.

    For a flag without a value, it is the next word or empty: only its presence matters.
    """
    for place, word in enumerate(args):
        if word == flag:
            return args[place + 1] if place + 1 < len(args) else ""
        if word.startswith(f"{flag}="):
            return word.split("=", 1)[1]
    return None


def _of_classifier(word: str) -> list[tuple[str, str]]:
    known = {entry.word: entry for entry in registry.entries("classifier")}
    if word not in known:
        return []
    rules = known[word].estimator().parameter_rules
    return [(f"Parameters of --classifier {word}", name) for name in rules if name not in _RUN]


def _of_agglomeration(word: str) -> list[tuple[str, str]]:
    from defrag.cli._models import PRESETS, Preset  # noqa: PLC0415 - only for this help

    if word not in {one.value for one in Preset}:
        return []
    kind, fixed = PRESETS[Preset(word)]
    names = [name for name in kind.parameter_rules if name not in {*_RUN, *fixed}]
    return [(f"Parameters of --agglomerate {word}", name) for name in [*names, "per_member"]]


def _of_rerank(word: str) -> list[tuple[str, str]]:
    from defrag.cli._models import RERANK_FLAGS  # noqa: PLC0415 - only for this help

    return [] if word == "none" else [("Parameters of --rerank", name) for name in RERANK_FLAGS]


def _of_impute(word: str) -> list[tuple[str, str]]:
    from defrag.cli._models import IMPUTE_FLAGS  # noqa: PLC0415 - only for this help

    return [] if word == "none" else [("Parameters of --impute", name) for name in IMPUTE_FLAGS]


def _of_focus(_: str) -> list[tuple[str, str]]:
    from defrag.cli._models import FOCUS_FLAGS  # noqa: PLC0415 - only for this help

    return [("Parameters of --focus", name) for name in FOCUS_FLAGS]


def _of_texts(word: str) -> list[tuple[str, str]]:
    from defrag.cli._corpora import COLUMN_FLAGS  # noqa: PLC0415 - only for this help
    from defrag.cli._models import VECTORIZER_FLAGS  # noqa: PLC0415 - likewise
    from defrag.io.corpora import CORPUS_FORMS  # noqa: PLC0415 - likewise

    if word not in CORPUS_FORMS:
        return []
    return [("Texts", name) for name in (*VECTORIZER_FLAGS, *COLUMN_FLAGS)]


_RUN = frozenset({"n_jobs", "verbose", "random_state"})
_PARTS = {
    "classifier": _of_classifier,
    "agglomerate": _of_agglomeration,
    "focus": _of_focus,
    "rerank": _of_rerank,
    "impute": _of_impute,
    "from": _of_texts,
    "format": _of_texts,
}
