"""The command as a process of its own: signals, pipes, terminals, standard streams."""

import os
import pty
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree
from defrag.io import write_groups, write_xmc
from tests.data import read_data
from tests.helpers.processes import run_python

pytestmark = pytest.mark.slow  # every process imports all there is

COMMAND = (sys.executable, "-c", "from defrag.cli import main; main()")
SECONDS = 300
TEXT = b"2 3 2\n0 0:1 1:2\n1 2:3\n"
GROUPS = b"2\n2 0 1 \n1 2 \n"
POOLED = b"2 2 2\n0 0:3\n1 1:3\n"


def run(*args, given=b"", command=COMMAND, env=None):
    words = [*command, *args]
    return subprocess.run(
        words, input=given, env=env, capture_output=True, timeout=SECONDS, check=False
    )


def start(*args, command=COMMAND, **streams):
    """Start a command; the streams are pipes unless said."""
    return subprocess.Popen([*command, *args], **{"stdout": PIPE, "stderr": PIPE, **streams})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "train.txt").write_bytes(TEXT)
    (tmp_path / "groups.txt").write_bytes(GROUPS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def big(folder):
    """Data whose text is longer than the buffer of a pipe."""
    X = sparse.csr_array(np.ones((5000, 20), dtype=np.float32))
    write_xmc(folder / "big.txt", X, [[0]] * 5000)
    write_groups(folder / "each.txt", np.arange(20))
    return folder / "big.txt"


STREAMS = {
    "data from stdin": ("agglomerate - groups.txt -", TEXT, POOLED),
    "groups from stdin": ("agglomerate train.txt - -", GROUPS, POOLED),
    "convert": ("convert - -", TEXT, TEXT),
    "convert form": ("convert - - --to svmlight --one-based", TEXT, b"0 1:1 2:2\n1 3:3\n"),
    "groups to stdout": ("cluster - - --n-clusters 1 --sample-points 1", TEXT, b"1\n3 0 1 2 \n"),
    "agglomerated to stdout": (
        "cluster - g --n-clusters 1 --agglomerated -", TEXT, b"2 1 2\n0 0:3\n1 0:3\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_dash_is_standard_stream(folder, name):
    line, given, expected = STREAMS[name]
    result = run(*line.split(), given=given)
    assert result.stderr == b""
    assert result.returncode == 0
    assert result.stdout == expected
    assert not list(folder.glob(".*"))


CODES = {
    "success": ("--version", b"", b""),
    "data on stdin": ("info -", TEXT, b""),
    "groups on stdin": ("info -", GROUPS, b""),
    "bad data on stdin": ("info -", b"1 2 1\n0 5:1\n", b"<stdin>:2: feature index 5"),
    "no file": ("info x", b"", b"x: No such file or directory\n"),
    "bad usage": ("wrong", b"", b"No such command 'wrong'"),
}


@pytest.mark.parametrize("name", CODES)
def test_exit_codes_of_errors(name):
    line, given, said = CODES[name]
    result = run(*line.split(), given=given)
    assert result.returncode == (2 if said else 0)
    assert result.stderr.startswith(b"defrag: error: " + said if said else b"")
    assert result.stderr.count(b"\n") == bool(said)
    assert bool(result.stdout) == (not said)


def test_script_runs_command():
    script = Path(sys.executable).parent / "defrag"
    if not script.exists():
        pytest.skip("the command is not installed beside this Python")
    result = run("info", "train.txt", command=[script])
    assert result.returncode == 0
    assert b"points" in result.stdout


@pytest.mark.usefixtures("big", "model")
@pytest.mark.parametrize(
    ("line", "n_read"),
    [
        ("agglomerate big.txt each.txt -", 0),
        ("agglomerate big.txt each.txt -", 10),
        ("info train.txt", 0),
        ("predict model many.txt", 4),
        ("predict model many.txt --json", 4),
    ],
)
def test_closed_pipe_is_silent(folder, line, n_read):
    (folder / "many.txt").write_bytes(b"100000 3\n" + b"0:1 2:1\n" * 100000)
    with start(*line.split()) as process:
        assert len(process.stdout.read(n_read)) == n_read
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(SECONDS) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_fatal_signal_leaves_no_file(folder, model, number):
    with start("predict", str(model), "-", "--output", "out", stdin=PIPE) as process:
        process.stdin.write(b"2 3\n0:1\n")
        process.stdin.flush()
        before = time.monotonic()
        while not list(folder.glob(".*.tmp")):
            assert time.monotonic() - before < SECONDS
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(SECONDS) == -number
        assert process.stderr.read() == b""
    assert not list(folder.glob(".*"))
    assert not (folder / "out").exists()


def test_ignored_signal_stays_ignored(folder):
    """As under nohup, the command continues when its terminal closes."""
    os.mkfifo(folder / "pipe")
    with (
        start("convert", "pipe", "out", command=("nohup", *COMMAND)) as process,
        (folder / "pipe").open("wb") as pipe,
    ):
        process.send_signal(signal.SIGHUP)
        pipe.write(TEXT)
        pipe.close()
        assert process.wait(SECONDS) == 0
    assert (folder / "out").read_bytes() == TEXT


def test_interrupt_exits_at_any_instant(tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    found = run_python("-m", "tests.helpers.interrupt_readers", empty, timeout=SECONDS)
    n_interrupts, _, noun = found.partition(" ")
    assert noun == "interrupts"
    assert int(n_interrupts) > 100


def read_terminal(descriptor):
    """Read until the terminal's other end is closed."""
    seen = b""
    try:
        while block := os.read(descriptor, 4096):
            seen += block
    except OSError:
        return seen
    return seen


def run_in_terminal(*args):
    """Run a command whose stderr is a terminal; give the result and what was seen there."""
    main, second = pty.openpty()
    seen = []
    watcher = threading.Thread(target=lambda: seen.append(read_terminal(main)))
    watcher.start()
    result = subprocess.run(
        [*COMMAND, *args],
        stdout=subprocess.PIPE,
        stderr=second,
        env={**os.environ, "TERM": "xterm"},
        timeout=SECONDS,
        check=False,
    )
    os.close(second)
    watcher.join(SECONDS)
    os.close(main)
    return result, seen[0]


def test_progress_is_shown_on_terminals_only(big):
    result, seen = run_in_terminal("agglomerate", str(big), "each.txt", "-")
    assert result.returncode == 0
    assert b"reading" in seen
    assert result.stdout == big.read_bytes()


def test_terminal_shows_estimated_cost():
    result, seen = run_in_terminal("train", "train.txt", "model")
    assert result.returncode == 0
    assert b"training takes about 1 s, " in seen
    assert seen.count(b"training ") >= 2  # the estimate, and the bar
    assert result.stdout.startswith(b"2 points, 3 features, 2 labels: ")


@pytest.fixture
def model(folder):
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    LabelTree(random_state=0).fit(X, [[0], [0], [1]]).save(folder / "model")
    return folder / "model"


@pytest.mark.usefixtures("model")
def test_predict_reads_and_writes_streams():
    ranked = run("predict", "model", "-", "--top-k", "1", given=TEXT)
    assert (ranked.returncode, ranked.stderr) == (0, b"")
    assert [line.partition(b":")[0] for line in ranked.stdout.split(b"\n")] == [
        b"2 2", b"0", b"1", b"",
    ]  # fmt: skip
    judged = run("evaluate", "train.txt", "-", "--top-k", "1", "--json", given=ranked.stdout)
    assert b'"P@1": 100.0' in judged.stdout
    assert judged.returncode == 0


@pytest.mark.usefixtures("model")
def test_predict_writes_before_input_ends():
    with start("predict", "model", "-", "--json", stdin=PIPE) as process:
        for line in (b"3 3\n0:1\n", b"1:1\n", b"2:1\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().startswith(b'{"labels": [')
        process.stdin.close()
        assert process.wait(SECONDS) == 0


def test_model_can_be_written_to_stdout(folder):
    result = run("train", "-", "-", given=TEXT)
    assert (result.returncode, result.stderr) == (0, b"")
    assert run("train", "train.txt", "model").returncode == 0
    assert result.stdout == (folder / "model").read_bytes()


def write_hard_data(path):
    """Write data that take a minute to train on."""
    random = np.random.default_rng(0)
    shape, per_point = (20_000, 5_000), 60
    indices = np.sort(random.integers(0, shape[1], (shape[0], per_point)), axis=1).ravel()
    indptr = np.arange(0, len(indices) + 1, per_point)
    values = random.random(len(indices), dtype=np.float32) + 1
    X = sparse.csr_array((values, indices, indptr), shape=shape)
    write_xmc(path, X, random.integers(0, 4_000, (shape[0], 6)).tolist())


def processor_seconds(process):
    """Return what a running process has used of the processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("groups", ["none", "hybrid", "xy"])
def test_interrupt_during_training_exits_130(folder, groups):
    write_hard_data(folder / "hard.txt")
    before = sorted(folder.iterdir())
    main, second = pty.openpty()
    line = f"train hard.txt out --n-trees 9 --preset exact --agglomerate {groups}".split()
    with start(*line, stderr=second, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(second)
        seen = b""
        while b"training tree" not in seen and b": training" not in seen:
            seen += os.read(main, 4096)
        begin = processor_seconds(process.pid)
        before_wait = resource.getrusage(resource.RUSAGE_CHILDREN)
        process.send_signal(signal.SIGINT)
        seen += read_terminal(main)
        assert process.wait(SECONDS) == 130
        after_wait = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert process.stdout.read() == b""
    os.close(main)
    assert seen.endswith(b"defrag: error: interrupted\r\n")
    assert sorted(folder.iterdir()) == before
    # Half a second is the promise. In seconds of the processor, of which there are two or more
    # at a time, and which other programs on the machine cannot stretch.
    total = sum(after_wait[:2]) - sum(before_wait[:2])
    assert total - begin < 0.5 * (os.cpu_count() or 1) + 0.2


def test_fifo_is_read_as_file(folder):
    os.mkfifo(folder / "pipe")
    with start("agglomerate", "pipe", "groups.txt", "out") as process:
        with (folder / "pipe").open("wb") as pipe:
            pipe.write(TEXT)
        assert process.wait(SECONDS) == 0
    assert (folder / "out").read_bytes() == POOLED
    assert read_data(folder / "out")[0].shape == (2, 2)


def test_completion_script_is_offered():
    asked = {"COMP_WORDS": "defrag agg", "COMP_CWORD": "1", "_DEFRAG_COMPLETE": "complete_bash"}
    assert b"agglomerate" in run(env={**os.environ, **asked}).stdout
