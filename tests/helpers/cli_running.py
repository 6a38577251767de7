"""Running the command line inside the test process."""

import json
import re

from typer.testing import CliRunner

from defrag.cli.app import app


def run(*args):
    """Run a command line in this process; only leaving is allowed, not crashing."""
    result = CliRunner().invoke(app, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run_warned(*args):
    """Run a command line that succeeds, perhaps with warnings."""
    result = run(*args)
    assert result.exit_code == 0, result.stderr
    return result


def run_well(*args):
    result = run_warned(*args)
    assert not result.stderr
    return result.stdout


def told(*args):
    """Return what a command line prints with --json."""
    return json.loads(run_well(*args, "--json"))


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def check_refusal(folder, line, expected):
    """Check that a command line is refused in one line, and leaves nothing behind."""
    before = contents(folder)
    result = run(*line.split(" "))
    assert result.exit_code == 2, result.stderr
    assert result.stderr.startswith("defrag: error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    assert re.search(expected, result.stderr), result.stderr
    assert not result.stdout
    assert contents(folder) == before
