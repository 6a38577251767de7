"""Command-line flags derived from the parameters of estimators.

Defaults come from the signature, types and choices from the parameter rules, help texts from
the docstring. A verb takes them as ``**parameters``.
"""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defrag._parameters import Choice, Float, OrAuto
from defrag.text._texts import Lengths, StemmerName

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["NONE", "estimator_flags", "flag_name", "refuse_flags"]

NONE = "none"
"""The word for None on the command line."""

_ALIASES = {"random_state": ("--seed",)}


def flag_name(parameter: str) -> str:
    """Return the flag of a parameter."""
    return "--" + parameter.replace("_", "-")


def refuse_flags(where: str, flags: dict[str, Any]) -> None:
    """Raise ValueError if a flag has a value where it changes nothing."""
    for flag, value in flags.items():
        if value is not None:
            raise ValueError(f"{flag} changes nothing {where}")


def estimator_flags(
    *estimators: type,
    without: Collection[str] = (),
    also: Iterable[type] = (),
    hidden: Collection[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a verb with one flag for each parameter of some estimators.

    The verb must take the typer context as ``context`` and ``**parameters``, which contains
    only the parameters that the user has set.

    Parameters
    ----------
    *estimators : classes
        Estimators with ``parameter_rules``. A parameter of several estimators is one flag,
        which has a default only if they agree.
    without : names
        Parameters without flags.
    also : classes
        More estimators, whose parameters in ``hidden`` have no flags either.
    hidden : names
        See ``also``.
    """
    meanings = _meanings(estimators)
    for name, other in _meanings(also).items():
        if name not in hidden:
            found = meanings.setdefault(name, _Meaning([], [], [], other.help))
            found.rules += other.rules
            found.defaults += other.defaults
            found.owners += other.owners
    flags = _flags({name: found for name, found in meanings.items() if name not in without})

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(verb, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]

        @functools.wraps(verb)
        def run(*, context: typer.Context, **arguments: Any) -> None:
            for flag in flags:
                value = arguments.pop(flag.name)
                source = context.get_parameter_source(flag.name)
                if source is not None and source.name == "COMMANDLINE":
                    arguments[flag.name] = _plain(value)
            verb(context=context, **arguments)

        run.__signature__ = signature.replace(parameters=[*own, *flags])  # type: ignore[attr-defined]
        return run

    return decorate


@dataclass
class _Meaning:
    """Rules, defaults and help text of a parameter, from all estimators that have it."""

    rules: list[Any]
    defaults: list[Any]
    owners: list[str]
    help: str | None


def _flags(meanings: dict[str, _Meaning]) -> list[inspect.Parameter]:
    result = []
    for name, meaning in meanings.items():
        kind, default = _type_of(name, meaning)
        flag = flag_name(name)
        parser, metavar = _custom_parser(meaning)
        option = typer.Option(
            f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
            *_ALIASES.get(name, ()),
            help=meaning.help,
            rich_help_panel=f"Parameters of {', '.join(meaning.owners)}",
            parser=parser,
            metavar=metavar,
        )
        result.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[kind, option],
            )
        )
    return result


def _meanings(estimators: Iterable[type]) -> dict[str, _Meaning]:
    result: dict[str, _Meaning] = {}
    for estimator in estimators:
        rules: dict[str, Any] = estimator.parameter_rules  # type: ignore[attr-defined]
        rules = {**rules, "random_state": None}
        described = _descriptions(estimator)
        for name, parameter in inspect.signature(estimator).parameters.items():
            if name in rules:
                found = result.setdefault(name, _Meaning([], [], [], described.get(name)))
                found.rules.append(rules[name])
                found.defaults.append(parameter.default)
                found.owners.append(estimator.__name__)
    return result


def _type_of(name: str, meaning: _Meaning) -> tuple[Any, Any]:
    """Return the type of a flag for typer, and its default in that type."""
    default = meaning.defaults[0]
    agreed = all(other == default for other in meaning.defaults)
    values = [v for rule in meaning.rules if isinstance(rule, Choice) for v in rule.values]
    kind: Any = float if any(isinstance(rule, Float) for rule in meaning.rules) else int
    if _custom_parser(meaning)[1] is not None:
        kind = str
    if set(values) == {True, False}:
        kind = bool
    elif values:
        words = {_word(value): _word(value) for value in values}
        choices = Enum(name, words, type=str)  # type: ignore[misc] # the rules name the members
        kind, default = choices, choices(_word(default))
    if not agreed:
        default = None
    return (kind | None if default is None else kind), default


def _custom_parser(meaning: _Meaning) -> tuple[Callable[[Any], Any] | None, str | None]:
    """Return the parser and the metavar of a parameter that is not a plain number or choice."""
    for kind, parser, metavar in (
        (OrAuto, _number_or_auto, "NUMBER|auto"),
        (Lengths, _lengths, "N|N-M"),
        (StemmerName, None, "NAME"),
    ):
        if any(isinstance(rule, kind) for rule in meaning.rules):
            return parser, metavar
    return None, None


def _lengths(text: Any) -> Any:
    """Parse one length or two; the rule checks the range."""
    match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", str(text))
    if match is None:
        raise ValueError(f"must be one or two lengths, such as 4 or 3-5, got {text!r}")
    first, last = match.groups()
    return int(first) if last is None else (int(first), int(last))


def _number_or_auto(text: Any) -> Any:
    """Parse a number, "auto" or None; the rule checks the range and whether None is allowed."""
    try:
        return text if text in {"auto", NONE} else float(text)
    except ValueError:
        raise ValueError(f"must be a number or auto, got {text!r}") from None


def _word(value: Any) -> str:
    return NONE if value is None else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    return None if value == NONE else value


def _descriptions(estimator: type) -> dict[str, str]:
    """Return the first sentence about each parameter in a numpydoc docstring."""
    section = (inspect.getdoc(estimator) or "").partition("\nParameters\n")[2]
    section = re.split(r"\n\w+\n---", section)[0]
    entries = re.findall(r"^([\w, ]+) :.*\n((?:    .*\n?)+)", section, flags=re.MULTILINE)
    result: dict[str, str] = {}
    for names, text in entries:
        words = " ".join(text.split()).replace("``", "")
        sentence = re.split(r"(?<=\.) (?=[A-Z])", words)[0]
        # Without a backslash, rich would read "defrag[stem]" as markup.
        result |= dict.fromkeys(names.split(", "), re.sub(r"\[(?=[a-z])", r"\\[", sentence))
    return result
