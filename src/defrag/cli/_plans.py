"""Plans of distributed training, for ``train``, ``train-part`` and ``join``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from defrag._progress import progress_pulse
from defrag.cli._console import escaped, print_next
from defrag.cli._corpora import form_of_corpus, form_of_matrix, read_labelled, text_options
from defrag.cli._data import read
from defrag.cli._flags import refuse_flags
from defrag.distributed import plan, save_plan
from defrag.io.files import display_name
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from defrag.cli._corpora import AnyForm
    from defrag.distributed import Plan
    from defrag.distributed._plan import Trainable
    from defrag.io.documents import CorpusOptions

__all__ = ["read_data", "write_plan"]


def write_plan(  # noqa: PLR0917 - the arguments of one command
    estimator: Trainable, X: Any, Y: Any, n_parts: int, path: str, data: str
) -> None:
    """Write a training plan and print the next command."""
    with progress_pulse("planning"):
        found = plan(estimator, X, Y, n_parts=n_parts)
    save_plan(found, path)
    largest = found.parts[0]
    typer.echo(
        f"{len(found.parts)} parts in {escaped(path)}, the largest with "
        f"{largest.share:.1%} of the work"
    )
    print_next(f"defrag train-part {escaped(path)} {escaped(data)} --part {largest.index}")


def read_data(
    todo: Plan,
    data: str,
    *,
    form: AnyForm | None,
    options: CorpusOptions,
    labels: str | None,
    label_names: str | None = None,
    **flags: Any,
) -> tuple[Any, Any]:
    """Read the points or texts of a plan, and their labels; ``flags`` apply to matrices."""
    corpus = form_of_corpus(data, form, options)
    if (corpus is not None) != isinstance(todo.estimator, TextClassifier):
        kinds = ("matrices", "texts") if corpus is not None else ("texts", "matrices")
        raise ValueError(
            f"{display_name(data)}: has {kinds[1]}, but the plan was made from {kinds[0]}"
        )
    if corpus is not None:
        given = text_options(options, corpus, labels, label_names)
        found: tuple[Any, Any] = read_labelled(data, corpus, given)
    else:
        refuse_flags("without texts", {"--label-names": label_names})
        points = read(data, labels=labels, form=form_of_matrix(form), **flags)
        found = points.X, points.Y
    if found[1] is None:
        raise ValueError(f"{display_name(data)}: has no labels: give --labels")
    return found
