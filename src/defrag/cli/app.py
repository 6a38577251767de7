"""The ``defrag`` command: its verbs and how an error leaves it."""

from __future__ import annotations

from typing import Annotated

import typer

import defrag

__all__ = ["app", "run"]

app = typer.Typer(
    help="Extreme multi-label classification on an ordinary CPU machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"defrag {defrag.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line."""
    app()
