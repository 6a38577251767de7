"""Training with a scratch folder: the same bytes, after interruptions too, and what it says."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from defrag import _native, _scratch, load
from defrag.cli import _run
from defrag.cli._run import bytes_of
from defrag.io import read_texts, write_xmc
from defrag.text import _texts
from tests.cli.test_train import FLAGS  # a tree that trains in no time
from tests.data import make_data
from tests.helpers.cli_running import check_refusal, run, run_well
from tests.text.data import make_texts

MEMORY = "--memory", "1G"
# Several levels and subtrees.
TREE = "--max-leaf-size", "2", "--arity", "2", "--root-arity", "3"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_scratch, "ROWS_AT_A_TIME", 300)
    monkeypatch.setattr(_texts, "ROWS_AT_A_TIME", 300)
    real = _native.FileStorage  # all buffers of kernels lie in files
    monkeypatch.setattr(_native, "FileStorage", lambda folder, *_: real(folder, 1, 0))
    monkeypatch.setattr(_scratch, "_WATCH_SECONDS", 0.001)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    texts, labels = make_texts(n_texts=1300)
    rows = [{"text": f"{text} é{n % 40}", "labels": own}
            for n, (text, own) in enumerate(zip(texts, labels, strict=True))]  # fmt: skip
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "docs.jsonl").write_text(lines)
    with gzip.open(tmp_path / "docs.jsonl.gz", "wt") as file:
        file.write(lines)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(data, *flags):
    run_well("train", data, "a.model", *flags)
    run_well("train", data, "b.model", *MEMORY, *flags)
    assert Path("b.model").read_bytes() == Path("a.model").read_bytes()
    assert not Path("b.model.scratch").exists()


@pytest.mark.parametrize(
    "flags",
    [(), (*TREE, "--n-trees", "2"), ("--preset", "best"), ("--characters", "4", "--n-jobs", "2"),
     (*TREE, "--no-hard-negatives"), (*TREE, "--class-weight", "balanced"),
     ("--classifier", "dismec", "--answers", "none"),
     ("--agglomerate", "x"), ("--classifier", "fastxml", "--validation", "docs.jsonl")],
)  # fmt: skip
def test_models_have_the_bytes_of_a_training_in_memory(flags):
    train("docs.jsonl", *flags)


def test_trial_is_part_of_it(monkeypatch):
    monkeypatch.setattr("defrag.text._trial.LEAST_TEXTS", 100)
    train("docs.jsonl.gz")


def test_large_corpora_are_kept_without_being_asked(monkeypatch):
    said = []
    monkeypatch.setattr(_run, "print_message", said.append)
    run_well("train", "docs.jsonl", "a.model")
    assert not said
    monkeypatch.setattr(_run, "_LARGE_CORPUS", 4 * Path("docs.jsonl.gz").stat().st_size)
    run_well("train", "docs.jsonl.gz", "b.model")
    assert said == ["many texts: kept in b.model.scratch until the end (--memory)"]
    assert Path("b.model").read_bytes() == Path("a.model").read_bytes()
    assert not Path("b.model.scratch").exists()


def test_memory_that_cannot_be_kept_is_refused_and_more_of_it_continues(folder, monkeypatch):
    run_well("train", "docs.jsonl", "a.model")
    with monkeypatch.context() as patch:
        patch.setattr(_scratch, "resident_bytes", lambda: (1 << 31, 1 << 31))
        expected = "1,024 MB are too little: 2,048 MB were needed that no file can hold; with more"
        result = run("train", "docs.jsonl", "b.model", *MEMORY)
        assert result.exit_code == 1
        assert expected in result.stderr
    assert (folder / "b.model.scratch").exists()
    run_well("train", "docs.jsonl", "b.model", "--memory", "3G")
    assert (folder / "b.model").read_bytes() == (folder / "a.model").read_bytes()


LIMIT = 340 << 20
WORDS = [f"{'bcdfghjklm'[i % 10]}{'aeiou'[i % 5]}{i:x}" for i in range(40_000)]


@pytest.fixture
def memory_group():
    """Make a group of processes that may have LIMIT bytes, files that they use included."""
    top = Path("/sys/fs/cgroup/memory")
    name, limit = "memory.limit_in_bytes", top / "memory.limit_in_bytes"
    group = top / f"defrag-{os.getpid()}"
    if not limit.exists() or not os.access(top, os.W_OK):
        pytest.skip("no group of processes can be made here (cgroup v1 and root)")
    group.mkdir()
    (group / name).write_text(str(LIMIT))
    yield group
    group.rmdir()


@pytest.mark.slow
def test_bound_is_kept_in_a_group_where_a_training_in_memory_dies(tmp_path, memory_group):
    draw = np.random.default_rng(0)
    with (tmp_path / "docs.jsonl").open("w") as file:
        for n in range(200_000):
            own = (n % 3000 * 7 + draw.integers(12, size=6)) % len(WORDS)
            others = (len(WORDS) * draw.random(14) ** 3).astype(int)
            text = " ".join(WORDS[i] for i in (*own, *others))
            file.write(json.dumps({"text": text, "labels": [f"l{n % 3000}"]}) + "\n")

    def train_in(group, model, *flags):
        def join():
            (group / "cgroup.procs").write_text(str(os.getpid()))

        command = [sys.executable, "-m", "defrag", "train", "docs.jsonl", model, "--answers",
                   "none", "--n-jobs", "1", *flags]  # fmt: skip
        enter = None if group is None else join
        return subprocess.run(command, cwd=tmp_path, preexec_fn=enter, check=False).returncode

    assert train_in(None, "a.model") == 0
    assert train_in(memory_group, "b.model") == -signal.SIGKILL
    assert train_in(memory_group, "b.model", "--memory", f"{LIMIT >> 20}M") == 0
    assert (tmp_path / "b.model").read_bytes() == (tmp_path / "a.model").read_bytes()


def test_pages_are_given_back_while_kernels_use_them(monkeypatch):
    monkeypatch.setattr(_scratch, "_FULL", 0.0)
    train("docs.jsonl")


def interrupted(n, how):
    """Train until the n-th record is written, then stop; return whether there was one."""
    real, count = _scratch._replace, 0

    def replace(path, text):
        nonlocal count
        count += 1
        if count == n:
            how()
        real(path, text)

    child = os.fork()
    if not child:
        _scratch._replace = replace
        threads = str(1 + n % 3)  # the next call may have others
        flags = (*MEMORY, *TREE, "--n-jobs", threads)
        os._exit(run("train", "docs.jsonl", "b.model", *flags).exit_code)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) != 0


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_the_same_command_continues(folder, signal_number):
    run_well("train", "docs.jsonl", "a.model", *TREE)
    rounds = 0
    # What was written after the last record is not part of it.
    while interrupted((2, 4, 6)[rounds % 3], lambda: os.kill(os.getpid(), signal_number)):
        for path in (folder / "b.model.scratch").glob("*.values"):
            with path.open("ab") as file:
                file.write(b"\x7f" * 5)
        rounds += 1
        assert rounds < 100
    assert rounds > 5
    assert (folder / "b.model").read_bytes() == (folder / "a.model").read_bytes()
    assert not (folder / "b.model.scratch").exists()


def test_another_command_starts_over_and_nothing_foreign_is_deleted(folder):
    assert interrupted(8, lambda: os.kill(os.getpid(), signal.SIGKILL))
    run_well("train", "docs.jsonl", "a.model", "--seed", "3")
    run_well("train", "docs.jsonl", "b.model", *MEMORY, "--seed", "3")
    assert (folder / "b.model").read_bytes() == (folder / "a.model").read_bytes()
    with _scratch.Scratch(folder / "used", {}):
        line = "train docs.jsonl c.model --scratch used"
        check_refusal(folder, line, "^defrag: error: used: another training uses it")
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("x")
    line = "train docs.jsonl c.model --scratch mine"
    check_refusal(folder, line, "^defrag: error: mine: is not empty, and no scratch folder")


def test_errors_of_the_data_leave_no_folder(folder):
    (folder / "bad.jsonl").write_text('{"text": "a", "labels": ["b"]}\n{"text": 3}\n')
    check_refusal(folder, "train bad.jsonl c.model --memory 1G", "bad.jsonl:2: 'text' must be")
    (folder / "some.jsonl").write_text('{"text": "a", "labels": ["b"]}\n{"text": "c"}\n')
    check_refusal(folder, "train some.jsonl c.model --memory 1G", "a text without labels")


def test_log_has_stages_memory_and_a_record(folder):
    run_well("train", "docs.jsonl", "b.model", *MEMORY, "--log-json", "log.jsonl")
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert {"begin", "end", "record"} <= {line["event"] for line in lines}
    assert all(line["memory"] > 1e6 and line["cpu_seconds"] > 0 for line in lines)
    ended = {line["stage"] for line in lines if line["event"] == "end"}
    assert {"texts", "features", "rows", "division", "units", "answers"} <= ended
    record = lines[-1]
    assert (record["event"], record["points"], record["labels"]) == ("record", 1300, 4)
    assert record["stages"]["rows"]["times"] == 1
    assert bytes_of("1.5G") == 3 << 29


def test_files_of_a_pattern_are_one_corpus(folder):
    lines = (folder / "docs.jsonl").read_text().splitlines(keepends=True)
    (folder / "docs-1.jsonl").write_text("".join(lines[:500]))
    with gzip.open(folder / "docs-2.jsonl.gz", "wt") as file:
        file.write("".join(lines[500:]))
    assert read_texts("docs-*.jsonl*", form="jsonl") == read_texts("docs.jsonl")
    run_well("train", "docs.jsonl", "a.model")
    run_well("train", "docs-*.jsonl*", "b.model", "--from", "jsonl", *MEMORY)
    assert (folder / "b.model").read_bytes() == (folder / "a.model").read_bytes()
    (folder / "docs-2.jsonl.gz").write_bytes(b"{")
    check_refusal(folder, "train docs-*.jsonl* c.model --from jsonl", "docs-2.jsonl.gz:1: invalid")
    check_refusal(folder, "train none-*.jsonl c.model", "none-\\*.jsonl: no file matches")


@pytest.mark.parametrize("flags", [(), ("--parquet",)])
def test_predictions_in_parts_continue(folder, flags, monkeypatch):
    monkeypatch.setattr("defrag.prediction._TEXTS_PER_BLOCK", 500)
    run_well("train", "docs.jsonl", "a.model")
    line = "predict", "a.model", "docs.jsonl", "--output", "parts/", *flags
    run_well(*line)
    parts = sorted((folder / "parts").glob("part-*"))
    before = [part.read_bytes() for part in parts]
    parts[1].unlink()
    (folder / "parts" / parts[2].name).write_bytes(b"kept")
    run_well(*line)
    assert [part.read_bytes() for part in parts] == [*before[:2], b"kept"]
    if flags:
        pyarrow = pytest.importorskip("pyarrow.parquet")
        parts[2].write_bytes(before[2])
        found = pyarrow.read_table(folder / "parts").to_pydict()
        names, _ = load("a.model").predict_topk(read_texts("docs.jsonl").texts)
        assert found["row"] == list(range(1300))
        assert found["labels"] == [[name for name in row if name] for row in names.tolist()]
    else:
        run_well("predict", "a.model", "docs.jsonl", "--output", "all.txt")
        assert b"".join(before) == (folder / "all.txt").read_bytes()
    check_refusal(folder, " ".join(line) + " --top-k 2", "has parts of another prediction")


def test_matrices_have_a_log_too():
    X, Y = make_data()
    write_xmc("train.txt", X, Y)
    run_well("train", "train.txt", "m.model", *FLAGS, "--log-json", "log.jsonl")
    lines = Path("log.jsonl").read_text().splitlines()
    stages = [json.loads(line).get("stage") for line in lines]
    assert "training tree 2 of 2" in stages


def test_kept_arrays_of_any_shape_come_back(tmp_path):
    given = {"none": np.zeros((0, 3)), "one": np.array(7.5), "two": np.ones((4, 2), np.int16)}
    coding = _scratch.Coding(lambda value: value, lambda arrays: arrays)
    for _ in range(2):
        with _scratch.Scratch(tmp_path / "s", {}):
            found = _scratch.kept("x", lambda: given, coding)
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
