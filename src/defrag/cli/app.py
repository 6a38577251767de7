"""The ``defrag`` command: its verbs and its global flags."""

from __future__ import annotations

from typing import Annotated

import typer

import defrag
from defrag.cli import agglomerate, cluster, convert, demo, evaluate, info, predict, train
from defrag.cli._leaving import LeavingGroup

__all__ = ["app"]

app = typer.Typer(
    name="defrag",
    cls=LeavingGroup,
    help="Extreme multi-label classification on an ordinary CPU machine.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"defrag {defrag.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="DEFRAG_DEBUG", help="Show the traceback of an error."),
    ] = False,
) -> None:
    del version, debug  # its callback and the group of verbs look at them
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


app.command("demo", help=demo.HELP)(demo.demo)
app.command("train", help=train.HELP)(train.train)
app.command("predict", help=predict.HELP)(predict.predict)
app.command("evaluate", help=evaluate.HELP)(evaluate.evaluate)
app.command("cluster", help=cluster.HELP)(cluster.cluster)
app.command("agglomerate", help=agglomerate.HELP)(agglomerate.agglomerate)
app.command("convert", help=convert.HELP)(convert.convert)
app.command("info", help=info.HELP)(info.info)
