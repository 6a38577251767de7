"""``defrag agglomerate``: replace features by groups, the second step of the official program."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from defrag import _native
from defrag._parameters import Choice
from defrag._progress import progress_pulse
from defrag._validation import check_features
from defrag.agglomeration._clustering import FeaturePooling
from defrag.cli._console import escaped, examples, print_next, print_written
from defrag.cli._data import BaseFlag, FromFlag, LabelsFlag, StrictFlag, TruncatedFlag, read, write
from defrag.cli._outputs import check_targets
from defrag.io.files import display_name, open_input
from defrag.io.groups import parse_groups

if TYPE_CHECKING:
    from defrag.typing import Csr, Ids

__all__ = ["HELP", "agglomerate"]

HELP = (
    "Replace the features of a data file by groups.\n\n"
    "The output has the format of the input: text, combined or features only, or an archive "
    "(.npz). Features and labels in separate files (--labels) give combined text."
) + examples(
    "defrag agglomerate test.txt groups.txt test_small.txt",
    "defrag agglomerate test.txt.xz groups.txt - --pooling mean | head",
    "defrag agglomerate test.txt groups.txt test_small.txt --scale energy --train train.txt",
)


class Pooling(str, Enum):
    """How the value of a group is computed."""

    sum = "sum"
    mean = "mean"
    mean_nonzero = "mean_nonzero"


class Scale(str, Enum):
    """How groups are scaled."""

    none = "none"
    energy = "energy"


class _GivenGroups(FeaturePooling):
    """A pooling of features by the groups of a file."""

    def __init__(
        self, groups: Ids, n_clusters: int, pooling: str, scale: str | None, n_jobs: int | None
    ) -> None:
        self.groups = groups
        self.n_clusters = n_clusters
        self.pooling = pooling
        self.scale = scale
        self.n_jobs = n_jobs

    parameter_rules: ClassVar[dict[str, Any]] = {
        "pooling": Choice(tuple(one.value for one in Pooling))
    }

    def fit(self, X: Csr, y: None = None) -> _GivenGroups:  # noqa: ARG002 - scikit-learn's form
        """Compute the energy of the features on the data."""
        X = check_features(self, X, reset=True)
        _, energy = _native.column_statistics(X, n_threads=_native.n_threads(self.n_jobs))
        self._set_groups(X, self.groups, self.n_clusters, energy, self.scale)
        return self


def agglomerate(
    *,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Data; - is stdin.")],
    groups: Annotated[str, typer.Argument(metavar="GROUPS", help="The group file; - is stdin.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="The agglomerated data; - is stdout.")],
    pooling: Annotated[
        Pooling,
        typer.Option(
            help="Value of a group in a row: the sum of its features, the sum divided by the "
            "size of the group, or by the number of its features in the row."
        ),
    ] = Pooling.sum,
    scale: Annotated[
        Scale,
        typer.Option(help="Scale each group to the energy of its features on --train."),
    ] = Scale.none,
    train: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The data that were clustered; required by --scale energy."
        ),
    ] = None,
    form: FromFlag = None,
    zero_based: BaseFlag = None,
    labels: LabelsFlag = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Drop features without a group.")
    ] = False,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    n_jobs: Annotated[int | None, typer.Option(help="Number of threads; -1 for all.")] = None,
) -> None:
    """Replace the features of a data file by groups."""
    if [data, groups].count("-") > 1:
        raise ValueError("DATA and GROUPS cannot both be standard input")
    if (scale is Scale.none) != (train is None):
        raise ValueError("--scale energy and --train go together: give both or neither")
    inputs = {"DATA": data, "GROUPS": groups, "--labels": labels, "--train": train}
    check_targets({"OUT": out}, inputs)
    points = read(
        data,
        labels=labels,
        form=form,
        zero_based=zero_based,
        strict=strict,
        allow_truncated=allow_truncated,
    )
    with open_input(groups) as stream:
        found = parse_groups(stream, points.X.shape[1], allow_missing=allow_missing)
    known = points
    if train is not None:
        known = read(train, zero_based=zero_based, strict=strict, allow_truncated=allow_truncated)
        widths = known.X.shape[1], points.X.shape[1]
        if widths[0] != widths[1]:
            shown = display_name(train), display_name(data)
            raise ValueError(f"{shown[0]}: {widths[0]} features, but {shown[1]} has {widths[1]}")
    with progress_pulse("summing groups"):
        factor = None if scale is Scale.none else scale.value
        pooled = _GivenGroups(*found, pooling.value, factor, n_jobs).fit(known.X)
        result = pooled.transform(points.X)
    write(out, points.with_features(result))
    print_written(out, points.form.value, result, points.Y)
    if points.Y is not None and out != "-":
        print_next(f"defrag train {escaped(out)} model.safetensors --agglomerate none")
