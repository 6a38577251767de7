"""Flags of commands, each declared once: in the annotation of a parameter, or in an estimator.

A command is a function with keyword arguments. :func:`with_flags` makes of it what typer takes:

- a flag is annotated with its type, its help and what stands for its value in the help, or with
  :func:`option` where there is more to say;
- a parameter whose type is a dataclass stands for the flags that are the fields of the class;
- :class:`Words` in an annotation are the values that a flag may have; the function gets a str;
- ``**parameters`` stands for the parameters of estimators (:func:`estimator_flags`), whose types,
  defaults and help come from their declarations; it has only those that the user has set.

Called by ``app`` for every command.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, get_type_hints

import typer

from defrag._parameters import Choice, Float, OrAuto, parameters_of, rules_of
from defrag.classifiers._weights import ClassWeights
from defrag.specs import NONE
from defrag.text._texts import Lengths, LineWeights, StemmerName

_RUN = frozenset({"n_jobs", "verbose", "random_state"})
_ALIASES = {"random_state": ("--seed",)}


Flags = list[inspect.Parameter]


class Words(tuple[str, ...]):
    """The values that a flag may have."""

    __slots__ = ()


class Metavar(str):
    """What stands for the value of a flag in the help."""

    __slots__ = ()


File = Annotated[str | None, Metavar("FILE")]
"""The type of a flag for a file, before its help."""


def option(help_text: str, metavar: str | None = None, *, names: str = "", **more: Any) -> Any:
    """Declare a flag; without names, that of its parameter, as :func:`flag_name` gives it."""
    return typer.Option(*names.split(), help=help_text, metavar=metavar, **more)


def argument(metavar: str, help_text: str, **more: Any) -> Any:
    """Declare an argument."""
    return typer.Argument(metavar=metavar, help=help_text, **more)


def flag_name(parameter: str) -> str:
    """Return the flag of a parameter."""
    return "--" + parameter.replace("_", "-")


def refuse_flags(where: str, flags: dict[str, Any]) -> None:
    """Raise ValueError if a flag has a value where it changes nothing."""
    for flag, value in flags.items():
        if value is not None:
            raise ValueError(f"{flag} changes nothing {where}")


def with_flags(verb: Callable[..., None], of_estimators: Flags) -> Callable[..., None]:
    """Return a function with one parameter per flag, which calls that of a command.

    - ``of_estimators``: what its ``**parameters`` stand for; see :func:`estimator_flags`.
    """
    groups: dict[str, type[Any]] = {}
    flags = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for one in inspect.signature(verb, eval_str=True).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            flags += of_estimators
        elif is_dataclass(one.annotation):
            groups[one.name] = one.annotation  # type: ignore[assignment] # it is a class
            types = get_type_hints(one.annotation, include_extras=True)
            flags += [
                _flag(field.name, types[field.name], field.default)
                for field in fields(one.annotation)
            ]
        else:
            flags.append(_flag(one.name, one.annotation, one.default))
    names = {flag.name for flag in of_estimators}

    def run(context: typer.Context, **arguments: Any) -> None:
        given: dict[str, Any] = {}
        for name, value in arguments.items():
            plain = value.value if isinstance(value, Enum) else value
            if name not in names:
                given[name] = plain
            elif (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE":
                given[name] = None if plain == NONE else plain
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        verb(**given)

    run.__signature__ = inspect.Signature(flags)  # type: ignore[attr-defined]
    run.__doc__ = verb.__doc__
    return run


def _flag(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Return the parameter of a flag; that of words has an enumeration, as typer wants it.

    One that is false by default has no opposite.
    """
    declared = annotation.__metadata__[-1]
    if isinstance(declared, str):
        said = [one for one in annotation.__metadata__ if isinstance(one, str)]
        declared = option(*sorted(said, key=lambda one: isinstance(one, Metavar)))
    if default is False and declared.default is ...:  # where typer keeps the first name
        declared.default = flag_name(name)
    kind: Any = annotation.__origin__
    if found := [one for one in annotation.__metadata__ if isinstance(one, Words)]:
        words = Enum(name, {word: word for word in found[0]}, type=str)  # type: ignore[misc] # words name the members
        kind = words | None if default is None else words
        default = None if default is None else words(default)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared]
    )


# --- Flags of the parameters of estimators.


