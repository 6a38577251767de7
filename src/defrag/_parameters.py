"""Parameters of estimators, each declared once, as a field of its class.

``n_trees: int = param(Int(1), "Number of trees.", default=1)`` is all that is written about a
parameter. From it come the signature and ``__init__``, the section "Parameters" of the docstring,
the check of the value, the flag of the command line and the rule of model files.
:class:`defrag._estimator.Estimator` calls :func:`declare` for each of its subclasses; whoever needs
to know the parameters of a class asks :func:`parameters_of`.
"""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, Protocol

import numpy as np

_SHOWN = 1000
"""Higher bounds only keep numbers finite; docstrings do not name them."""

# --- Rules of values: each describes itself, in errors and docstrings, and accepts or not.


class Rule(Protocol):
    """Interface of parameter rules."""

    def describe(self) -> str:
        """Return the rule in words, for error messages and help texts."""

    def accepts(self, value: Any, /) -> bool:
        """Return whether the value satisfies the rule."""


class FieldRule(Rule, Protocol):
    """Interface of the rules of fields, which docstrings show."""

    @property
    def kind(self) -> str:
        """The type of the values."""


@dataclass(frozen=True)
class Int:
    """An integer in ``[low, high]``, or None if ``none``, or a bool if ``flag``."""

    low: int | None = None
    high: int | None = None
    none: bool = False
    flag: bool = False

    @property
    def kind(self) -> str:
        return ("bool or int" if self.flag else "int") + _or_none(self.none)

    def describe(self) -> str:
        kind = "a bool or an int" if self.flag else "an int"
        return kind + _range(self.low, self.high, "[", "]") + _or_none(self.none)

    def accepts(self, value: Any) -> bool:
        if type(value) is int:  # isinstance with an abstract class takes a microsecond
            return _inside(value, self.low, self.high)
        if value is None:
            return self.none
        if isinstance(value, (bool, np.bool_)):
            return self.flag
        if not isinstance(value, Integral):
            return False
        return _inside(int(value), self.low, self.high)


@dataclass(frozen=True)
class Float:
    """A finite real number in ``[low, high]``, or ``(low, high]`` if ``open_low``."""

    low: float | None = None
    high: float | None = None
    open_low: bool = False
    none: bool = False

    @property
    def kind(self) -> str:
        kind = "float"
        if self.low is not None and self.high is not None and self.high <= _SHOWN:
            kind += f" in {'(' if self.open_low else '['}{self.low:g}, {self.high:g}]"
        return kind + _or_none(self.none)

    def describe(self) -> str:
        left = "(" if self.open_low else "["
        return "a finite number" + _range(self.low, self.high, left, "]") + _or_none(self.none)

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.none
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            return False
        number = float(value)
        if not math.isfinite(number) or (self.open_low and number == self.low):
            return False
        return _inside(number, self.low, self.high)


@dataclass(frozen=True)
class Choice:
    """One of a few values; both type and value must be equal."""

    values: tuple[Any, ...]

    @property
    def kind(self) -> str:
        if set(self.values) == {True, False}:
            return "bool"
        return "{" + ", ".join(map(_quoted, self.values)) + "}"

    def describe(self) -> str:
        return "one of " + ", ".join(repr(value) for value in self.values)

    def accepts(self, value: Any) -> bool:
        return any(type(value) is type(choice) and value == choice for choice in self.values)


@dataclass(frozen=True)
class OrAuto:
    """The string ``"auto"``, or a value that another rule accepts."""

    rule: Int | Float

    @property
    def kind(self) -> str:
        return f'{self.rule.kind} or "auto"'

    def describe(self) -> str:
        return f"{self.rule.describe()} or 'auto'"

    def accepts(self, value: Any) -> bool:
        return value == "auto" if isinstance(value, str) else self.rule.accepts(value)


VERBOSE = Int(0, flag=True)
"""The rule of ``verbose``: whether progress bars are shown."""

SEED_KIND = "int, RandomState, Generator or None, default=None"
"""The kind of ``random_state``, which has no rule: :func:`check_seed` checks it."""


