"""Every allocation of every native kernel fails in turn: a MemoryError, and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from inspect import isclass
from pathlib import Path

import pytest

from defrag import _core
from tests.helpers.processes import SANITIZED, run_python

SHIM = Path(__file__).parents[1] / "cpp" / "preload" / "failing_new.cpp"
NO_MEMORY_NEEDED = {"can_run", "count_empty_rows", "inspect_csr", "pack_panels"}


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """Compile what makes allocations fail."""
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None or SANITIZED or sys.platform != "linux":
        pytest.skip("needs Linux, a C++ compiler and an allocator of its own")
    library = tmp_path_factory.mktemp("preload") / "failing_new.so"
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", str(SHIM), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


@pytest.mark.slow
def test_any_failed_allocation_is_a_memory_error(preloaded):
    said = run_python("-m", "tests.helpers.failing_allocations", LD_PRELOAD=str(preloaded))
    counts = json.loads(said)
    kernels = {name for name in dir(_core) if not name.startswith("_")}
    kernels = {name for name in kernels if not isclass(getattr(_core, name))} - NO_MEMORY_NEEDED
    assert kernels <= set(counts), "a kernel is not called by tests.helpers.failing_allocations"
    assert all(counts[name] > 0 for name in kernels), counts
    classes = {"FeatureIndex", "TreeSearch", "TextFeatures", "TextFeatures.count", "TextParser"}
    assert classes <= set(counts)
    assert sum(counts.values()) > 2000, counts