def own_flags(estimator: type[Any], *without: str) -> tuple[str, ...]:
    """Return the parameters of an estimator that are flags, except seed and threads."""
    return tuple(name for name in rules_of(estimator) if name not in {*_RUN, *without})


def estimator_flags(
    *estimators: type[Any],
    without: Collection[str] = (),
    also: Iterable[type[Any]] = (),
    hidden: Collection[str] = (),
) -> Flags:
    """Return one flag for each parameter of some estimators.

    - ``*estimators`` (classes): estimators. A parameter of several is one flag, which has a default
      only if they agree.
    - ``without`` (names): parameters without flags.
    - ``also`` (classes): more estimators, whose parameters in ``hidden`` have no flags either.
    - ``hidden`` (names): see ``also``.
    """
    declared: dict[str, dict[str, Any]] = {}
    for estimator, left_out in [
        *((one, without) for one in estimators),
        *((one, {*without, *hidden}) for one in also),
    ]:
        for name, field in parameters_of(estimator).items():
            if name not in left_out and (field.rule is not None or name == "random_state"):
                declared.setdefault(name, {})[estimator.__name__] = field
    return [_flag_of(name, fields) for name, fields in declared.items()]


def _flag_of(name: str, declared: dict[str, Any]) -> inspect.Parameter:
    """Return the flag of a parameter, from its declarations by the estimators that have it."""
    rules = [field.rule for field in declared.values()]
    defaults = [field.default for field in declared.values()]
    default, agreed = defaults[0], all(other == defaults[0] for other in defaults)
    values = [v for rule in rules if isinstance(rule, Choice) for v in rule.values]
    parser, metavar = _custom_parser(rules)
    kind: Any = float if any(isinstance(rule, Float) for rule in rules) else int
    words = []
    if set(values) == {True, False}:
        kind = bool
    elif values:
        kind, default = str, _word(default)
        words = [Words(dict.fromkeys(map(_word, values)))]
    elif metavar is not None:
        kind = str
    flag = flag_name(name)
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        *_ALIASES.get(name, ()),
        help=_first_sentence(next(iter(declared.values())).doc),
        rich_help_panel=f"Parameters of {', '.join(declared)}",
        parser=parser,
        metavar=metavar,
    )
    default = default if agreed else None
    kind = kind | None if default is None else kind
    return _flag(name, Annotated[(kind, *words, option)], default)


def _custom_parser(rules: list[Any]) -> tuple[Callable[[Any], Any] | None, str | None]:
    """Return the parser and the metavar of a parameter that is not a plain number or choice."""
    for kind, parser, metavar in (
        (OrAuto, _number_or_auto, "NUMBER|auto"),
        (Lengths, _lengths, "N|N-M"),
        (LineWeights, _weights, "W[,W...]"),
        (StemmerName, None, "NAME"),
        (ClassWeights, None, "balanced"),
    ):
        if any(isinstance(rule, kind) for rule in rules):
            return parser, metavar
    return None, None


def _lengths(text: Any) -> Any:
    """Parse one length or two; the rule checks the range."""
    match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", str(text))
    if match is None:
        raise ValueError(f"must be one or two lengths, such as 4 or 3-5, got {text!r}")
    first, last = match.groups()
    return int(first) if last is None else (int(first), int(last))


def _weights(text: Any) -> Any:
    """Parse weights with commas between them, or None; the rule checks the range."""
    try:
        return text if text == NONE else tuple(map(float, str(text).split(",")))
    except ValueError:
        raise ValueError(f"must be weights, such as 0.6 or 0.6,0.3, got {text!r}") from None


def _number_or_auto(text: Any) -> Any:
    """Parse a number, "auto" or None; the rule checks the range and whether None is allowed."""
    try:
        return text if text in {"auto", NONE} else float(text)
    except ValueError:
        raise ValueError(f"must be a number or auto, got {text!r}") from None


def _word(value: Any) -> str:
    return NONE if value is None else str(value)


def _first_sentence(text: str) -> str:
    words = " ".join(text.split()).replace("``", "")
    sentence = re.split(r"(?<=\.) (?=[A-Z])", words)[0]
    # Without a backslash, rich would read "defrag[stem]" as markup.
    return re.sub(r"\[(?=[a-z])", r"\\[", sentence)
