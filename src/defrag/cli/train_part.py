"""``defrag train-part``: train parts of a plan."""

from __future__ import annotations

from typing import Annotated

import typer

from defrag.cli._console import escaped, examples, print_next
from defrag.cli._corpora import AnyFromFlag, corpus_flags
from defrag.cli._data import (  # noqa: TC001 - the flags are made from them
    BaseFlag,
    LabelNamesFlag,
    LabelsFlag,
    StrictFlag,
    TruncatedFlag,
)
from defrag.cli._plans import read_data
from defrag.distributed import fit_part, load_part, load_plan, part_path, save_part
from defrag.exceptions import ModelFormatError
from defrag.io.documents import CorpusOptions  # noqa: TC001 - the flags are made from it
from defrag.io.files import display_name

__all__ = ["HELP", "train_part"]

HELP = (
    "Train parts of a plan that 'defrag train --parts N' wrote.\n\n"
    "Each part is written to a file beside the plan, PLAN.part-00000 and so on, which "
    "'defrag join' reads. A part whose file is complete is skipped, so that a killed job can be "
    "restarted. Parts can be trained in any order, by several processes and on "
    "several machines; DATA must be the data of the plan."
) + examples(
    "defrag train train.txt model.plan --parts 64",
    "defrag train-part model.plan train.txt --part 3",
    "defrag train-part model.plan train.txt",
    "defrag join model.plan model.safetensors",
)


@corpus_flags
def train_part(
    *,
    options: CorpusOptions,
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The training data; - is stdin.")],
    part: Annotated[
        list[int] | None,
        typer.Option(min=0, metavar="I", help="Part, from 0; may be repeated. Default: all parts."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Retrain parts whose files are complete.")
    ] = False,
    form: AnyFromFlag = None,
    zero_based: BaseFlag = None,
    labels: LabelsFlag = None,
    label_names: LabelNamesFlag = None,
    n_jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all.")] = -1,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
) -> None:
    """Train parts of a plan."""
    todo = load_plan(plan)
    n_parts = len(todo.shares)
    chosen = [one.index for one in todo.parts] if part is None else list(dict.fromkeys(part))
    for index in chosen:
        if index >= n_parts:
            raise ValueError(f"{display_name(plan)}: --part must be below {n_parts}, got {index}")
    if not force:
        done = [index for index in chosen if _is_done(plan, index, todo.identity)]
        chosen = [index for index in chosen if index not in set(done)]
        if done:
            typer.echo(f"{len(done)} of {n_parts} parts are trained already")
    if chosen:
        X, Y = read_data(
            todo,
            data,
            form=form,
            options=options,
            labels=labels,
            label_names=label_names,
            zero_based=zero_based,
            strict=strict,
            allow_truncated=allow_truncated,
        )
        todo.estimator.set_params(n_jobs=n_jobs)
        for index in chosen:
            target = part_path(plan, index)
            save_part(fit_part(todo, index, X, Y), target)
            typer.echo(f"part {index} of {n_parts} in {escaped(str(target))}")
    print_next(f"defrag join {escaped(plan)} MODEL")


def _is_done(plan: str, index: int, identity: int) -> bool:
    """Return whether the file of a part is complete and belongs to the plan."""
    path = part_path(plan, index)
    if not path.exists():
        return False
    try:
        return load_part(path).identity == identity
    except ModelFormatError:
        return False  # incomplete or not a part: written again
