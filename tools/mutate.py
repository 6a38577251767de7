"""Say which small changes of the code the tests notice: run by hand, before a release.

Examples::

    python tools/mutate.py --jobs 2
    python tools/mutate.py --only kmeans

``tests/mutation/table.toml`` lists the changes, each with the tests that must fail. They are made
in a copy of the repository, one at a time; C++ is compiled again. A change that no test notices is
a gap in the tests, or has no effect: then the table has the reason.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "mutation" / "table.toml"
TIMEOUT_SECONDS = 600
BUILD_SECONDS = 7200  # compilers do not hang, but the machine may be busy
MEMORY_BYTES = 6 << 30
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow")


class Copy:
    """A copy of the repository in which changes are built and tested."""

    def __init__(self, folder: Path, *, native: bool) -> None:
        self.root = folder
        self.objects = folder / "build" / "dev"
        ignored = shutil.ignore_patterns(".git", "build", ".venv*", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
        if native:
            nanobind = subprocess.check_output(
                [sys.executable, "-m", "nanobind", "--cmake_dir"], text=True
            ).strip()
            self._run(
                "cmake", "-S", self.root, "-B", self.objects, "-G", "Ninja", "-DSKBUILD=ON",
                "-DDEFRAG_BUILD_TESTS=ON", "-DDEFRAG_WERROR=ON", f"-Dnanobind_DIR={nanobind}",
                f"-DPython_EXECUTABLE={sys.executable}",
            )  # fmt: skip
            if not self._build("_core"):
                raise SystemExit("the unchanged code does not compile")

    def result_of(self, path: str, old: str, new: str, tests: str) -> str:
        """Return what happens to a change: caught, NOT CAUGHT or "does not compile"."""
        target = self.root / path
        source = target.read_text(encoding="utf-8")
        target.write_text(source.replace(old, new), encoding="utf-8")
        try:
            if target.suffix != ".py" and not self._build("_core"):
                return "does not compile"
            return "NOT CAUGHT" if self.passes(tests.split()) else "caught"
        finally:
            target.write_text(source, encoding="utf-8")

    def passes(self, tests: list[str]) -> bool:
        """Return whether tests pass; "cpp" stands for all C++ tests."""
        chosen = [test for test in tests if test != "cpp"]
        if "cpp" in tests and not (
            self._build("defrag_tests") and self._run(self.objects / "defrag_tests")
        ):
            return False
        return not chosen or self._run(sys.executable, *PYTEST, *chosen)

    def _build(self, goal: str) -> bool:
        command = ("cmake", "--build", self.objects, "--parallel", "1", "--target", goal)
        if not self._run(*command, seconds=BUILD_SECONDS):
            return False
        for library in self.objects.glob("_core*.so"):
            target = self.root / "src" / "defrag" / library.name
            target.unlink(missing_ok=True)
            shutil.copy(library, target)
        return True

    def _run(self, *command: str | Path, seconds: float = TIMEOUT_SECONDS) -> bool:
        """Run a command in the copy; it fails if it takes too long."""
        process = subprocess.Popen(
            command, cwd=self.root, env={**os.environ, "PYTHONPATH": str(self.root / "src")},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def main() -> int:
    """Run the command line; return 1 if a change is not caught."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[""], help="files whose names contain these")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    mutants = [
        (path, old, new, rows["tests"])
        for path, rows in table.items()
        if any(one in path for one in options.only)
        for old, new in rows["mutants"]
    ]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))  # of each command, too
    native = any(not path.endswith(".py") for path, *_ in mutants)
    start, results = time.perf_counter(), []
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copies: Queue[Copy] = Queue()
        for job in range(options.jobs):
            copies.put(Copy(Path(folder) / str(job), native=native))
        every = sorted({test for *_, tests in mutants for test in tests.split()})
        first = copies.get()
        if not first.passes(every):
            raise SystemExit(f"the unchanged code does not pass {' '.join(every)}")
        copies.put(first)

        def one(mutant: tuple[str, str, str, str]) -> str:
            copy = copies.get()
            try:
                return copy.result_of(*mutant)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.jobs) as pool:
            for (path, *sides, _), result in zip(mutants, pool.map(one, mutants), strict=True):
                old, new = (" ".join(side.split()) for side in sides)
                print(f"{result:16} {path}: {old!r} -> {new!r}", flush=True)
                results.append(result)
    seconds = time.perf_counter() - start
    print(f"{results.count('caught')} of {len(results)} mutants caught, {seconds:.0f} s")
    return int(results.count("caught") < len(results))


if __name__ == "__main__":
    sys.exit(main())
