"""``defrag join``: join the parts of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from defrag._progress import escaped
from defrag.cli._console import examples, print_next
from defrag.cli._data import (
    LabelNamesFlag,
    LabelsFlag,
    Reading,
    VocabularyFlag,
    WeightsFlag,
    check_targets,
    read_all_names,
)
from defrag.cli._flags import argument, refuse_flags
from defrag.cli.train_part import read_data
from defrag.distributed import join as join_parts
from defrag.distributed import load_part, load_plan, part_path
from defrag.io.files import display_name
from defrag.text import TextClassifier

HELP = (
    "Join the parts of a plan into a model.\n\n"
    "The parts are the files that 'defrag train-part' wrote beside the plan. The model is "
    "identical, byte for byte, to that of 'defrag train' on one machine."
) + examples(
    "defrag train train.txt model.plan --parts 64",
    "defrag train-part model.plan train.txt",
    "defrag join model.plan model.safetensors --label-names labels.txt",
)


def join(
    *,
    plan: Annotated[str, argument("PLAN", "The plan.")],
    model: Annotated[str, argument("MODEL", "The model file, usually *.safetensors.")],
    weights: WeightsFlag = "float32",
    label_names: LabelNamesFlag = None,
    vocabulary: VocabularyFlag = None,
    data: Annotated[str | None, "The training data; required by lpsr only.", "DATA"] = None,
    reading: Reading,
    labels: LabelsFlag = None,
) -> None:
    """Join the parts of a plan into a model."""
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
    if isinstance(todo.estimator, TextClassifier):
        given = {"--label-names": label_names, "--vocabulary": vocabulary}
        refuse_flags("of texts, which have names", given)
    sizes = todo.sizes
    names = read_all_names(label_names, vocabulary, sizes.n_labels, sizes.n_features)
    results = (load_part(path) for path in paths)
    if data is None:
        fitted = join_parts(todo, results)
    else:
        fitted = join_parts(todo, results, *read_data(todo, data, reading, labels))
    fitted.save(model, weights=weights, **names)
    typer.echo(f"{len(paths)} parts, {Path(model).stat().st_size / 1e6:.1f} MB in {escaped(model)}")
    print_next(f"defrag predict {escaped(model)} TEST_DATA --output predictions.txt")
