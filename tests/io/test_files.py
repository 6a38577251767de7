"""Opening and writing files: whole or not at all."""

import errno
import os
import resource
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from defrag.io import files as atomic
from defrag.io import read_xmc, write_xmc
from defrag.io.files import atomic_writer

X = [[0.0, 0.1], [2.0, 0.0]]
Y = [[0, 2], []]
WRITER = """import os, sys; from defrag.io.files import atomic_writer
with atomic_writer(sys.argv[1]) as file: """


def test_failing_writer_keeps_old_file(tmp_path):
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
def test_equal_data_give_equal_bytes(tmp_path, suffix):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_xmc(first, X, Y)
    write_xmc(second, X, Y)
    assert first.read_bytes() == second.read_bytes()
    np.testing.assert_array_equal(read_xmc(first)[0].toarray(), np.float32(X))


@pytest.mark.slow
def test_leftover_of_killed_process_is_removed(tmp_path):
    path = tmp_path / "a.txt"
    script = f"{WRITER}file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", script, path], check=False, capture_output=True)
    assert done.returncode == -9
    assert not path.exists()
    assert len(list(tmp_path.iterdir())) == 1
    write_xmc(path, X, Y)
    assert list(tmp_path.iterdir()) == [path]


def test_full_disk_error_names_target(tmp_path):
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


def test_devices_and_folders_as_targets(tmp_path):
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_xmc(tmp_path, X, Y)
    with pytest.raises(FileNotFoundError, match="missing/a"):
        write_xmc(tmp_path / "missing" / "a", X, Y)
    write_xmc("/dev/null", X, Y)
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_xmc("/dev/full", X, Y)
    assert os.path.exists("/dev/null")  # noqa: PTH110 - not replaced by a file


def test_link_is_kept_and_mode_follows_umask(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    write_xmc(link, X, Y)
    assert link.is_symlink()
    mask = os.umask(0o022)
    os.umask(mask)
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.slow
def test_dash_is_standard_input_and_output(tmp_path):
    script = (
        "from defrag.io import *; one = read_points('-', strict=True); write_xmc('-', one.X, one.Y)"
    )
    write_xmc(tmp_path / "a.xz", X, Y)
    command = [sys.executable, "-c", script]
    given = (tmp_path / "a.xz").read_bytes()
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    assert done.stdout == b"2 2 3\n0,2 1:0.1\n 0:2\n"


def test_no_descriptor_stays_open(tmp_path):
    path = tmp_path / "a.gz"
    write_xmc(path, X, Y)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts, does not walk
    for _ in range(5):
        read_xmc(path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_replaced_file_keeps_mode(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(mode)
    with atomic_writer(path):
        # From the first byte: a private file is never readable for others.
        (temporary,) = [other for other in tmp_path.iterdir() if other != path]
        assert temporary.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b""
    assert path.stat().st_mode & 0o777 == mode


def test_folder_named_like_leftover_is_kept(tmp_path):
    path = tmp_path / "a.txt"
    kept = tmp_path / "kept"
    kept.write_bytes(b"kept")
    name = leftover_of(path)
    name.unlink()
    name.mkdir()
    name.with_name(name.name.replace(name.stem[-16:], "0" * 16)).symlink_to(kept)
    write_xmc(path, X, Y)
    assert read_xmc(path)[0].nnz == 2
    assert name.is_dir()
    assert kept.read_bytes() == b"kept"


@pytest.mark.slow
def test_file_of_living_writer_is_kept(tmp_path):
    """Two containers that share a folder do not see each other's processes."""
    path = tmp_path / "a.txt"
    with atomic_writer(path) as file:
        file.write(b"first")
        (before,) = tmp_path.iterdir()
        subprocess.run([sys.executable, "-c", f"{WRITER}file.write(b'second')", path], check=True)
        assert path.read_bytes() == b"second"
        assert before.exists()
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def leftover_of(path):
    """Make a temporary file as a killed writer of this path leaves it."""
    stem = f".{zlib.crc32(path.name.encode()):08x}-"
    leftover = path.parent / f"{stem}0123456789abcdef.tmp"
    leftover.write_bytes(b"half")
    return leftover


def test_leftovers_of_other_targets_are_kept(tmp_path):
    path = tmp_path / "a.txt"
    own = leftover_of(path)
    others = [leftover_of(tmp_path / "b.txt"), tmp_path / "notes.tmp", tmp_path / f"x{own.name}"]
    for other in others[1:]:
        other.write_bytes(b"kept")
    write_xmc(path, X, Y)
    assert not own.exists()
    assert all(other.exists() for other in others)


def test_files_are_kept_without_locks(tmp_path, monkeypatch):
    def refuse(_descriptor, _operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    path = tmp_path / "a.txt"
    leftover = leftover_of(path)
    monkeypatch.setattr(atomic.fcntl, "flock", refuse)
    write_xmc(path, X, Y)
    assert sorted(tmp_path.iterdir()) == sorted([leftover, path])
    assert read_xmc(path)[0].nnz == 2


def test_file_removed_before_lock_is_made_again(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    lock = atomic._lock
    taken = []

    def lock_late(descriptor, *, wait):
        if not taken:
            (newborn,) = tmp_path.iterdir()
            newborn.unlink()
            taken.append(newborn)
        return lock(descriptor, wait=wait)

    monkeypatch.setattr(atomic, "_lock", lock_late)
    write_xmc(path, X, Y)
    assert len(taken) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_folder_is_synced_after_file(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def note(descriptor):
        synced.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_xmc(tmp_path / "a.txt", X, Y)
    assert synced[0].endswith(".tmp")
    assert synced[1:] == [str(tmp_path)]


@pytest.mark.parametrize(
    ("broken", "is_folder"),
    [
        ("open", lambda path: Path(path).is_dir()),
        ("fsync", lambda descriptor: stat.S_ISDIR(os.fstat(descriptor).st_mode)),
    ],
)
def test_writing_succeeds_where_folder_cannot_be_synced(tmp_path, monkeypatch, broken, is_folder):
    """As in a folder of mode 1733, on CIFS and on some file systems in user space."""
    path = tmp_path / "a.txt"
    works = getattr(os, broken)

    def fail_for_folders(what, *rest):
        if is_folder(what):
            raise OSError(errno.EINVAL, "not for folders")
        return works(what, *rest)

    monkeypatch.setattr(os, broken, fail_for_folders)
    with atomic_writer(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]
