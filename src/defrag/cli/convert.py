"""``defrag convert``: convert data files between formats."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from defrag.cli._console import escaped, examples, print_next, print_written
from defrag.cli._data import (
    BaseFlag,
    Form,
    FromFlag,
    LabelsFlag,
    StrictFlag,
    TruncatedFlag,
    check_base,
    form_of_name,
    form_of_output,
    read,
    write,
)
from defrag.cli._targets import check_targets

__all__ = ["HELP", "convert"]

HELP = (
    "Convert a data file to another format.\n\n"
    "The formats are xmc, the text of the Extreme Classification Repository, combined or split "
    "into two files (--labels reads, --labels-out writes the label file); svmlight, which has "
    "no header and requires --zero-based or --one-based; and npz, an archive that is read "
    "fastest. Names that end in .npz, .svm, .svmlight or .libsvm have these formats; .txt, .xmc "
    "and names without a suffix are xmc. Names that end in .gz or .xz are compressed."
) + examples(
    "defrag convert train.txt train.npz",
    "defrag convert train.svm.xz train.txt --one-based",
    "defrag convert test.svm test.txt --one-based --n-features 5000",
    "defrag convert trainX.txt train.txt --labels trainY.txt",
    "defrag convert train.npz trainX.txt --labels-out trainY.txt",
    "defrag convert - - --from svmlight --to xmc --zero-based < train.svm > train.txt",
)


def convert(
    *,
    source: Annotated[str, typer.Argument(metavar="IN", help="The input; - is stdin.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="The output; - is stdout.")],
    form: FromFlag = None,
    to: Annotated[
        Form | None, typer.Option("--to", help="Format of the output; default: by name.")
    ] = None,
    zero_based: BaseFlag = None,
    labels: LabelsFlag = None,
    labels_out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the labels to a separate file.")
    ] = None,
    n_features: Annotated[
        int | None, typer.Option(help="Number of features; overrides that of IN.")
    ] = None,
    n_labels: Annotated[
        int | None, typer.Option(help="Number of labels; overrides that of IN.")
    ] = None,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
) -> None:
    """Convert a data file to another format."""
    target = to or form_of_output(out)
    check_targets({"OUT": out, "--labels-out": labels_out}, {"IN": source, "--labels": labels})
    if labels_out is not None:
        _check_split(target, labels_out)
    if target is Form.svmlight:
        check_base(out, zero_based)
    data = read(
        source,
        labels=labels,
        form=form,
        zero_based=zero_based,
        n_features=n_features,
        n_labels=n_labels,
        strict=strict,
        allow_truncated=allow_truncated,
    )
    if labels_out is not None and data.Y is None:
        raise ValueError(f"--labels-out {labels_out}: the input has no labels")
    write(out, replace(data, form=target, zero_based=zero_based), labels=labels_out)
    print_written(out, target.value, data.X, data.Y)
    if data.Y is not None and out != "-":
        also = "" if labels_out is None else f" --labels {escaped(labels_out)}"
        print_next(f"defrag train {escaped(out)} model.safetensors{also}")


def _check_split(target: Form, labels_out: str) -> None:
    if target is not Form.xmc:
        raise ValueError(f"--labels-out requires an output in the format xmc, got {target.value}")
    if form_of_name(labels_out) is not None:
        raise ValueError(f"--labels-out writes text, got the name {labels_out}")
