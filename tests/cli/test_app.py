"""The command line as a whole: what it refuses (refusals.txt), what it says, how it leaves."""

import functools
import os
from pathlib import Path

import pytest

import defrag
from defrag.cli.app import VERBS
from tests.data import read_npz
from tests.helpers import cli_data, cli_model_data, cli_text_data
from tests.helpers.cli_data import fill_folder, points, same
from tests.helpers.cli_running import check_refusal, files, run, run_warned, run_well, told

folder = pytest.fixture(fill_folder)


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples(verb):
    said = run_well(verb, "--help")
    assert said == run_well(verb, "-h")
    assert "Examples:" in said
    assert f"defrag {verb}" in said.partition("Examples:")[2]


def test_version_is_printed_and_missing_command_prints_help():
    assert run_well("--version") == f"defrag {defrag.__version__}\n"
    result = run()
    assert result.exit_code == 2
    assert "Usage: defrag" in result.stdout


def test_warning_is_one_line_on_stderr(folder):
    result = run_warned("convert", "short.txt", "out", "--allow-truncated")
    assert result.stderr == ("warning: short.txt: the header declares 3 points, the file has 1\n")
    assert not result.stdout
    assert files(folder).count("out") == 1


def test_warnings_precede_error_and_repeat(folder):
    (folder / "twice.txt").write_text("2 3 4\n0,0 1:1 1:1\n1,1 2:1 2:1\n")
    result = run("convert", "twice.txt", "nowhere/out")
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["warning", "warning", "defrag"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("how", ["flag", "variable"])
def test_debug_prints_traceback(how, monkeypatch):
    args = ["info", "nothing.txt"]
    if how == "variable":
        monkeypatch.setenv("DEFRAG_DEBUG", "1")
    result = run(*(["--debug"] if how == "flag" else []), *args)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert result.stderr.splitlines()[-1] == "defrag: error: nothing.txt: No such file or directory"


UNEXPECTED = {
    "a bug": (KeyError("missing"), 1, "unexpected KeyError: 'missing' (--debug shows where)"),
    "no memory": (MemoryError(), 1, "not enough memory"),
    "full disk": (OSError(28, "No space left on device", "out"), 1, "out: No space left on device"),
    "two lines": (ValueError("one\ntwo"), 2, "one\\ntwo"),
    "Ctrl-C": (KeyboardInterrupt(), 130, "interrupted"),
}


@pytest.mark.parametrize("name", UNEXPECTED)
def test_unexpected_errors_are_one_line_and_leave_no_file(folder, name, monkeypatch):
    error, code, message = UNEXPECTED[name]

    def fail(*_args, **_options):
        yield b"half a file"
        raise error

    before = files(folder)
    monkeypatch.setattr("defrag._native.format_rows", fail)
    result = run("convert", "train.txt", "out")
    assert result.exit_code == code
    assert result.stderr == f"defrag: error: {message}\n"
    assert files(folder) == before


NAMES = ["with space.txt", "Wörter-単語.txt", "line\nfeed.txt", "quote'\".txt", "[bold]x[red].txt",
         os.fsdecode(b"not-utf8-\xff.txt")]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_file_names_may_have_any_character(folder, name):
    (folder / "train.txt").rename(folder / name)
    run_well("convert", name, name + ".npz")
    assert same(read_npz(folder / (name + ".npz"))[0], points()[0])
    assert run_well("info", name).count("\n") == 17
    assert told("info", name)["file"] == name
    result = run("info", name + name)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_name_may_begin_with_dash(folder):
    (folder / "train.txt").rename(folder / "-x.txt")
    assert "points" in run_well("info", "--", "-x.txt")


def test_old_output_is_replaced(folder):
    (folder / "out").write_text("old")
    run_well("convert", "train.txt", "out")
    assert (folder / "out").read_bytes() == (folder / "train.txt").read_bytes()


FOLDERS = {
    "points": cli_data.fill_folder,
    "models": cli_model_data.fill_folder,
    "texts": functools.partial(cli_text_data.fill_folder, refused=True),
}


def cases():
    """Yield a folder, a command line and what is said of it."""
    place = None
    for line in Path(__file__).with_name("refusals.txt").read_text().splitlines():
        if line.startswith("["):
            place = line.strip("[]")
        elif line and not line.startswith("#"):
            command, _, said = line.partition(" -> ")
            yield place, command, said


@pytest.mark.parametrize(("place", "command", "said"), cases())
def test_refusal_is_one_line_and_changes_no_file(place, command, said, tmp_path, monkeypatch):
    check_refusal(FOLDERS[place](tmp_path, monkeypatch), command, said)
