"""Declarations of fitted state: what a model file holds of an estimator, said once.

An estimator names its fitted arrays, numbers, names and inner models in the class attribute
``_state``, beside the code that makes them::

    class Focus(Estimator):
        _state = State(
            Number("n_features_in_", COUNT, name="n_features"),
            Array("importance_", "float32", length="n_features", low=0, most=LARGEST),
            feature_names("n_features"),
            sizes={"features": "n_features"},
        )

Writing, reading, the checks of a file and its description follow from it (``kinds``, ``_model``,
``defrag.distributed``). A class inherits the declarations of its bases. Code is needed only where
arrays must agree with each other (``check``), or where the object in memory is not a set of the
arrays in the file (``take``, ``build``).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from defrag._names import Names
from defrag._native import csr_from_parts
from defrag._parameters import Choice, Float, Int, Rule
from defrag.persistence import _checks
from defrag.persistence._checks import Checks
from defrag.persistence._container import show
from defrag.persistence._weights import WEIGHT_TYPES, pack_values

MAX_COUNT = 2**31 - 1
"""Maximum number of labels, features, nodes or groups of a model."""

LARGEST = _checks.LARGEST
COUNT, FLAG = Int(1, MAX_COUNT), Choice((True, False))

Size: TypeAlias = "int | str | Callable[[Part], int]"
"""A number, the name of a number or of an array (its length), or a function of the part."""


@dataclass
class Part(Checks):
    """A model in the intermediate form between an estimator and a file.

    - ``parameters``, ``state``: JSON values: those of the estimator, and fitted numbers.
    - ``children``: inner models, or lists of them: parts in the container, then estimators.
    - ``path``, ``prefix``: file and position, for error messages.
    - ``owner``: the part that these arrays were taken from by :meth:`below`.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    children: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    path: str = "<model>"
    prefix: str = ""
    owner: Part | None = None

    def has(self, array: str) -> bool:
        """Return whether an optional array is present."""
        return array in self.arrays

    def size(self, what: Size) -> int:
        """Return the number that a size stands for."""
        if isinstance(what, str):
            found = self.state.get(what)
            return len(self.arrays[what]) if found is None else int(found)
        return what if isinstance(what, int) else what(self)

    def below(self, prefix: str) -> Part:
        """Return the arrays whose names begin with a prefix, under their short names."""
        arrays = {
            name.removeprefix(prefix): array
            for name, array in self.arrays.items()
            if name.startswith(prefix)
        }
        return replace(self, arrays=arrays, prefix=self.prefix + prefix, owner=self)


@dataclass(frozen=True)
class Form:
    """Types and axes of an array in a file.

    Arrays of the same ``group`` are present together or not at all; those without are required.
    """

    dtypes: tuple[str, ...]
    ndim: int = 1
    group: str | None = None


