"""``defrag agglomerate``: replace features by groups, the second step of the official program."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from defrag._progress import escaped, progress_pulse
from defrag.agglomeration import GivenGroups
from defrag.cli._console import examples, print_next, print_written
from defrag.cli._data import LabelsFlag, MatrixReading, check_targets, write
from defrag.cli._flags import File, Words, argument
from defrag.io.files import display_name, open_input
from defrag.io.groups import parse_groups
from defrag.specs import NONE

HELP = (
    "Replace the features of a data file by groups.\n\n"
    "The output has the format of the input: text, combined or features only, or an archive "
    "(.npz). Features and labels in separate files (--labels) give combined text."
) + examples(
    "defrag agglomerate test.txt groups.txt test_small.txt",
    "defrag agglomerate test.txt.xz groups.txt - --pooling mean | head",
    "defrag agglomerate test.txt groups.txt test_small.txt --scale energy --train train.txt",
)


def agglomerate(
    *,
    data: Annotated[str, argument("DATA", "Data; - is stdin.")],
    groups: Annotated[str, argument("GROUPS", "The group file; - is stdin.")],
    out: Annotated[str, argument("OUT", "The agglomerated data; - is stdout.")],
    pooling: Annotated[
        str,
        Words(("sum", "mean", "mean_nonzero")),
        "Value of a group in a row: the sum of its features, the sum divided by the size of the "
        "group, or by the number of its features in the row.",
    ] = "sum",
    scale: Annotated[
        str, Words((NONE, "energy")), "Scale each group to the energy of its features on --train."
    ] = NONE,
    train: Annotated[File, "The data that were clustered; required by --scale energy."] = None,
    reading: MatrixReading,
    labels: LabelsFlag = None,
    allow_missing: Annotated[bool, "Drop features without a group."] = False,
    n_jobs: Annotated[int | None, "Number of threads; -1 for all."] = None,
) -> None:
    """Replace the features of a data file by groups."""
    if [data, groups].count("-") > 1:
        raise ValueError("DATA and GROUPS cannot both be standard input")
    if (scale == NONE) != (train is None):
        raise ValueError("--scale energy and --train go together: give both or neither")
    inputs = {"DATA": data, "GROUPS": groups, "--labels": labels, "--train": train}
    check_targets({"OUT": out}, inputs)
    points = reading.points(data, labels)
    with open_input(groups) as stream:
        found = parse_groups(stream, points.X.shape[1], allow_missing=allow_missing)
    known = points
    if train is not None:
        known = replace(reading, form=None).points(train)
        widths = known.X.shape[1], points.X.shape[1]
        if widths[0] != widths[1]:
            shown = display_name(train), display_name(data)
            raise ValueError(f"{shown[0]}: {widths[0]} features, but {shown[1]} has {widths[1]}")
    with progress_pulse("summing groups"):
        factor = None if scale == NONE else scale
        pooled = GivenGroups(*found, pooling=pooling, scale=factor, n_jobs=n_jobs).fit(known.X)
        result = pooled.transform(points.X)
    write(out, points.with_features(result))
    print_written(out, points.form, result, points.Y)
    if points.Y is not None and out != "-":
        print_next(f"defrag train {escaped(out)} model.safetensors --agglomerate none")
