"""Properties of whole processes: equal bits, forks, memory, and forks in place of Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from defrag import LabelTree, load
from tests.contract.subject import answer_bits, small_data
from tests.helpers.isolation import SANITIZED, run_in_child
from tests.helpers.serving import wait_until

DIGEST = """
import hashlib, pathlib, sys, warnings
warnings.simplefilter("ignore")
from tests.contract.subject import file_bytes, subjects
whole = hashlib.sha256()
for subject in subjects():
    whole.update(file_bytes(subject.fitted(), pathlib.Path(sys.argv[1])))
print(whole.hexdigest())
"""


@pytest.mark.slow
def test_models_have_the_same_bits_in_every_process(tmp_path):
    digests = set()
    for hash_seed in ("0", "1", "random"):
        done = subprocess.run(
            [sys.executable, "-c", DIGEST, tmp_path], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed}, cwd=Path(__file__).parents[1],
        )  # fmt: skip
        assert "leak" not in done.stderr  # what nanobind says at the end of a process
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.slow
def test_forked_children_fit_and_predict():
    X, Y = small_data()
    model = LabelTree(2, random_state=0, n_jobs=3).fit(X, Y)
    wanted = answer_bits(model)

    def child(_step):
        assert answer_bits(model) == wanted
        assert answer_bits(LabelTree(2, random_state=0, n_jobs=3).fit(X, Y)) == wanted

    for _ in range(20):
        run_in_child(child, seconds=300)


@pytest.mark.slow
@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps freed memory")
def test_memory_does_not_grow(tmp_path):
    X, Y = small_data()
    path, sizes = tmp_path / "model.safetensors", []
    for _ in range(200):
        LabelTree(random_state=0, n_jobs=2).fit(X, Y).save(path)
        load(path).predict_topk(X)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        sizes.append(pages * os.sysconf("SC_PAGESIZE"))
    assert np.median(sizes[-20:]) - np.median(sizes[20:40]) < 2 << 20


PROGRAMS = {
    "streams": ("-c", "import sys; sys.stderr.write(sys.stdin.read()); print(sys.stdout.encoding)"),
    "arguments": ("-c", "import os, sys; print(sys.argv, os.getcwd(), os.environ['ANSWER'])", "b"),
    "path": ("-c", "import sys; print(sys.path[0], __name__, sys.stdout.line_buffering)"),
    "code": ("-c", "import sys; sys.exit(7)"),
    "message": ("-c", "import sys; sys.exit('no')"),
    "signal": ("-c", "import os; os.kill(os.getpid(), 15)"),
    "killed": ("-c", "import os; os.kill(os.getpid(), 9)"),
    "signals": (
        "-c",
        "import signal\nfor number in (1, 2, 13, 15): print(signal.getsignal(number))",
    ),
    "at the end": ("-c", "import atexit; atexit.register(print, 'end'); print('begin')"),
    "module": ("-m", "json.tool"),
    "no module": ("-m", "defrag", "wrong"),
    "option": ("-S", "-c", "import sys; print(sys.flags.no_site)"),
    "nothing": (),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_forked_python_does_what_a_new_one_does(name, warm_python, tmp_path):
    found = [
        subprocess.run(
            [python, *PROGRAMS[name]], input=b"[1]", capture_output=True, check=False, timeout=60,
            cwd=tmp_path, env={**os.environ, "ANSWER": "caf\udce9"},
        )
        for python in (sys.executable, warm_python)
    ]  # fmt: skip
    results = [(done.returncode, done.stdout, done.stderr) for done in found]
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_forked_python_raises_as_a_new_one_does(warm_python):
    for error, code in (("KeyboardInterrupt", -signal.SIGINT), ("ValueError('no')", 1)):
        for python in (sys.executable, warm_python):
            done = subprocess.run(
                [python, "-c", f"raise {error}"], capture_output=True, check=False, timeout=60
            )
            assert done.returncode == code
            assert done.stderr.startswith(b"Traceback")
            assert done.stderr.splitlines()[-1] in {b"KeyboardInterrupt", b"ValueError: no"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_reaches_a_forked_python(number, warm_python):
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen(
        [warm_python, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        child = int(process.stdout.readline())
        process.send_signal(number)
        assert process.wait(30) == -number
        assert process.stdout.read() == b""  # which ends when all who might write have ended
    wait_until(lambda: not Path(f"/proc/{child}").exists())