@dataclass(frozen=True)
class Field:
    """One thing that a file holds of an object."""

    # Where the object has it; ``""`` for what follows from other attributes.
    attribute: str = ""
    # Its name in the file; default: the attribute without a final underscore.
    name: str = field(default="", kw_only=True)
    # Function of the object that returns the value to write; default: the attribute.
    get: Callable[[Any], Any] | None = field(default=None, kw_only=True)

    @property
    def key(self) -> str:
        """Name in the file."""
        return self.name or self.attribute.removesuffix("_")

    def value_of(self, owner: Any) -> Any:
        """Return the value to write."""
        return getattr(owner, self.attribute) if self.get is None else self.get(owner)

    def forms(self) -> dict[str, Form]:
        """Return the arrays in the file."""
        return {}

    def numbers(self) -> dict[str, Rule]:
        """Return the numbers in the file."""
        return {}

    def write(self, value: Any, part: Part, weight_type: str) -> None:
        """Put a value into a part; ``weight_type`` is that of weights in the file."""
        raise NotImplementedError

    def read(self, part: Part) -> dict[str, Any]:
        """Check the value of a part whose names and types are right; return it by attribute."""
        value = self.value(part)
        return {self.attribute: value} if self.attribute else {}

    def value(self, part: Part) -> Any:
        """Check and return the value of a part."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Field):
    """A number or another JSON value, with its rule."""

    rule: Any = FLAG

    def numbers(self) -> dict[str, Rule]:
        return {self.key: self.rule}

    def write(self, value: Any, part: Part, weight_type: str) -> None:  # noqa: ARG002 - no weights
        # A parameter of NumPy, or an integer where a real number is meant.
        kinds = {Int: int, Float: float}
        part.state[self.key] = kinds.get(type(self.rule), plain)(value)

    def value(self, part: Part) -> Any:
        """Return the number, which has been checked with the names."""
        return part.state[self.key]


@dataclass(frozen=True)
class Array(Field):
    """An array; None if it is ``optional`` and absent."""

    # Permitted types.
    dtypes: str | tuple[str, ...] = "float32"
    # Number of axes.
    ndim: int = 1
    # Number of items.
    length: Size | None = None
    # Items are integers from ``low`` or 0 to below this; ``increasing`` ones if so said.
    below: Size | None = None
    increasing: bool = False
    # Items are finite and at least ``low``; at most ``most`` in size.
    low: float | None = None
    most: float | None = None
    optional: bool = False

    def forms(self) -> dict[str, Form]:
        dtypes = (self.dtypes,) if isinstance(self.dtypes, str) else self.dtypes
        return {self.key: Form(dtypes, self.ndim, self.key if self.optional else None)}

    def write(self, value: Any, part: Part, weight_type: str) -> None:  # noqa: ARG002 - no weights
        if value is not None:
            part.arrays[self.key] = value

    def value(self, part: Part) -> Any:
        name = self.key
        if not part.has(name):
            return None
        if self.length is not None:
            part.check_length(name, part.size(self.length))
        if self.below is not None:
            high = part.size(self.below)
            if self.increasing:
                part.check_increasing_ids(name, high)
            else:
                part.check_ints(name, int(self.low or 0), high)
        elif self.low is not None:
            part.check_finite(name, low=self.low)
        if self.most is not None:
            part.check_size(name, self.most)
        return part.arrays[name]


@dataclass(frozen=True)
class Sparse(Field):
    """A sparse matrix with at least one row; its values are 1 and not stored if ``pattern``."""

    rows: Size = "n_features"
    columns: Size = "n_features"
    pattern: bool = False
    noun: str = "row"
    most: float = _checks.LARGEST

    def forms(self) -> dict[str, Form]:
        forms = {"indptr": "int64", "indices": "int32", "data": "float32"}
        return {
            f"{self.key}/{name}": Form((dtype,))
            for name, dtype in forms.items()
            if not (self.pattern and name == "data")
        }

    def write(self, value: Any, part: Part, weight_type: str) -> None:  # noqa: ARG002 - no weights
        for name, form in self.forms().items():
            array = getattr(value, name.rpartition("/")[2])
            part.arrays[name] = array.astype(form.dtypes[0], copy=False)

    def value(self, part: Part) -> Any:
        indptr, indices, data = (f"{self.key}/{name}" for name in ("indptr", "indices", "data"))
        shape = part.size(self.rows), part.size(self.columns)
        if shape[0] < 1:
            part.refuse(indptr, f"have at least one {self.noun}, got none")
        part.check_csr(indptr, indices, n_rows=shape[0], n_cols=shape[1])
        columns = part.arrays[indices]
        if not self.pattern:
            part.check_length(data, len(columns))
            part.check_size(data, self.most)
        values = np.ones(len(columns), np.float32) if self.pattern else part.arrays[data]
        return csr_from_parts((part.arrays[indptr], columns, values), shape)


@dataclass(frozen=True)
class Strings(Field):
    """A list of strings; None if it is ``optional`` and absent."""

    # Number of strings.
    length: Size = "n_labels"
    optional: bool = False
    # Whether the object has an array of strings, and no attribute if it is absent.
    as_array: bool = False

    def forms(self) -> dict[str, Form]:
        group = self.key if self.optional else None
        return {
            f"{self.key}/bytes": Form(("uint8",), 1, group),
            f"{self.key}/offsets": Form(("int64",), 1, group),
        }

    def write(self, value: Any, part: Part, weight_type: str) -> None:  # noqa: ARG002 - no weights
        if value is not None:
            for text in () if isinstance(value, Names) else value:
                text.encode()  # refuses surrogates, which are not UTF-8
            names = Names.of(value)
            part.arrays[f"{self.key}/bytes"] = names.data
            part.arrays[f"{self.key}/offsets"] = names.offsets

    def value(self, part: Part) -> Any:
        if not part.has(f"{self.key}/bytes"):
            return None
        names = read_strings(part, self.key, part.size(self.length))
        return np.array([*names, None], dtype=object)[:-1] if self.as_array else names

    def read(self, part: Part) -> dict[str, Any]:
        found = super().read(part)
        return {} if self.as_array and found[self.attribute] is None else found


def feature_names(length: Size) -> Strings:
    """Return the field of the feature names that scikit-learn takes from data frames."""
    return Strings(
        "feature_names_in_", length, optional=True, as_array=True, name="feature_names",
        get=lambda model: getattr(model, "feature_names_in_", None),
    )  # fmt: skip


def plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, and other values as they are."""
    return value.item() if isinstance(value, np.generic) else value


