"""The command line as a whole: what it refuses, what it says, how it leaves."""

import json
import os

import pytest

import defrag
from defrag.io import read_npz
from tests.helpers.cli_data import fill_folder, points, same
from tests.helpers.cli_running import check_refusal, files, refusals, run, run_well


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return fill_folder(tmp_path, monkeypatch)


# What is refused: the command line, and what the one line on stderr must say.
REFUSED = {
    "cluster train.txt out": [
        ("--wrong 1", "No such option: --wrong"),
        ("--tol", "requires an argument"),
        ("--max-iter ten", "'--max-iter'.*integer"),
        ("--split x", "'--split'.*'kmeans', 'ndcg'"),
        ("--preset y", "'--preset'"),
        ("--max-cluster-size 0", "max_cluster_size of Defrag must be an int >= 1, got 0"),
        ("--sample-points 1.5", "sample_points of Defrag"),
        ("--singletons nan", "singletons.*got nan"),
        ("--seed=-1", r"random_state must be in \[0, 2\*\*63\)"),
        ("--n-clusters 99", "at most the number of features"),
        ("--preset hybrid --split ndcg", "--split cannot be combined with --preset hybrid"),
        ("--method itdc --preset xy", "--preset cannot be combined with --method itdc"),
        (
            "--method top-features --balance 0.5",
            "--balance cannot be combined with --method top-features",
        ),
        (
            "--method hash-groups --vocabulary words.txt",
            "--vocabulary requires a --representation of word vectors",
        ),
        ("--method kmeans", "'--method'.*'itdc'"),
        (
            "--method lsc --max-memory-gb 0.0000001",
            "LSC needs about .* GB for .* more than max_memory_gb",
        ),
        ("--preset xy --representation x", "--representation cannot be combined with --preset xy"),
        ("--pooling mean", "--pooling changes nothing without --agglomerated"),
        ("--labels Y.txt", "train.txt: has labels already"),
        ("--representation vectors.txt", "word vectors require --vocabulary"),
        ("--vocabulary words.txt", "--vocabulary requires"),
        (
            "--representation vectors.txt --vocabulary few.txt",
            "few.txt: 2 words, but the data have 24 features",
        ),
        ("--representation words.txt --vocabulary words.txt", "words.txt:1: expected a word"),
        ("--agglomerated ./out", "--agglomerated is the same file as GROUPS"),
    ],
    "cluster train.txt": [
        (".", "Is a directory"),
        ("none/out", "none/out: No such file"),
        ("- --json", "--json and an output of -"),
        ("- --agglomerated -", "would share standard output"),
        ("train.txt", "GROUPS is the same file as DATA"),
        (
            "words.txt --representation vectors.txt --vocabulary words.txt",
            "GROUPS is the same file as --vocabulary",
        ),
    ],
    "agglomerate train.txt groups.txt": [
        ("out --scale energy", "go together"),
        ("out --train X.txt", "go together"),
        ("out --scale energy --train small.txt", "small.txt: 2 features, but train.txt has 24"),
        ("train.txt", "train.txt: OUT is the same file as DATA"),
        ("groups.txt", "OUT is the same file as GROUPS"),
    ],
    "agglomerate train.txt": [
        ("none.txt out", "none.txt: No such file"),
        ("train.txt out", "train.txt:1: the first line must"),
        ("bad_groups.txt out --allow-missing", "bad_groups.txt:3: feature 1 is in a group already"),
        ("few_groups.txt out", "feature 3 is in no group"),
    ],
    "convert train.txt": [
        ("out.svm", "out.svm: the first feature id of svmlight is"),
        ("out --from npz", "expected npz, found xmc"),
        ("out.npz --labels-out Z.txt", "requires an output in the format"),
        ("out --labels-out Z.npz", "writes text"),
        ("out --labels-out out", "out: --labels-out is the same file as OUT"),
        ("out.parquet", "out.parquet: unknown suffix.*--to"),
        ("out.csv.gz", "suffix '.csv'"),
        ("./train.txt", "OUT is the same file as IN"),
        ("link.txt", "link.txt: OUT is the same file as IN"),
        ("twin.txt", "twin.txt: OUT is the same file"),
        ("out --labels-out train.txt", "--labels-out is the same file as IN"),
        ("out --n-features 3", "train.txt:2: feature index"),
        ("out --n-features=-3", "n_features must be in"),
    ],
    "convert X.txt": [
        ("out --labels-out Z.txt", "the input has no labels"),
        ("Y.txt --labels Y.txt", "OUT is the same file as --labels"),
    ],
    "": [
        ("tarin", "No such command 'tarin'"),
        ("--wrong", "No such option: --wrong"),
        ("cluster train.txt", "Missing argument 'GROUPS'"),
        ("info train.txt groups.txt", "unexpected extra argument"),
        ("cluster X.txt out --preset xy", "requires y to be passed"),
        ("cluster X.txt out --labels broken_Y.txt", "broken_Y.txt: "),
        ("cluster nothing.txt out", "^defrag: error: nothing.txt: No such file"),
        ("cluster . out", r"\.: is a directory, not a file"),
        ("cluster broken.txt out", "^defrag: error: broken.txt:3: feature index 7"),
        ("cluster empty.txt out", "empty.txt"),
        ("cluster short.txt out", "declares 3 points, the file has 1; a truncated"),
        ("train wide.txt out", "wide.txt: 2000000000 labels, but only 1 entries"),
        ("info wide.txt", "wide.txt: 2000000000 labels, but only 1 entries"),
        ("cluster short.txt out --strict", "header declares 3 points, the file has 1"),
        ("cluster train.svm out", "give --zero-based or --one-based"),
        ("agglomerate nothing.txt groups.txt out", "nothing.txt: No such"),
        ("agglomerate small.txt groups.txt out", "feature index"),
        ("agglomerate - - out", "cannot both be standard input"),
        ("convert train.svm out", "train.svm: the first feature id of svmlight is"),
        ("convert zero.svm out --one-based", "zero.svm:1: feature index 0"),
        ("convert damaged.npz out", "damaged.npz: is a damaged archive"),
        ("convert damaged.gz out", "damaged.gz: the compressed data are truncated"),
        ("info nothing.txt", "nothing.txt: No such file"),
        ("info .", "is a directory"),
        ("info words.txt", "words.txt:1: the header must be"),
        ("info bad_groups.txt", "bad_groups.txt:3: feature 1"),
        ("demo --seed x --report none", "--seed"),
    ],
}


