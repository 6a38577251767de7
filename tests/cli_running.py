"""Running the command line inside the test process."""

from __future__ import annotations

from typer.testing import CliRunner

from defrag.cli.app import app


def run(*args):
    """Run a command line in this process; only leaving is allowed, not crashing."""
    result = CliRunner().invoke(app, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run_well(*args):
    result = run(*args)
    assert result.exit_code == 0, result.stderr
    assert not result.stderr
    return result.stdout


def files(folder):
    return sorted(path.name for path in folder.iterdir())
