"""Files of plans and part results, for batch systems, shell loops and resumed work."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._parameters import Choice, Int
from defrag.distributed._plan import DESCRIBED, PartResult, Plan, Sizes
from defrag.exceptions import ModelFormatError
from defrag.io.files import display_name
from defrag.persistence._container import read_model_file, show, write_model_file
from defrag.persistence.fields import CLASS_KIND, MAX_COUNT, Classes, Strings, read_strings
from defrag.persistence.fields import Part as FilePart
from defrag.persistence.kinds import SEED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from defrag._parameters import Rule
    from defrag.io.files import PathLike

__all__ = ["load_part", "load_plan", "part_path", "save_part", "save_plan"]

_CHECKSUM = Int(0, 2**32 - 1)
_PLAN_RULES: dict[str, Rule] = {
    "estimator": DESCRIBED,
    "seed": SEED,
    "n_points": Int(0, MAX_COUNT),
    "n_features": Int(1, MAX_COUNT),
    "n_labels": Int(1, MAX_COUNT),
    "dense": Choice((True, False)),
    "multilabel": Choice((True, False)),
    "classes": CLASS_KIND,
    "fingerprint": _CHECKSUM,
    "identity": _CHECKSUM,
}
_PART_RULES: dict[str, Rule] = {"index": Int(0, MAX_COUNT), "identity": _CHECKSUM}


def save_plan(plan: Plan, path: PathLike) -> None:
    """Write a plan to a file.

    Parameters
    ----------
    plan : Plan
        The plan.
    path : path
        The file, usually ``*.plan``. Equal plans give equal bytes.
    """
    sizes = plan.sizes
    part = FilePart()
    Classes().write((sizes.classes, False), part, "float32")
    Strings("feature_names").write(sizes.feature_names, part, "float32")
    arrays, kind = part.arrays, part.state["classes"]
    arrays |= {"bounds": plan.bounds, "shares": plan.shares}
    arrays |= {f"outline/{name}": array for name, array in plan.outline.items()}
    description = {
        "estimator": DESCRIBED.pack(plan.estimator),
        "seed": plan.seed,
        "n_points": sizes.n_points,
        "n_features": sizes.n_features,
        "n_labels": sizes.n_labels,
        "dense": sizes.dense,
        "multilabel": sizes.multilabel,
        "classes": kind,
        "fingerprint": plan.fingerprint,
        "identity": plan.identity,
    }
    write_model_file(path, {"plan": description}, arrays)


def load_plan(path: PathLike) -> Plan:
    """Read a plan that :func:`save_plan` wrote.

    Raises
    ------
    ModelFormatError
        If the file is not a plan, or is damaged.
    OSError
        If the file cannot be read.
    """
    name = display_name(path)
    description, arrays = read_model_file(path, checked=True)
    found = _checked(name, description, "plan", _PLAN_RULES)
    for needed in ("bounds", "shares"):
        if needed not in arrays:
            raise ModelFormatError(name, f"array '{needed}' of the plan is missing")
    file_part = FilePart(state=found, arrays=dict(arrays), path=name)
    names = None
    if file_part.has("feature_names/bytes"):
        names = np.array(
            list(read_strings(file_part, "feature_names", found["n_features"])), dtype=object
        )
    sizes = Sizes(
        found["n_points"],
        found["n_features"],
        found["n_labels"],
        Classes().read(file_part)["class_names_"],
        found["dense"],
        found["multilabel"],
        names,
    )
    outline = {
        key.removeprefix("outline/"): array
        for key, array in arrays.items()
        if key.startswith("outline/")
    }
    estimator = DESCRIBED.unpack(found["estimator"])
    bounds, shares = arrays["bounds"], arrays["shares"]
    plan = Plan(estimator, found["seed"], sizes, found["fingerprint"], outline, bounds, shares)
    if plan.identity != found["identity"]:
        raise ModelFormatError(name, f"the plan is damaged: its checksum is {plan.identity}, "
                                     f"it declares {found['identity']}")  # fmt: skip
    return plan


def part_path(plan_path: PathLike, index: int) -> Path:
    """Return the file of the result of a part, beside the plan.

    Examples
    --------
    >>> from defrag.distributed import part_path
    >>> part_path("model.plan", 3).name
    'model.plan.part-00003'
    """
    path = Path(os.fspath(plan_path))
    return path.with_name(f"{path.name}.part-{index:05d}")


def save_part(result: PartResult, path: PathLike) -> None:
    """Write the result of a part to a file; training the part again gives the same bytes."""
    description = {"index": result.index, "identity": result.identity}
    write_model_file(path, {"part": description}, result.arrays)


def load_part(path: PathLike) -> PartResult:
    """Read the result of a part that :func:`save_part` wrote.

    Raises
    ------
    ModelFormatError
        If the file is not the result of a part, or is damaged.
    OSError
        If the file cannot be read.
    """
    description, arrays = read_model_file(path, checked=True)
    found = _checked(display_name(path), description, "part", _PART_RULES)
    return PartResult(found["index"], found["identity"], dict(arrays))


def _checked(
    name: str, description: Mapping[str, Any], what: str, rules: Mapping[str, Rule]
) -> dict[str, Any]:
    """Return the values of a description after checking them against their rules."""
    values = description.get(what)
    if not isinstance(values, dict):
        kinds = ", ".join(sorted(set(description) - {"library", "format_version"}))
        raise ModelFormatError(name, f"is not a {what}: it holds {kinds or 'nothing'}")
    if set(values) != set(rules):
        odd = min(set(values) ^ set(rules))
        raise ModelFormatError(name, f"{what}: {show(odd)} is missing or unknown")
    for key, rule in rules.items():
        if not rule.accepts(values[key]):
            raise ModelFormatError(
                name, f"{key} of the {what} must be {rule.describe()}, got {show(values[key])}"
            )
    return values