@pytest.mark.parametrize(("line", "expected"), refusals(REFUSED))
def test_refusal_is_one_line_and_writes_no_file(folder, line, expected):
    (folder / "broken_Y.txt").write_text("1 2\n0:1\n")
    (folder / "wide.txt").write_text("1 2 2000000000\n0 1:1\n")
    (folder / "small.txt").write_text("1 2 1\n0 1:1\n")
    (folder / "zero.svm").write_text("0 0:1\n")
    (folder / "damaged.npz").write_bytes((folder / "train.npz").read_bytes()[:-40])
    (folder / "damaged.gz").write_bytes((folder / "train.txt.gz").read_bytes()[:-12])
    (folder / "link.txt").symlink_to("train.txt")
    (folder / "twin.txt").hardlink_to("train.txt")
    before = (folder / "train.txt").read_bytes()
    check_refusal(folder, line, expected)
    assert (folder / "train.txt").read_bytes() == before


@pytest.mark.parametrize("verb", ["demo", "cluster", "agglomerate", "convert", "info"])
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
    result = run("convert", "short.txt", "out", "--allow-truncated")
    assert result.exit_code == 0
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
    assert run_well("info", name).count("\n") == 16
    assert json.loads(run_well("info", name, "--json"))["file"] == name
    result = run("info", name + name)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_name_may_begin_with_dash(folder):
    (folder / "train.txt").rename(folder / "-x.txt")
    assert "points" in run_well("info", "--", "-x.txt")


def test_failed_command_keeps_old_output(folder):
    (folder / "out").write_text("old")
    assert run("convert", "broken.txt", "out").exit_code == 2
    assert (folder / "out").read_text() == "old"
    run_well("convert", "train.txt", "out")
    assert (folder / "out").read_bytes() == (folder / "train.txt").read_bytes()
