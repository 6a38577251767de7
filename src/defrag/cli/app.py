"""The ``defrag`` command: its verbs and its global flags."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from defrag.cli._errors import ErrorGroup
from defrag.cli._help import VerbCommand

__all__ = ["VERBS", "app", "import_verb"]

VERBS = {
    "demo": "Compare the methods on the bundled data.",
    "train": "Train a classifier and write it to a model file.",
    "train-part": "Train parts of a plan that 'train --parts' wrote.",
    "join": "Join the trained parts of a plan into a model.",
    "predict": "Predict the best labels of points.",
    "suggest": "Suggest the labels of one text.",
    "explain": "Explain why a label has its score.",
    "serve": "Serve models over HTTP.",
    "evaluate": "Evaluate predictions against true labels.",
    "cluster": "Find groups of features and write them as a group file.",
    "agglomerate": "Replace the features of a data file by groups.",
    "convert": "Convert a data file to another format.",
    "compare": "Train, evaluate and compare methods on your data.",
    "reproduce": "Reproduce tables and figures of the paper.",
    "info": "Describe a data file or a model file.",
}
"""Verbs in the order of the help, each a module of this package."""


class LazyGroup(ErrorGroup):
    """A group that imports a verb only when it runs: importing scikit-learn takes a second."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        """Return a stand-in for a verb, for the help of the group."""
        return TyperCommand(cmd_name, help=VERBS[cmd_name]) if cmd_name in VERBS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb to run, imported."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else import_verb(name), rest


def import_verb(name: str) -> Any:
    """Import a verb and return its command."""
    function = name.replace("-", "_")
    module = importlib.import_module(f"defrag.cli.{function}")
    single = typer.Typer(context_settings=_SETTINGS, add_completion=False)
    command = getattr(module, "COMMAND", VerbCommand)
    single.command(name, help=module.HELP, cls=command)(getattr(module, function))
    return typer.main.get_command(single)


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="defrag",
    cls=LazyGroup,
    help="Extreme multi-label classification on CPUs.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - only for this flag

        typer.echo(f"defrag {version('defrag')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="DEFRAG_DEBUG", help="Show the traceback of an error."),
    ] = False,
) -> None:
    del version, debug  # read by the callback and by the group of verbs
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