def read_strings(part: Part, name: str, length: int) -> Names:
    """Check the two arrays of a list of ``length`` strings and return the list."""
    part.check_length(f"{name}/offsets", length + 1)
    data, offsets = part.arrays[f"{name}/bytes"], part.arrays[f"{name}/offsets"]
    part.check_offsets(f"{name}/offsets", len(data))
    decoder = codecs.getincrementaldecoder("utf-8")()
    step = _checks.BLOCK_ITEMS
    for start in range(0, max(1, len(data)), step):
        block = data[start : start + step].tobytes()
        try:
            decoder.decode(block, final=start + step >= len(data))
        except UnicodeDecodeError as error:
            wrong = error.object[error.start : error.end]
            place = start + error.start
            part.fail(f"{part.name(f'{name}/bytes')} must be UTF-8, got {wrong!r} near {place}")
    starts = offsets[offsets < len(data)]
    inside = (data[starts] & 0xC0) == 0x80
    if inside.any():
        part.fail(f"{part.name(f'{name}/offsets')} must not split a character, got "
                  f"{starts[np.argmax(inside)]}")  # fmt: skip
    return Names(data, offsets)


# --- The classes of a classifier: numbers, bools and strings, never objects.

CLASS_KIND = Choice(("ids", "numbers", "bools", "characters", "strings", "names"))
"""Kinds of classes; ``names`` are label names of a multi-label classifier."""

_NUMBERS = tuple(
    f"{kind}{bits}"
    for kind in ("int", "uint", "float")
    for bits in (8, 16, 32, 64)
    if (kind, bits) != ("float", 8)
)


@dataclass(frozen=True)
class Classes(Field):
    """The classes, or the names of labels of a multi-label classifier.

    Label ids need no array. NumPy strings are stored as rows of code points, so that their type
    is preserved and loading needs no more memory than the file has; strings that are Python
    objects are stored in UTF-8. The value to write is a pair: the classes or None for ids, and
    whether they are names of labels.
    """

    attribute: str = "class_names_"
    name: str = field(default="classes", kw_only=True)
    length: Size = "n_labels"

    def value_of(self, owner: Any) -> Any:
        return (owner.class_names_, owner.multilabel_) if self.get is None else self.get(owner)

    def numbers(self) -> dict[str, Rule]:
        return {"classes": CLASS_KIND}

    def forms(self) -> dict[str, Form]:
        """Return the arrays of the classes, of which at most one kind is present."""
        strings = [Strings(name=f"classes/{kind}", optional=True) for kind in ("strings", "names")]
        return {
            "classes/numbers": Form(_NUMBERS, 1, "numbers"),
            "classes/bools": Form(("uint8",), 1, "bools"),
            "classes/characters": Form(("uint32",), 2, "characters"),
            **strings[0].forms(),
            **strings[1].forms(),
        }

    def write(self, value: Any, part: Part, weight_type: str) -> None:
        """Put the classes into a part; raise ValueError if their type cannot be stored."""
        classes, multilabel = value
        kind = _kind_of_classes(classes, multilabel=multilabel)
        part.state["classes"] = kind
        if kind in {"strings", "names"}:
            strings = Strings(name=f"classes/{kind}")
            strings.write(classes.tolist(), part, weight_type)
        elif kind == "characters":
            plain_ = np.ascontiguousarray(classes, dtype=classes.dtype.newbyteorder("<"))
            part.arrays["classes/characters"] = plain_.view("<u4").reshape(len(plain_), -1)
        elif kind != "ids":
            array = classes.view(np.uint8) if kind == "bools" else classes
            part.arrays[f"classes/{kind}"] = array

    def read(self, part: Part) -> dict[str, Any]:
        """Check and return the classes, None for ids, by attribute."""
        classes = _read_classes(part, part.size(self.length))
        named = part.state["classes"] in {"ids", "names"}
        return {self.attribute: classes, "multilabel_": named}


