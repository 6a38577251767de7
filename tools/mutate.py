"""Mutation testing: change the code in small ways and count the changes that tests detect.

Examples::

    python tools/mutate.py --table --at-least 90
    python tools/mutate.py --table --only kmeans
    python tools/mutate.py src/defrag/io/files.py --tests tests/io --sample 20
    python tools/mutate.py --core --sample 10

``tests/mutation/table.toml`` has hand-written mutants, each with its tests. All others are derived
from the code: swapped operators, changed numbers and omitted statements.

Works on a copy of the repository. A mutant that does not compile does not count.
``tests/mutation/equivalent.txt`` lists derived mutants that cannot be detected, because they
compute the same result or change only the speed, with the reason; they are skipped.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest

from mutants import ROOT, Mutant, mutants_of, mutants_of_table

TIMEOUT_SECONDS = 600
MEMORY_BYTES = 6 << 30

SERVER = multiprocessing.get_context("forkserver")
"""Context for processes that have already imported the slow modules."""

CORE = {
    "src/defrag/_parameters.py": "tests/test_validation.py",
    "src/defrag/_validation.py": "tests/test_validation.py",
    "src/defrag/agglomeration/_groups.py": "tests/agglomeration",
    "src/defrag/agglomeration/_clustering.py": "tests/agglomeration",
    "src/defrag/agglomeration/certificate.py": "tests/agglomeration/test_certificate.py",
    "src/defrag/classifiers/_base.py": "tests/classifiers tests/contract",
    "src/defrag/imputation.py": "tests/imputation",
    "src/defrag/io/files.py": "tests/io tests/persistence/test_persistence.py",
    "src/defrag/io/npz.py": "tests/io/test_formats.py",
    "src/defrag/metrics/_ranked.py": "tests/metrics",
    "src/defrag/persistence/_checks.py": "tests/persistence",
    "src/defrag/reranking.py": "tests/reranking",
    "src/defrag/trees.py": "tests/trees",
    "cpp/core/agglomeration/agglomeration.cpp": "tests/agglomeration",
    "cpp/core/search/beam_search.cpp": "tests/native/test_beam_search.py tests/classifiers",
    "cpp/core/search/best_first.cpp": "tests/native/test_best_first.py",
    "cpp/core/agglomeration/co_occurrence.cpp": "tests/agglomeration tests/imputation",
    "cpp/core/imputation/companions.cpp": "tests/imputation",
    "cpp/core/search/flat_search.cpp": "tests/native/test_flat_search.py",
    "cpp/core/imputation/impute.cpp": "tests/imputation tests/agglomeration/test_co_occurrence.py",
    "cpp/core/agglomeration/kmeans.cpp": "tests/native/test_kmeans.py tests/classifiers",
    "cpp/core/label_tree/train.cpp": "tests/native/test_label_tree.py",
    "cpp/core/formats/number_text.hpp": "tests/io",
    "cpp/core/one_vs_rest/ppd_sparse.cpp": "tests/native/test_sparse_learners.py",
    "cpp/core/one_vs_rest/proxml.cpp": "tests/native/test_sparse_learners.py",
    "cpp/core/agglomeration/representations.cpp": "tests/trees",
    "cpp/core/search/rerank.cpp": "tests/reranking",
    "cpp/core/solver/solver.cpp": "tests/native/test_solver.py",
    "cpp/core/agglomeration/split.cpp": "tests/trees",
    "cpp/core/agglomeration/tree.cpp": "tests/trees",
    "cpp/core/formats/xmc_parser.cpp": "tests/io tests/fuzz/test_fuzz_parser.py",
}
"""Files of the core, each with its tests."""


def _run_pytest(root: Path, tests: list[str]) -> None:
    """Run tests in this process and exit with their exit code."""
    os.chdir(root)
    sys.path[:0] = [str(root / "src"), str(root)]
    os.environ["PYTHONPATH"] = str(root / "src")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the end
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", "--timeout", "300"]
    os._exit(pytest.main([*options, *tests]) if tests else 0)


class Copy:
    """A copy of the repository in which mutants are built and tested."""

    def __init__(self, folder: Path, *, native: bool) -> None:
        self.root = folder
        self.objects = folder / "build" / "dev"
        ignored = shutil.ignore_patterns(".git", "build", ".venv*", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
        self.native = native
        if native:
            self._configure()
            if not self.build():
                raise SystemExit("the unchanged code does not compile")

    def _configure(self) -> None:
        cmake_dir = subprocess.run(
            [sys.executable, "-m", "nanobind", "--cmake_dir"],
            check=True, capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip
        subprocess.run(
            ["cmake", "-S", self.root, "-B", self.objects, "-G", "Ninja", "-DSKBUILD=ON",
             "-DDEFRAG_BUILD_TESTS=ON", "-DDEFRAG_WERROR=ON", f"-Dnanobind_DIR={cmake_dir}",
             f"-DPython_EXECUTABLE={sys.executable}"],
            check=True, capture_output=True,
        )  # fmt: skip

    def build(self, goal: str = "_core") -> bool:
        """Compile and return whether the compiler accepted the code."""
        command = ["cmake", "--build", self.objects, "--parallel", "1", "--target", goal]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return False
        for library in self.objects.glob("_core*.so"):
            target = self.root / "src" / "defrag" / library.name
            target.unlink(missing_ok=True)
            shutil.copy(library, target)
        return True

    def test(self, tests: list[str]) -> bool:
        """Return whether the tests pass; "cpp" stands for all C++ tests."""
        if "cpp" in tests and not (self.build("defrag_tests") and self._pass_cpp_tests()):
            return False
        process = SERVER.Process(
            target=_run_pytest, args=(self.root, [test for test in tests if test != "cpp"])
        )
        process.start()
        process.join(TIMEOUT_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
        return process.exitcode == 0

    def _pass_cpp_tests(self) -> bool:
        try:
            done = subprocess.run(
                [self.objects / "defrag_tests"], check=False, capture_output=True,
                timeout=TIMEOUT_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def survives(self, mutant: Mutant, tests: list[str]) -> bool | None:
        """Return whether no test detects the mutant; None if it does not compile."""
        target = self.root / mutant.path
        source = mutant.source
        target.write_text(source[: mutant.begin] + mutant.text + source[mutant.end :])
        try:
            if mutant.path.endswith(".py"):
                compile(target.read_text(), mutant.path, "exec")
            elif not self.build():
                return None
            return self.test(tests)
        except SyntaxError:
            return None
        finally:
            target.write_text(source)


def run(
    mutants: list[tuple[Mutant, list[str]]], n_jobs: int, *, baseline: bool
) -> tuple[int, list[str]]:
    """Test the unchanged code, then the mutants; return the number caught and the survivors."""
    native = any(not mutant.path.endswith(".py") for mutant, _ in mutants)
    caught, survivors = 0, []
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copies: Queue[Copy] = Queue()
        for i in range(n_jobs):
            copies.put(Copy(Path(folder) / str(i), native=native))

        def one(item: tuple[Mutant, list[str]]) -> tuple[Mutant, bool | None]:
            copy = copies.get()
            try:
                return item[0], copy.survives(*item)
            finally:
                copies.put(copy)

        first = copies.get()
        every = sorted({test for _, tests in mutants for test in tests})
        if baseline and not first.test(every):
            raise SystemExit(f"the unchanged code does not pass {' '.join(every)}")
        copies.put(first)
        with ThreadPoolExecutor(n_jobs) as pool:
            for mutant, alive in pool.map(one, mutants):
                word = {True: "SURVIVED", False: "caught", None: "no program"}[alive]
                print(f"{word:10} {mutant.path}:{mutant.line} {mutant}", flush=True)
                caught += alive is False
                survivors += [str(mutant)] if alive else []
    return caught, survivors


def main() -> int:
    """Run the command line; return 1 if fewer mutants are caught than required."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", help="files to change")
    parser.add_argument("--table", action="store_true", help="test the mutants of the table")
    parser.add_argument("--only", default="", help="only files whose names contain this")
    parser.add_argument("--core", action="store_true", help="test all files of the core")
    parser.add_argument("--tests", nargs="*", help="tests to run (default: those of the core)")
    parser.add_argument("--sample", type=int, default=20, help="mutants per file (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--no-baseline", action="store_true", help="skip the tests of the unchanged code"
    )
    parser.add_argument(
        "--at-least", type=float, default=0.0, help="required percentage of caught mutants"
    )
    options = parser.parse_args()
    SERVER.set_forkserver_preload(
        ["__main__", "numpy", "scipy.sparse", "sklearn.base", "pandas", "pytest",
         "sklearn.utils.estimator_checks"]
    )  # fmt: skip
    paths = [*options.paths, *(CORE if options.core else [])]
    chosen = mutants_of_table() if options.table else []
    for path in paths:
        found = mutants_of(path)
        if options.sample and len(found) > options.sample:
            draw = random.Random(f"{options.seed} {path}")  # noqa: S311 - repeatable, not secret
            found = sorted(draw.sample(found, options.sample), key=lambda one: one.begin)
        tests = options.tests or CORE[path].split()
        chosen += [(mutant, tests) for mutant in found]
    chosen = [one for one in chosen if options.only in one[0].path]
    start = time.perf_counter()
    caught, survivors = run(chosen, options.jobs, baseline=not options.no_baseline)
    total = caught + len(survivors)
    share = 100.0 * caught / max(total, 1)
    seconds = time.perf_counter() - start
    print(f"{total} mutants, {caught} caught ({share:.1f} %), {seconds:.0f} s")
    return int(share < options.at_least)


if __name__ == "__main__":
    sys.exit(main())
