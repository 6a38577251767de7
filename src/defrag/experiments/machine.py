"""Facts about this machine and this process, for records."""

from __future__ import annotations

import os
import platform
import resource
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["machine", "peak_memory", "versions"]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    packages = {name: version(name) for name in ("defrag", "numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), **packages}


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