def _kind_of_classes(classes: NDArray[Any] | None, *, multilabel: bool) -> str:
    if classes is None:
        return "ids"
    if multilabel:
        return "names"
    if classes.dtype.name in _NUMBERS:
        return "numbers"
    if classes.dtype.kind in "bU":
        return "bools" if classes.dtype.kind == "b" else "characters"
    if classes.dtype.kind == "O" and all(isinstance(value, str) for value in classes):
        return "strings"
    raise ValueError(f"classes_ must be numbers, bools or strings to be saved, got {show(classes)}")


def _read_classes(part: Part, n_labels: int) -> NDArray[Any] | None:
    """Check and return the classes; None for ids."""
    kind = part.state["classes"]
    for name in part.arrays:
        if name.startswith("classes/") and name.split("/")[1] != kind:
            part.fail(f"{part.name(name)} does not belong to classes that are {kind}")
    if kind == "ids":
        return None
    name, texts = f"classes/{kind}", kind in {"strings", "names"}
    if not part.has(f"{name}/bytes" if texts else name):
        part.fail(f"{part.name(name)} is missing from classes that are {kind}")
    if texts:
        classes = np.array([*read_strings(part, name, n_labels), None], dtype=object)[:-1]
    else:
        part.check_length(name, n_labels)
        classes = part.arrays[name]
        if kind == "characters":
            classes = _characters(part, name)
        elif kind == "bools":
            part.check_ints(name, 0, 2)
            classes = classes.view(np.bool_)
        elif classes.dtype.kind == "f":
            part.check_finite(name)
    if not (classes[1:] > classes[:-1]).all():
        where = int(np.argmin(classes[1:] > classes[:-1]))
        part.refuse(name, f"increase, got {show(classes[where + 1])} after "
                    f"{show(classes[where])} at {where + 1}")  # fmt: skip
    return classes


def _characters(part: Part, name: str) -> NDArray[Any]:
    """Check rows of code points and return them as strings."""
    points = part.arrays[name]
    if not points.shape[1]:
        part.refuse(name, "have at least one column, got none")
    part.check_ints(name, 0, 0x110000)
    surrogates = points[(points >= 0xD800) & (points < 0xE000)]
    if surrogates.size:
        part.refuse(name, f"not have surrogates, got {surrogates[0]:#x}")
    return points.view(f"<U{points.shape[1]}").reshape(-1)


# --- Weights, and objects within objects.


@dataclass(frozen=True)
class Weights(Field):
    """Weights of any type of model files, and the scales of int8 (``_weights``).

    The value to write is a pair: float32 weights, and the bounds of the runs that share a scale.
    The object gets weights and scales as they are stored; those of float16 as uint16.
    """

    attribute: str = "weights"
    name: str = field(default="weights", kw_only=True)

    def forms(self) -> dict[str, Form]:
        return {"weights": Form(WEIGHT_TYPES), "scales": Form(("float32",), 1, "scales")}

    def write(self, value: Any, part: Part, weight_type: str) -> None:
        weights, bounds = value
        part.arrays |= pack_values(weights, bounds, weight_type)

    def read(self, part: Part) -> dict[str, Any]:
        """Return weights and scales by attribute, or nothing; the class checks them."""
        if not self.attribute:
            return {}
        weights = part.arrays["weights"]
        stored = weights.view(np.uint16) if weights.dtype == np.float16 else weights
        return {"weights": stored, "scales": part.arrays.get("scales")}


