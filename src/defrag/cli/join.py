"""``defrag join``: join the parts of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from defrag.cli._console import escaped, examples, print_next
from defrag.cli._data import (
    BaseFlag,
    FromFlag,
    LabelNamesFlag,
    LabelsFlag,
    VocabularyFlag,
    read,
    read_all_names,
)
from defrag.cli._targets import check_targets
from defrag.cli._weights import Weights
from defrag.distributed import join as join_parts
from defrag.distributed import load_part, load_plan, part_path
from defrag.io.files import display_name

__all__ = ["HELP", "join"]

HELP = (
    "Join the parts of a plan to a model.\n\n"
    "The parts are the files that 'defrag train-part' wrote beside the plan. The model is that "
    "of 'defrag train' on one machine, byte for byte."
) + examples(
    "defrag train train.txt model.plan --parts 64",
    "defrag train-part model.plan train.txt",
    "defrag join model.plan model.safetensors --label-names labels.txt",
)


def join(
    *,
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan.")],
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="The model file, usually *.safetensors.")
    ],
    weights: Annotated[
        Weights, typer.Option(help="Type of stored weights; smaller types round them.")
    ] = Weights.float32,
    label_names: LabelNamesFlag = None,
    vocabulary: VocabularyFlag = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="The training data, which lpsr alone needs again."),
    ] = None,
    form: FromFlag = None,
    zero_based: BaseFlag = None,
    labels: LabelsFlag = None,
) -> None:
    """Join the parts of a plan to a model."""
    check_targets(
        {"MODEL": model},
        {"PLAN": plan, "--label-names": label_names, "--vocabulary": vocabulary, "--data": data},
    )
    todo = load_plan(plan)
    paths = [part_path(plan, index) for index in range(len(todo.shares))]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ValueError(
            f"{display_name(plan)}: {len(missing)} of {len(paths)} parts are missing: {shown}"
        )
    names = read_all_names(
        label_names, vocabulary, n_labels=todo.sizes.n_labels, n_features=todo.sizes.n_features
    )
    results = (load_part(path) for path in paths)
    if data is None:
        fitted = join_parts(todo, results)
    else:
        points = read(data, labels=labels, form=form, zero_based=zero_based)
        fitted = join_parts(todo, results, points.X, points.Y)
    fitted.save(model, weights=weights.value, **names)
    typer.echo(f"{len(paths)} parts, {Path(model).stat().st_size / 1e6:.1f} MB in {escaped(model)}")
    print_next(f"defrag predict {escaped(model)} TEST_DATA --output predictions.txt")
