"""``defrag train-part``: train parts of a plan."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from defrag._progress import escaped
from defrag.cli._console import examples, print_next
from defrag.cli._data import LabelNamesFlag, LabelsFlag, Reading
from defrag.cli._flags import argument, option, refuse_flags
from defrag.distributed import (
    PartResult,
    Plan,
    fit_part,
    load_part,
    load_plan,
    part_path,
    save_part,
)
from defrag.exceptions import ModelFormatError
from defrag.io.files import display_name
from defrag.text import TextClassifier

HELP = (
    "Train parts of a plan that 'defrag train --parts N' wrote.\n\n"
    "Each part is written to a file beside the plan, PLAN.part-00000 and so on, which "
    "'defrag join' reads. A part whose file is complete is skipped, so that a killed job can be "
    "restarted. Parts can be trained in any order, by several processes and on "
    "several machines. Leaves of label trees, which are the last parts, are trained faster when "
    "the files of all other parts are there. DATA must be the data of the plan."
) + examples(
    "defrag train train.txt model.plan --parts 64",
    "defrag train-part model.plan train.txt --part 3",
    "defrag train-part model.plan train.txt",
    "defrag join model.plan model.safetensors",
)


def train_part(
    *,
    plan: Annotated[str, argument("PLAN", "The plan.")],
    data: Annotated[str, argument("DATA", "The training data; - is stdin.")],
    part: Annotated[
        list[int] | None, option("Part, from 0; may be repeated. Default: all parts.", "I", min=0)
    ] = None,
    force: Annotated[bool, "Retrain parts whose files are complete."] = False,
    reading: Reading,
    labels: LabelsFlag = None,
    label_names: LabelNamesFlag = None,
    n_jobs: Annotated[int, "Number of threads; -1 for all."] = -1,
) -> None:
    """Train parts of a plan."""
    todo = load_plan(plan)
    n_parts = len(todo.shares)
    chosen = [one.index for one in todo.parts] if part is None else list(dict.fromkeys(part))
    for index in chosen:
        if index >= n_parts:
            raise ValueError(f"{display_name(plan)}: --part must be below {n_parts}, got {index}")
    if not force:
        done = {index for index in chosen if _trained(plan, index, todo)}
        chosen = [index for index in chosen if index not in done]
        if done:
            typer.echo(f"{len(done)} of {n_parts} parts are trained already")
    if chosen:
        X, Y = read_data(todo, data, reading, labels, label_names)
        todo.estimator.set_params(n_jobs=n_jobs)
        first = [one.index for one in todo.parts if one.wave == 0]
        for index in sorted(chosen, key=lambda index: int(todo.waves[index])):
            target = part_path(plan, index)
            waited_for = first if todo.waves[index] else []
            earlier = [found for one in waited_for if (found := _trained(plan, one, todo))]
            save_part(fit_part(todo, index, X, Y, earlier), target)
            typer.echo(f"part {index} of {n_parts} in {escaped(str(target))}")
    print_next(f"defrag join {escaped(plan)} MODEL")


def _trained(plan: str, index: int, todo: Plan) -> PartResult | None:
    """Return the result of a part, if its file is complete and belongs to the plan."""
    path = part_path(plan, index)
    if not path.exists():
        return None
    try:
        found = load_part(path)
    except ModelFormatError:
        return None  # incomplete or not a part: written again
    return found if found.identity == todo.identity else None


def read_data(
    todo: Plan, data: str, reading: Reading, labels: str | None, label_names: str | None = None
) -> tuple[Any, Any]:
    """Return the points or texts of a plan, and their labels."""
    corpus = reading.texts_form(data)
    if (corpus is not None) != isinstance(todo.estimator, TextClassifier):
        kinds = ("matrices", "texts") if corpus is not None else ("texts", "matrices")
        raise ValueError(
            f"{display_name(data)}: has {kinds[1]}, but the plan was made from {kinds[0]}"
        )
    if corpus is not None:
        found = reading.texts(data, corpus, labels, label_names, required=True)
        return found.texts, found.labels
    refuse_flags("without texts", {"--label-names": label_names})
    return reading.labelled_points(data, labels)
