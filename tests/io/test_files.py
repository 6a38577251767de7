"""Opening and writing files: whole or not at all."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from defrag.io import read_xmc, write_xmc
from defrag.io.files import atomic_writer

X = [[0.0, 0.1], [2.0, 0.0]]
Y = [[0, 2], []]


def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def write_half():
        with atomic_writer(path) as file:
            file.write(b"new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_half()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_the_same_data_give_the_same_bytes(tmp_path, suffix):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_xmc(first, X, Y)
    write_xmc(second, X, Y)
    assert first.read_bytes() == second.read_bytes()
    np.testing.assert_array_equal(read_xmc(first)[0].toarray(), np.float32(X))


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    path = tmp_path / "a.txt"
    script = (
        "import os, sys; from defrag.io.files import atomic_writer\n"
        "with atomic_writer(sys.argv[1]) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script, path], check=False, capture_output=True)
    assert done.returncode == -9
    assert not path.exists()
    assert len(list(tmp_path.iterdir())) == 1
    write_xmc(path, X, Y)
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_names_the_target(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*a\.txt'"):
            write_xmc(path, np.ones((100, 100)), [[0]] * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_targets_that_are_no_files(tmp_path):
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_xmc(tmp_path, X, Y)
    with pytest.raises(FileNotFoundError, match="missing/a"):
        write_xmc(tmp_path / "missing" / "a", X, Y)
    write_xmc("/dev/null", X, Y)
    assert os.path.exists("/dev/null")  # noqa: PTH110 - not replaced by a file


def test_a_link_keeps_pointing_and_the_mode_follows_the_umask(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    write_xmc(link, X, Y)
    assert link.is_symlink()
    mask = os.umask(0o022)
    os.umask(mask)
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o666 & ~mask


def test_names_of_any_kind(tmp_path):
    for name in ("with space", "käse", "new\nline", "x" * 255):
        write_xmc(tmp_path / name, X, Y)
        assert read_xmc(tmp_path / name)[0].nnz == 2


def test_standard_input_and_output(tmp_path):
    script = "from defrag.io import *; write_xmc('-', *read_data('-', strict=True))"
    write_xmc(tmp_path / "a.xz", X, Y)
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=(tmp_path / "a.xz").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"2 2 3\n0,2 1:0.1\n 0:2\n"


def test_no_descriptor_stays_open(tmp_path):
    path = tmp_path / "a.gz"
    write_xmc(path, X, Y)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts, does not walk
    for _ in range(5):
        read_xmc(path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same
