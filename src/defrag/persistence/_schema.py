"""Schemas of model files, as data: parameters, numbers, arrays and inner models of a kind.

The description in a model file is a tree of models::

    {"model": {"kind": "hybrid", "parameters": {"pooling": "sum", ...},
               "state": {"n_clusters": 5165}, "children": {}}}

An inner model is in ``children``, alone or in a list, and its arrays have the prefix
``agglomeration/`` or ``members/0/``. A kind's :class:`Schema` is a closed set of names: a missing
or unknown name is an error. The content of the arrays is checked by the codecs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from defrag import registry
from defrag.exceptions import ModelFormatError
from defrag.persistence._container import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from defrag._parameters import Rule
    from defrag.registry import Role

__all__ = ["Array", "Child", "Part", "Schema", "pack_part", "unpack_part"]

MAX_LEVELS = 8
"""Maximum depth of nested models."""


@dataclass(frozen=True)
class Array:
    """An array of a kind: its permitted types and its number of axes.

    Arrays of the same ``group`` are present together or not at all; arrays without a group are
    required.
    """

    dtypes: str | tuple[str, ...]
    ndim: int = 1
    group: str | None = None


@dataclass(frozen=True)
class Child:
    """One inner model or a list of them: estimators of some roles, or a part."""

    roles: tuple[Role, ...] = ()
    part: str | None = None
    many: bool = False
    optional: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The permitted kinds of model."""
        return registry.kinds(*self.roles) if self.part is None else (self.part,)


@dataclass(frozen=True)
class Schema:
    """Content of a kind of model; an ``inner`` one occurs only within others."""

    parameters: Mapping[str, Rule]
    state: Mapping[str, Rule] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    children: Mapping[str, Child] = field(default_factory=dict)
    inner: bool = False


@dataclass
class Part:
    """A model in the intermediate form between an estimator and a file.

    Attributes
    ----------
    parameters, state : dict
        JSON values: the parameters of the estimator, and fitted numbers.
    arrays : dict from name to ndarray
        Fitted arrays.
    children : dict
        Inner models, or lists of them, by name: parts in the container, estimators in a codec.
    kind : str
        Word of the kind.
    path, prefix : str
        File and position, for error messages.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    children: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    path: str = "<model>"
    prefix: str = ""

    def fail(self, message: str) -> NoReturn:
        """Raise ModelFormatError with the name of the file."""
        raise ModelFormatError(self.path, message)

    def name(self, array: str) -> str:
        """Return the name of an array in error messages."""
        return f"array '{self.prefix}{array}'"

    def has(self, array: str) -> bool:
        """Return whether an optional array is present."""
        return array in self.arrays


def pack_part(part: Part) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the description and the arrays of a file that holds a model.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.persistence._schema import Part, pack_part
    >>> inner = Part(kind="bag", arrays={"weights": np.zeros(2)})
    >>> description, arrays = pack_part(Part(kind="bags", children={"members": [inner, inner]}))
    >>> sorted(arrays)
    ['members/0/weights', 'members/1/weights']
    """
    arrays: dict[str, NDArray[Any]] = {}
    return {"model": _pack(part, "", arrays)}, arrays