def check_value(owner: str, name: str, rule: Rule, value: Any) -> None:
    """Raise ValueError unless a parameter obeys its rule.

    - Raises ValueError such as ``max_cluster_size of Defrag must be an int >= 1, got 0``.
    """
    if not rule.accepts(value):
        raise ValueError(f"{name} of {owner} must be {rule.describe()}, got {value!r}")


def _inside(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _range(low: float | None, high: float | None, left: str, right: str) -> str:
    if low is not None and high is not None:
        return f" in {left}{low}, {high}{right}"
    if low is not None:
        return f" {'>' if left == '(' else '>='} {low}"
    return "" if high is None else f" <= {high}"


def _or_none(none: bool) -> str:
    return " or None" if none else ""


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


# --- Fields: what is written in the body of a class.

_INHERITED: Any = inspect.Parameter.empty
_RUN = ("random_state", "n_jobs", "verbose")
"""How to run, not what to learn: these come last in every signature."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator; see :func:`param`."""

    default: Any
    rule: FieldRule | None
    doc: str
    kind: str
    kw_only: bool
    annotation: Any = _INHERITED

    def words(self) -> str:
        """Return the type and the default, as docstrings name them."""
        kind = self.kind or ("object" if self.rule is None else self.rule.kind)
        if self.default is _INHERITED or "default=" in kind or kind.endswith("optional"):
            return kind  # without a default, or with words of its own
        if self.default is None:
            return kind.removesuffix(" or None") + ", optional"
        return f"{kind}, default={_quoted(self.default)}"


@dataclass(frozen=True)
class _Fitted:
    """A fitted attribute; see :func:`fitted`."""

    kind: str
    doc: str


def param(
    rule: FieldRule | None = None,
    doc: str = "",
    *,
    default: Any = _INHERITED,
    kind: str = "",
    kw_only: bool = True,
) -> Any:
    """Declare a parameter in the body of a class.

    Whatever is not given is that of the parameter of the same name in a base class.

    - ``rule``: the rule of its values; without one, the estimator checks them itself.
    - ``doc``: what it means; the first sentence is the help text of the flag.
    - ``default``: given by keyword, because type checkers look for it there.
    - ``kind``: its type in the docstring, if that of the rule does not do; with the default, if it
      has other words than ``repr``.
    - ``kw_only``: whether it is given by name only. The first ones of some estimators are not.
    """
    return Parameter(default, rule, doc, kind, kw_only)


def fitted(kind: str = "", doc: str = "", *, init: Literal[False] = False) -> Any:
    """Declare a fitted attribute, its type and its meaning, in the body of a class.

    ``fit`` sets it. With a meaning, it becomes an entry of the section "Attributes", as does a
    property whose name ends in an underscore. ``init`` is for type checkers: it is no parameter.
    """
    del init
    return _Fitted(kind, doc)


def parameters_of(estimator: type) -> dict[str, Parameter]:
    """Return the parameters of a class in the order of its signature."""
    found: dict[str, Parameter] = getattr(estimator, "_parameters", {})
    return found


def rules_of(estimator: type) -> dict[str, Rule]:
    """Return the rules of the parameters that have one."""
    fields = parameters_of(estimator).items()
    return {name: field.rule for name, field in fields if field.rule is not None}


def declare(cls: type[Any]) -> None:
    """Set on a class the signature, the ``__init__`` and the docstring that its fields describe.

    An attribute without a field that has the name of an inherited parameter fixes its value: the
    class does not have the parameter.
    """
    types = inspect.get_annotations(cls)
    inherited: dict[str, Parameter] = {}
    for base in cls.__bases__:
        inherited = {**parameters_of(base), **inherited}
    own = {
        name: _complete(value, inherited.get(name), types[name])
        for name, value in vars(cls).items()
        if type(value) is Parameter
    }
    known = {name: one for name, one in inherited.items() if name not in vars(cls)} | own
    # By position: those of the base first, as type checkers see it. By name: own ones first.
    positional = [name for name in inherited | own if name in known and not known[name].kw_only]
    named = [name for name in own | known if known[name].kw_only]
    named.sort(key=lambda name: _RUN.index(name) + 1 if name in _RUN else 0)
    cls._parameters = {name: known[name] for name in [*positional, *named]}
    cls._attributes = _attributes_of(cls)
    for name in [*own, *cls._attributes]:
        if type(vars(cls).get(name)) in {Parameter, _Fitted}:
            delattr(cls, name)  # only instances have the attribute, as with any other class
    if "__init__" not in vars(cls):
        cls.__init__ = _make_init(cls._parameters, cls.__qualname__)
        if cls.__doc__ is not None:  # python -OO has none
            cls.__doc__ = _with_sections(cls.__doc__, cls._parameters, cls._attributes)


def _complete(field: Parameter, base: Parameter | None, annotation: Any) -> Parameter:
    """Return a field with its annotation and all that it inherits."""
    if base is None:
        return replace(field, annotation=annotation)
    return Parameter(
        default=base.default if field.default is _INHERITED else field.default,
        rule=field.rule or base.rule,
        doc=field.doc or base.doc,
        kind=field.kind or base.kind,
        kw_only=field.kw_only and base.kw_only,
        annotation=annotation,
    )


def _attributes_of(cls: type[Any]) -> dict[str, _Fitted]:
    """Return the fitted attributes of a class, then those of its bases."""
    found = {name: value for name, value in vars(cls).items() if type(value) is _Fitted}
    for name, value in vars(cls).items():
        if isinstance(value, property) and name.endswith("_") and value.fget is not None:
            kind = str(value.fget.__annotations__["return"])
            found[name] = _Fitted("ndarray" if kind.startswith("NDArray") else kind,
                                  value.__doc__ or "")  # fmt: skip
    for base in cls.__bases__:
        for name, value in getattr(base, "_attributes", {}).items():
            found.setdefault(name, value)
    return found


def _make_init(fields: Mapping[str, Parameter], owner: str) -> Callable[..., None]:
    """Return the ``__init__`` that sets the parameters."""
    made = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY if field.kw_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=field.default,
            annotation=field.annotation,
        )
        for name, field in fields.items()
    ]  # fmt: skip
    given = inspect.Signature(made)
    defaults = {name: field.default for name, field in fields.items()}

    def init(self: Any, *args: Any, **values: Any) -> None:
        try:
            arguments = given.bind(*args, **values).arguments
        except TypeError as error:
            raise TypeError(f"{owner}: {error}") from None
        self.__dict__.update(defaults, **arguments)

    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    init.__signature__ = inspect.Signature([this, *made])  # type: ignore[attr-defined]
    init.__name__ = "__init__"
    init.__qualname__ = f"{owner}.__init__"
    return init


