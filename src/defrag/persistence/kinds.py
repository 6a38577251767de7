"""Kinds of models: what the files of a class hold, collected from the declarations of its bases.

The description in a model file is a tree of models::

    {"model": {"kind": "hybrid", "parameters": {"pooling": "sum", ...},
               "state": {"n_clusters": 5165}, "children": {}}}

An inner model is in ``children``, alone or in a list, and its arrays have the prefix
``agglomeration/`` or ``members/0/``. A kind is a closed set of names: a missing or unknown name is
an error. A kind is a word of the registry, and only the modules of the kinds that a file names are
imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defrag import registry
from defrag._parameters import Int, Rule, parameters_of, rules_of
from defrag._scikit import check_is_fitted
from defrag.exceptions import ModelFormatError
from defrag.persistence._container import show
from defrag.persistence.fields import Field, Form, Part, Size, State, plain
from defrag.registry import Entry, Role

CLASSIFIERS: tuple[Role, ...] = ("classifier", "composite")
NOT_STORED = frozenset({"n_jobs", "verbose"})
"""Parameters of the machine, not of the model: the bytes of a file do not depend on them."""

SEED = Int(0, 2**63 - 1, none=True)
"""Rule of a stored ``random_state``."""

MAX_LEVELS = 8
"""Maximum depth of nested models."""


# --- What a class declares, in addition to the fields: inner models and parameters.


@dataclass(frozen=True)
class Child(Field):
    """An inner model, or a list of them if ``many``."""

    # Estimators of some roles, or a class that occurs only within others.
    of: tuple[Role, ...] | type[Any] = CLASSIFIERS
    # Whether it is a list, of at least one unless ``optional``.
    many: bool = False
    # Whether it may be absent.
    optional: bool = False
    # What the inner model must have.
    features: Size | None = None
    labels: Size | None = None

    def kinds(self) -> tuple[str, ...]:
        """Return the permitted kinds of model."""
        return registry.kinds(*self.of) if isinstance(self.of, tuple) else (kind_of(self.of).name,)

    def find(self, kind: str) -> Kind:
        """Return a permitted kind; only its module is imported."""
        return find_kind(kind) if isinstance(self.of, tuple) else kind_of(self.of)

    def write(self, value: Any, part: Part, weight_type: str) -> None:
        if value is None:
            return

        def pack(one: Any) -> Part:
            if isinstance(self.of, type):
                return kind_of(self.of).write(one, weight_type)
            return write_part(one, weight_type)

        part.children[self.key] = [pack(one) for one in value] if self.many else pack(value)

    def value(self, part: Part) -> Any:
        found = part.children.get(self.key)
        place = f"'{part.prefix}{self.key}'"
        if self.many and not found and not self.optional:
            part.fail(f"children {place} must be at least one, got none")
        for noun, attribute, size in (
            ("features", "n_features_in_", self.features),
            ("labels", "n_labels_", self.labels),
        ):
            if size is not None and getattr(found, attribute) != part.size(size):
                part.fail(f"model {place} must have the {noun} of its owner ({part.size(size)}), "
                          f"got {getattr(found, attribute)}")  # fmt: skip
        return found


@dataclass(frozen=True)
class Rewritten:
    """Rule of a parameter that a file stores in another form than the estimator has it."""

    rule: Any
    pack: Callable[[Any], Any] = lambda value: value
    unpack: Callable[[Any], Any] = lambda value: value

    def describe(self) -> str:
        return str(self.rule.describe())

    def accepts(self, value: Any) -> bool:
        return bool(self.rule.accepts(value))


@dataclass(frozen=True)
class Unfitted:
    """Rule of a parameter that is None or an estimator, stored as kind and parameters."""

    roles: tuple[Role, ...] = CLASSIFIERS

    def describe(self) -> str:
        kinds = ", ".join(registry.kinds(*self.roles))
        return f"None, or the kind ({kinds}) and parameters of an estimator"

    def accepts(self, value: Any, depth: int = MAX_LEVELS) -> bool:
        if value is None:
            return True
        if not depth or not isinstance(value, dict) or set(value) != {"kind", "parameters"}:
            return False
        kind, parameters = value["kind"], value["parameters"]
        if not isinstance(kind, str) or not isinstance(parameters, dict):
            return False
        if kind not in registry.kinds(*self.roles):
            return False
        rules = find_kind(kind).parameters
        parameters = find_kind(kind).completed(parameters, rules)
        return set(parameters) == set(rules) and all(
            rule.accepts(parameters[name], depth - 1)
            if isinstance(rule, Unfitted)
            else rule.accepts(parameters[name])
            for name, rule in rules.items()
        )

    def pack(self, estimator: Any) -> dict[str, Any] | None:
        """Return the kind and the parameters of an estimator."""
        if estimator is None:
            return None
        kind = find_kind(entry_of(estimator, self.roles).kind)
        return {"kind": kind.name, "parameters": kind.pack_parameters(estimator)}

    def unpack(self, value: Mapping[str, Any] | None) -> Any:
        """Return the unfitted estimator that :meth:`pack` encoded."""
        if value is None:
            return None
        kind = find_kind(value["kind"])
        return kind.rebuild(kind.completed(value["parameters"], kind.parameters))


# --- Kinds.


class Kind:
    """What the files of one class hold.

    - ``cls``: the exact class: a subclass may have further fitted attributes.
    - ``states``: its own declaration after those of its bases.
    """

    def __init__(self, cls: type[Any], name: str, states: Iterable[State]) -> None:
        self.cls, self.name, self.states = cls, name, tuple(states)
        self.fields = [one for state in self.states for one in state.fields]
        self.children = {one.key: one for one in self.fields if isinstance(one, Child)}
        self.numbers: dict[str, Rule] = {}
        self.forms: dict[str, Form] = {}
        self.absent = {name: value for one in self.states for name, value in one.absent.items()}
        for one in self.fields:
            self.numbers |= one.numbers()
            self.forms |= one.forms()

    @cached_property
    def parameters(self) -> dict[str, Rule]:
        """The rules of the stored parameters; none for a class that is not an estimator."""
        if any(state.kind for state in self.states):
            return {}
        rules: dict[str, Any] = {**rules_of(self.cls), "random_state": SEED}
        for state in self.states:
            rules |= state.parameters
        stored = [name for name in sorted(parameters_of(self.cls)) if name not in NOT_STORED]
        return {name: rules[name] for name in stored if rules[name] is not None}

    def pack_parameters(self, model: Any) -> dict[str, Any]:
        """Return the parameters of an estimator, fitted or not, as JSON values.

        A generator as ``random_state`` has advanced since ``fit``, and is stored as None.
        """
        for state in self.states:
            model = model if state.stored is None else state.stored(model)
        values = {name: plain(getattr(model, name)) for name in self.parameters}
        if isinstance(values.get("random_state"), (np.random.RandomState, np.random.Generator)):
            values["random_state"] = None
        for name, rule in self.parameters.items():
            if isinstance(rule, (Unfitted, Rewritten)):
                values[name] = rule.pack(values[name])
        return self.shortened(values)

    def shortened(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values without those that a reader knows if they are absent."""
        return {
            name: value
            for name, value in values.items()
            if name not in self.absent or value != self.absent[name]
        }

    def completed(self, values: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
        """Return the values of a file with those that are absent."""
        known = {name: value for name, value in self.absent.items() if name in rules}
        return known | dict(values)

    def rebuild(self, parameters: Mapping[str, Any]) -> Any:
        """Return an unfitted estimator with parameters that satisfy their rules."""
        values = dict(parameters)
        for name, rule in self.parameters.items():
            if isinstance(rule, (Unfitted, Rewritten)):
                values[name] = rule.unpack(values[name])
        return self.cls(**values)

    def write(self, model: Any, weight_type: str) -> Part:
        """Return the part of a fitted object."""
        part = Part(kind=self.name)
        if self.parameters:
            part.parameters = self.pack_parameters(model)
        for state in self.states:
            state.write(model, part, weight_type)
        part.state = self.shortened(part.state)
        return part

    def read(self, part: Part) -> Any:
        """Check the part of a file, and those of its inner models, and return the object."""
        part.children = {
            name: [self.children[name].find(one.kind).read(one) for one in inner]
            if isinstance(inner, list)
            else self.children[name].find(inner.kind).read(inner)
            for name, inner in part.children.items()
        }
        if self.states[-1].kind:
            return self.states[-1].make_object(part)
        model = self.rebuild(part.parameters)
        for state in self.states:
            for name, value in state.read(part).items():
                setattr(model, name, value)
        for state in self.states:
            if state.finish is not None:
                state.finish(part, model)
        return model

    def sizes(self, part: Part) -> dict[str, int]:
        """Return the numbers of ``features``, ``labels`` and ``groups``, where there are any."""
        return {
            noun: part.size(size) for state in self.states for noun, size in state.sizes.items()
        }


_KINDS: dict[type[Any], Kind] = {}


def kind_of(cls: type[Any]) -> Kind:
    """Return the kind of a class that declares its state."""
    if cls in _KINDS:
        return _KINDS[cls]
    states = [vars(base)["_state"] for base in reversed(cls.__mro__) if "_state" in vars(base)]
    name = states[-1].kind or next(e.kind for e in registry.entries() if e.name == cls.__name__)
    return _KINDS.setdefault(cls, Kind(cls, name, states))


def find_kind(word: str) -> Kind:
    """Return the kind with a name in the registry; only its module is imported."""
    return kind_of(registry.find(word).estimator())


def entry_of(estimator: Any, roles: tuple[Role, ...] = ()) -> Entry:
    """Return the registry entry of an estimator.

    - Raises TypeError if it is not registered.
    """
    known = registry.entries(*roles)
    for entry in known:
        # Names are compared first: accessing the class imports its module.
        if type(estimator).__name__ == entry.name and type(estimator) is entry.estimator():
            return entry
    names = ", ".join(entry.name for entry in known)
    raise TypeError(f"only {names} can be saved, got {type(estimator).__name__}")


def write_part(model: Any, weight_type: str = "float32") -> Part:
    """Return the part of a fitted estimator."""
    entry = entry_of(model)
    check_is_fitted(model)
    return find_kind(entry.kind).write(model, weight_type)


# --- Parts as descriptions and arrays.


def pack_part(part: Part) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the description and the arrays of a file that holds a model."""
    arrays: dict[str, NDArray[Any]] = {}
    return {"model": _pack(part, "", arrays)}, arrays


def _pack(part: Part, prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    arrays.update({prefix + name: array for name, array in part.arrays.items()})
    children = {
        name: _pack(inner, f"{prefix}{name}/", arrays)
        if isinstance(inner, Part)
        else [_pack(one, f"{prefix}{name}/{i}/", arrays) for i, one in enumerate(inner)]
        for name, inner in part.children.items()
    }
    return {
        "kind": part.kind,
        "parameters": part.parameters,
        "state": part.state,
        "children": children,
    }


def unpack_part(
    path: str, description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Part:
    """Return the model in what :func:`pack_part` returned, whose names and types are checked.

    - Raises ModelFormatError if a name is missing or unknown, or a type or value violates its rule.
    """
    if set(description) != {"model"}:
        raise ModelFormatError(path, f"the description must have only 'model', library and "
                               f"format_version, got {show(sorted(description))}")  # fmt: skip
    unread = dict(arrays)
    part = _unpack(path, description["model"], "", unread, Child(of=()))
    if unread:
        kind = description["model"]["kind"]
        raise ModelFormatError(path, f"array {min(unread)!r} is unknown to the kind {kind!r}")
    return part


def _unpack(
    path: str, source: Any, prefix: str, unread: dict[str, NDArray[Any]], wanted: Child
) -> Part:
    place = f"model '{prefix}'" if prefix else "the model"
    part = Part(path=path, prefix=prefix)
    if sum(not name.isdigit() for name in prefix.split("/")[:-1]) > MAX_LEVELS:
        part.fail(f"models are nested more than {MAX_LEVELS} deep")
    if not isinstance(source, dict):
        part.fail(f"{place} must be a JSON object, got {show(source)}")
    _check_names(part, f"{place} must have", source, {"kind", "parameters", "state", "children"})
    kinds = wanted.kinds()
    if not isinstance(source["kind"], str) or source["kind"] not in kinds:
        part.fail(f"kind of {place} must be one of {', '.join(kinds)}, got {show(source['kind'])}")
    part.kind = source["kind"]
    kind = wanted.find(part.kind)
    part.parameters = _check_values(part, "parameters", source["parameters"], kind.parameters, kind)
    part.state = _check_values(part, "state", source["state"], kind.numbers, kind)
    part.arrays = _take_arrays(part, kind.forms, unread)
    inner = source["children"]
    if not isinstance(inner, dict):
        part.fail(f"children of {place} must be a JSON object, got {show(inner)}")
    needed = {name for name, child in kind.children.items() if child.many or not child.optional}
    _check_names(part, f"children of {place} must be", inner, needed, set(kind.children))
    for name, member in inner.items():
        child = kind.children[name]
        if child.many and not isinstance(member, list):
            part.fail(f"children '{prefix}{name}' must be a list, got {show(member)}")
        below = f"{prefix}{name}/"
        part.children[name] = (
            [_unpack(path, one, f"{below}{i}/", unread, child) for i, one in enumerate(member)]
            if child.many
            else _unpack(path, member, below, unread, child)
        )
    return part


def read_state(
    state: State, path: str, what: str, values: Any, unread: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """Check the state of something that is not a model; return its values by attribute.

    - ``path``, ``what``: the name of the file and of the thing, for error messages.
    - ``unread``: the arrays of the file; those of the state are taken out.
    """
    part = Part(path=path, kind=what)
    kind = Kind(object, what, [state])
    part.state = _check_values(part, "numbers", values, kind.numbers, kind)
    part.arrays = _take_arrays(part, kind.forms, unread)
    return state.read(part)


def _check_names(
    part: Part, rule: str, got: Mapping[str, Any], needed: set[str], known: set[str] | None = None
) -> None:
    wrong = (needed - set(got)) or (set(got) - (known or needed))
    if wrong:
        verb = "is missing" if min(wrong) in needed else "is unknown"
        names = ", ".join(sorted(known or needed)) or "none"
        part.fail(f"{rule} {names}: {show(min(wrong))} {verb}")


def _check_values(
    part: Part, what: str, values: Any, rules: Mapping[str, Rule], kind: Kind
) -> dict[str, Any]:
    place = f"'{part.prefix}' ({part.kind})" if part.prefix else part.kind
    if not isinstance(values, dict):
        part.fail(f"{what} of {place} must be a JSON object, got {show(values)}")
    found = kind.completed(values, rules)
    _check_names(part, f"{what} of {place} must be", found, set(rules))
    for name, rule in rules.items():
        if not rule.accepts(found[name]):
            part.fail(f"{name} of {place} must be {rule.describe()}, got {show(found[name])}")
    return found


def _take_arrays(
    part: Part, forms: Mapping[str, Form], unread: dict[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    found = {name: unread.pop(part.prefix + name) for name in forms if part.prefix + name in unread}
    present = {forms[name].group for name in found}
    for name, form in forms.items():
        if name not in found:
            if form.group is None or form.group in present:
                part.fail(f"{part.name(name)} of the kind {part.kind!r} is missing")
            continue
        array = found[name]
        if array.dtype.name not in form.dtypes or array.ndim != form.ndim:
            part.refuse(name, f"be {form.ndim}-D of {' or '.join(form.dtypes)}, "
                        f"got {array.ndim}-D of {array.dtype.name}")  # fmt: skip
    return found