class State:
    """The fitted state of a class.

    - ``*fields``: what a file holds, in addition to what the bases of the class declare.
    - ``kind``: name in files, of a class that occurs only within others.
    - ``make``: returns the object, given the values by attribute; usually its class.
    - ``take``: returns values to write, by their names in the file, given the object.
    - ``check``: checks what the fields of a part do not say, before they are read.
    - ``build``: returns the object, given a part and its checked values, instead of ``make``.
    - ``finish``: takes a part and its estimator, after all attributes have been set.
    - ``parameters``: rules of stored parameters that differ from those of the estimator; None for a
      parameter that is not stored.
    - ``stored``: returns the estimator whose parameters are stored, given the fitted one.
    - ``absent``: values of parameters and numbers that older files lack. They are not written, so
      that such a file stays the same when it is saved again.
    - ``sizes``: what ``describe`` calls ``features``, ``labels`` and ``groups``.
    - ``told``: numbers that ``fit`` has chosen, which ``describe`` shows.
    """

    def __init__(
        self,
        *fields: Field,
        kind: str = "",
        make: Callable[..., Any] = dict,
        take: Callable[[Any], Mapping[str, Any]] | None = None,
        check: Callable[[Part], None] | None = None,
        build: Callable[[Part, dict[str, Any]], Any] | None = None,
        finish: Callable[[Part, Any], None] | None = None,
        parameters: Mapping[str, Any] | None = None,
        stored: Callable[[Any], Any] | None = None,
        absent: Mapping[str, Any] | None = None,
        sizes: Mapping[str, Size] | None = None,
        told: Iterable[str] = (),
    ) -> None:
        self.fields, self.kind, self.told = fields, kind, told
        self._make, self._take, self._check, self._build = make, take, check, build
        self.finish, self.stored = finish, stored
        self.parameters, self.absent, self.sizes = parameters or {}, absent or {}, sizes or {}

    def write(self, owner: Any, part: Part, weight_type: str) -> None:
        """Put the state of an object into a part."""
        given = {} if self._take is None else self._take(owner)
        for one in self.fields:
            value = given[one.key] if one.key in given else one.value_of(owner)
            one.write(value, part, weight_type)

    def read(self, part: Part) -> dict[str, Any]:
        """Check a part and return the values by attribute."""
        if self._check is not None:
            self._check(part)
        values: dict[str, Any] = {}
        for one in self.fields:
            values |= one.read(part)
        return values

    def make_object(self, part: Part) -> Any:
        """Check a part and return the object."""
        values = self.read(part)
        if self._build is not None:
            return self._build(part, values)
        return self._make(**values)


@dataclass(frozen=True)
class Object(Field):
    """An object whose state is stored with that of its owner; None if optional and absent."""

    state: State = field(default_factory=State)
    prefix: str = ""
    optional: bool = False

    def _group(self, form: Form) -> str | None:
        own = self.key if self.optional else None
        return own if form.group is None else self.prefix + form.group

    def forms(self) -> dict[str, Form]:
        return {
            self.prefix + name: replace(form, group=self._group(form))
            for one in self.state.fields
            for name, form in one.forms().items()
        }

    def numbers(self) -> dict[str, Rule]:
        """Return the numbers of the object, which have no prefix."""
        return {name: rule for one in self.state.fields for name, rule in one.numbers().items()}

    def write(self, value: Any, part: Part, weight_type: str) -> None:
        if value is not None:
            inner = Part(state=part.state)
            self.state.write(value, inner, weight_type)
            part.arrays |= {self.prefix + name: array for name, array in inner.arrays.items()}

    def value(self, part: Part) -> Any:
        if self.optional and not any(map(part.has, self.forms())):
            return None
        return self.state.make_object(part.below(self.prefix) if self.prefix else part)