# --- Sections of docstrings in the form of numpydoc.

_SECTION = re.compile(r"^[A-Z][\w ]+\n-{4,}$", flags=re.MULTILINE)


def _with_sections(
    doc: str, parameters: Mapping[str, Parameter], attributes: Mapping[str, _Fitted]
) -> str:
    """Return a docstring with the sections of parameters and attributes before all others."""
    text = inspect.cleandoc(doc)
    first = _SECTION.search(text)
    place = len(text) if first is None else first.start()
    made = [
        *_section("Parameters", ((name, one.words(), one.doc) for name, one in parameters.items())),
        *_section(
            "Attributes", ((name, one.kind, one.doc) for name, one in attributes.items() if one.doc)
        ),
    ]
    return "\n\n".join(one.strip() for one in (text[:place], *made, text[place:]) if one.strip())


def _section(title: str, entries: Iterable[tuple[str, str, str]]) -> list[str]:
    lines = []
    for name, kind, doc in entries:
        wrapped = textwrap.wrap(doc, 96, initial_indent="    ", subsequent_indent="    ",
                                break_long_words=False, break_on_hyphens=False)  # fmt: skip
        lines += [f"{name} : {kind}", *wrapped]
    return ["\n".join([title, "-" * len(title), *lines])] if lines else []
