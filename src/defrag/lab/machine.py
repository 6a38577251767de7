"""Facts about this machine and this process, for records."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import defrag

__all__ = ["code", "machine", "peak_memory", "versions"]

# Results do not depend on these rooms, nor on most of this one.
_NOT_CODE = frozenset({"annif", "cli", "serving"})
_MEASURING = frozenset({"measures.py", "peer_program.py", "peers.py"})


@cache
def code() -> str:
    """Return a fingerprint of the installed package, as far as results depend on it.

    The sources that train, predict and measure, and the compiled module: two states of the code
    have different fingerprints although they may have the same version. Studies and reports are
    not part of it, so that a method can be added to a study without running the others again.
    """
    root = Path(defrag.__file__).parent
    found = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.glob("_core*.so"), *root.glob("_core*.pyd")]):
        room, *_ = path.relative_to(root).parts
        if room in _NOT_CODE or (room == "lab" and path.name not in _MEASURING):
            continue
        found.update(f"{path.relative_to(root).as_posix()}\n".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    packages = {name: version(name) for name in ("defrag", "numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), "code": code(), **packages}


def machine() -> dict[str, Any]:
    """Return processor, number of cores, bytes of memory and system."""
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def peak_memory() -> int:
    """Return the largest number of bytes that this process has had in memory so far.

    On Linux the figure of the process itself: that of ``getrusage`` begins with the memory of
    the process that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