def _pack(part: Part, prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    arrays.update({prefix + name: array for name, array in part.arrays.items()})
    children: dict[str, Any] = {}
    for name, inner in part.children.items():
        if isinstance(inner, Part):
            children[name] = _pack(inner, f"{prefix}{name}/", arrays)
        else:
            children[name] = [
                _pack(member, f"{prefix}{name}/{i}/", arrays) for i, member in enumerate(inner)
            ]
    return {
        "kind": part.kind,
        "parameters": part.parameters,
        "state": part.state,
        "children": children,
    }


def unpack_part(
    path: str,
    description: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    table: Mapping[str, Schema],
) -> Part:
    """Return the model in a description and arrays, checked against its schema.

    Parameters
    ----------
    path : str
        The name of the file, for error messages.
    description : mapping
        As returned by :func:`pack_part`.
    arrays : mapping from name to ndarray
        Likewise.
    table : mapping from kind to Schema
        All kinds.

    Raises
    ------
    ModelFormatError
        If a name is missing or unknown, or a type or value violates its rule.
    """
    if set(description) != {"model"}:
        raise ModelFormatError(path, f"the description must have only 'model', library and "
                               f"format_version, got {show(sorted(description))}")  # fmt: skip
    unread = dict(arrays)
    outer = tuple(kind for kind, schema in table.items() if not schema.inner)
    part = _unpack(path, description["model"], "", unread, table, outer)
    if unread:
        kind = description["model"]["kind"]
        raise ModelFormatError(path, f"array {min(unread)!r} is unknown to the kind {kind!r}")
    return part


def _unpack(  # noqa: PLR0917 - the state of one recursion
    path: str,
    source: Any,
    prefix: str,
    unread: dict[str, NDArray[Any]],
    table: Mapping[str, Schema],
    kinds: tuple[str, ...],
) -> Part:
    place = f"model '{prefix}'" if prefix else "the model"
    part = Part(path=path, prefix=prefix)
    if sum(not name.isdigit() for name in prefix.split("/")[:-1]) > MAX_LEVELS:
        part.fail(f"models are nested more than {MAX_LEVELS} deep")
    if not isinstance(source, dict):
        part.fail(f"{place} must be a JSON object, got {show(source)}")
    _check_names(part, f"{place} must have", source, {"kind", "parameters", "state", "children"})
    if not isinstance(source["kind"], str) or source["kind"] not in kinds:
        part.fail(f"kind of {place} must be one of {', '.join(kinds)}, got {show(source['kind'])}")
    part.kind = source["kind"]
    schema = table[part.kind]
    part.parameters = _check_values(part, "parameters", source["parameters"], schema.parameters)
    part.state = _check_values(part, "state", source["state"], schema.state)
    part.arrays = _take_arrays(part, schema, unread)
    inner = source["children"]
    if not isinstance(inner, dict):
        part.fail(f"children of {place} must be a JSON object, got {show(inner)}")
    needed = {name for name, child in schema.children.items() if not child.optional}
    _check_names(part, f"children of {place} must be", inner, needed, set(schema.children))
    for name, member in inner.items():
        child = schema.children[name]
        if child.many and not isinstance(member, list):
            part.fail(f"children '{prefix}{name}' must be a list, got {show(member)}")
        below = f"{prefix}{name}/"
        part.children[name] = (
            [
                _unpack(path, one, f"{below}{i}/", unread, table, child.kinds)
                for i, one in enumerate(member)
            ]
            if child.many
            else _unpack(path, member, below, unread, table, child.kinds)
        )
    return part


def _check_names(
    part: Part, rule: str, got: Mapping[str, Any], needed: set[str], known: set[str] | None = None
) -> None:
    wrong = (needed - set(got)) or (set(got) - (known or needed))
    if wrong:
        verb = "is missing" if min(wrong) in needed else "is unknown"
        names = ", ".join(sorted(known or needed)) or "none"
        part.fail(f"{rule} {names}: {show(min(wrong))} {verb}")


def _check_values(part: Part, what: str, values: Any, rules: Mapping[str, Rule]) -> dict[str, Any]:
    place = f"'{part.prefix}' ({part.kind})" if part.prefix else part.kind
    if not isinstance(values, dict):
        part.fail(f"{what} of {place} must be a JSON object, got {show(values)}")
    _check_names(part, f"{what} of {place} must be", values, set(rules))
    for name, rule in rules.items():
        if not rule.accepts(values[name]):
            part.fail(f"{name} of {place} must be {rule.describe()}, got {show(values[name])}")
    return values


def _take_arrays(
    part: Part, schema: Schema, unread: dict[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    found = {
        name: unread.pop(part.prefix + name)
        for name in schema.arrays
        if part.prefix + name in unread
    }
    present = {schema.arrays[name].group for name in found}
    for name, rule in schema.arrays.items():
        if name not in found:
            if rule.group is None or rule.group in present:
                part.fail(f"{part.name(name)} of the kind {part.kind!r} is missing")
            continue
        array = found[name]
        dtypes = (rule.dtypes,) if isinstance(rule.dtypes, str) else rule.dtypes
        if array.dtype.name not in dtypes or array.ndim != rule.ndim:
            part.fail(f"{part.name(name)} must be {rule.ndim}-D of {' or '.join(dtypes)}, "
                      f"got {array.ndim}-D of {array.dtype.name}")  # fmt: skip
    return found
