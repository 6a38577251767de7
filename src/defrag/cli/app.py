"""The ``defrag`` command: its table of commands and its global flags."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from defrag.cli._console import ErrorGroup

VERBS = {
    "demo": "Train a model of texts on the bundled data.",
    "train": "Train a classifier and write it to a model file.",
    "train-part": "Train parts of a plan that 'train --parts' wrote.",
    "join": "Join the trained parts of a plan into a model.",
    "predict": "Predict the best labels of points.",
    "suggest": "Suggest the labels of one text.",
    "explain": "Explain why a label has its score.",
    "labels": "List, search and add the labels of a model of texts.",
    "serve": "Serve models over HTTP.",
    "annotate": "Label texts on a page, with a model that learns.",
    "evaluate": "Evaluate predictions against true labels.",
    "cluster": "Find groups of features and write them as a group file.",
    "agglomerate": "Replace the features of a data file by groups.",
    "convert": "Convert a data file to another format.",
    "tune": "Choose the settings of a model of texts, and train it.",
    "compare": "Train, evaluate and compare methods on your data.",
    "reproduce": "Reproduce tables and figures of the paper.",
    "info": "Describe a data file or a model file.",
}
"""Commands in the order of the help, each a module of this package."""


class LazyGroup(ErrorGroup):
    """A group that imports a command only when it runs."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        """Return a stand-in for a command, for the help of the group."""
        return TyperCommand(cmd_name, help=VERBS[cmd_name]) if cmd_name in VERBS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run, imported."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else import_verb(name, rest), rest


def import_verb(name: str, args: list[str] | None = None) -> Any:
    """Import a command and return it.

    - ``name``: a key of ``VERBS``.
    - ``args`` (optional): its words on the command line; flags of estimators that they do not need
      may be left out.
    """
    function = name.replace("-", "_")
    module = importlib.import_module(f"defrag.cli.{function}")
    command = _command(name, module, getattr(module, function), args)
    known = {opt for param in command.params for opt in (*param.opts, *param.secondary_opts)}
    given = {arg.partition("=")[0] for arg in args or () if arg.startswith("--")}
    if given - known - {"--", "--help"}:
        return _command(name, module, getattr(module, function), None)
    return command


def _command(name: str, module: Any, function: Any, args: list[str] | None) -> Any:
    from defrag.cli._flags import with_flags  # noqa: PLC0415 - imports numpy

    of_estimators = module.parameter_flags(args) if hasattr(module, "parameter_flags") else []
    single = typer.Typer(context_settings=_SETTINGS, add_completion=False)
    kind = getattr(module, "COMMAND", VerbCommand)
    single.command(name, help=module.HELP, cls=kind)(with_flags(function, of_estimators))
    return typer.main.get_command(single)


class VerbCommand(TyperCommand):
    """A command that lists choices in the help text of a flag, where lines break at spaces."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        params: list[Any] = self.params  # typed as parameters, which lack the attributes of options
        for param in params:
            # type_descriptor in newer versions of typer, type in older ones.
            kind = getattr(param, "type_descriptor", None) or getattr(param, "type", None)
            choices = getattr(kind, "choices", None)
            if choices and param.metavar is None:
                words = ", ".join(str(getattr(one, "value", one)) for one in choices)
                param.metavar = "WORD"
                param.help = f"{(param.help or '').rstrip('. ')} ({words})."


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="defrag",
    cls=LazyGroup,
    help="Pick the right labels out of thousands or millions, on a CPU, and see why.",
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
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="DEFRAG_DEBUG", help="Show the traceback of an error.")
    ] = False,
) -> None:
    del version, debug  # read by the callback and by the group of commands
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
