"""Plans of training on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from defrag._progress import progress_pulse
from defrag.cli._console import escaped, print_next
from defrag.distributed import plan, save_plan

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.typing import Csr

__all__ = ["write_plan"]


def write_plan(  # noqa: PLR0917 - the arguments of one command
    estimator: Classifier, X: Csr, Y: Csr, n_parts: int, path: str, data: str
) -> None:
    """Write the plan of a training, and say how to go on."""
    with progress_pulse("planning"):
        found = plan(estimator, X, Y, n_parts=n_parts)
    save_plan(found, path)
    largest = found.parts[0]
    typer.echo(
        f"{len(found.parts)} parts in {escaped(path)}, the largest with "
        f"{largest.share:.1%} of the work"
    )
    print_next(f"defrag train-part {escaped(path)} {escaped(data)} --part {largest.index}")
