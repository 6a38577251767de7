"""Change the code in small ways and count how many of the changes the tests notice.

Examples::

    python tools/mutate.py src/defrag/io/files.py --tests tests/io --sample 20
    python tools/mutate.py cpp/core/kmeans.cpp --tests tests/native/test_kmeans.py
    python tools/mutate.py --core --sample 10

Work is done on a copy of the repository. A mutant that the compiler refuses does not count.
``tests/mutation/equivalent.txt`` lists mutants that cannot be noticed, because they compute the
same or change nothing but speed, with the reason; they are left out.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "tests" / "mutation" / "equivalent.txt"
TIMEOUT_SECONDS = 600
MEMORY_BYTES = 6 << 30

CORE = {
    "src/defrag/_parameters.py": "tests/test_validation.py",
    "src/defrag/_validation.py": "tests/test_validation.py tests/classifiers/test_single_rows.py",
    "src/defrag/agglomeration/_budget.py": "tests/agglomeration",
    "src/defrag/agglomeration/_pooling.py": "tests/agglomeration",
    "src/defrag/agglomeration/certificate/_bounds.py": "tests/agglomeration/test_certificate.py",
    "src/defrag/classifiers/_base.py": "tests/classifiers tests/contract",
    "src/defrag/imputation/_missing.py": "tests/imputation",
    "src/defrag/io/files.py": "tests/io tests/persistence/test_persistence.py",
    "src/defrag/io/npz.py": "tests/io/test_formats.py",
    "src/defrag/metrics/_formulas.py": "tests/metrics",
    "src/defrag/metrics/_ranked.py": "tests/metrics",
    "src/defrag/persistence/_checks.py": "tests/persistence",
    "src/defrag/reranking/_trade_off.py": "tests/reranking",
    "src/defrag/reranking/refrag.py": "tests/reranking",
    "src/defrag/trees/balanced.py": "tests/trees",
    "src/defrag/trees/vectors.py": "tests/trees",
    "cpp/core/agglomeration.cpp": "tests/agglomeration",
    "cpp/core/beam_search.cpp": "tests/native/test_beam_search.py tests/classifiers",
    "cpp/core/best_first.cpp": "tests/native/test_best_first.py",
    "cpp/core/co_occurrence.cpp": "tests/agglomeration/test_co_occurrence.py tests/imputation",
    "cpp/core/companions.cpp": "tests/imputation",
    "cpp/core/flat_search.cpp": "tests/native/test_flat_search.py",
    "cpp/core/impute.cpp": "tests/imputation tests/agglomeration/test_co_occurrence.py",
    "cpp/core/kmeans.cpp": "tests/native/test_kmeans.py tests/classifiers",
    "cpp/core/label_tree.cpp": "tests/native/test_label_tree.py",
    "cpp/core/number_text.hpp": "tests/io",
    "cpp/core/ppd_sparse.cpp": "tests/native/test_sparse_learners.py",
    "cpp/core/proxml.cpp": "tests/native/test_sparse_learners.py",
    "cpp/core/representations.cpp": "tests/trees",
    "cpp/core/rerank.cpp": "tests/reranking",
    "cpp/core/solver.cpp": "tests/native/test_solver.py",
    "cpp/core/split.cpp": "tests/trees",
    "cpp/core/tree.cpp": "tests/trees",
    "cpp/core/xmc_parser.cpp": "tests/io tests/fuzz/test_fuzz_parser.py",
}
"""The core, and the tests that concern each file."""

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+",
    "*": "/", "/": "*", "//": "*", "+=": "-=", "-=": "+=", "and": "or", "or": "and", "&&": "||",
    "||": "&&", "true": "false", "false": "true", "True": "False", "False": "True", "not": "",
    "!": "", "min": "max", "max": "min", "++": "--",
}  # fmt: skip
CPP_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
    r"|[A-Za-z_]\w*|\d[\w.']*|->|<<=?|>>=?|\+\+|--|[-+*/%&|^=!<>]=|&&|\|\||::|[^\s\w]",
    re.DOTALL | re.MULTILINE,
)
CPP_STATEMENT = re.compile(
    r"^[ \t]+(?!return|break|continue|throw|using|const |auto |std::\w+<)"
    r"[\w.\->:\[\]()]+(?:\([^;{}]*\)| [-+*/|&]?= [^;{}]*);$",
    re.MULTILINE,
)
PYTHON_STATEMENT = re.compile(
    r"^( +)(raise|continue|break|[\w.]+\()(?!.*[\[({,]$).*$", re.MULTILINE
)


@dataclass(frozen=True)
class Mutant:
    """A piece of a file, replaced by another text."""

    path: str
    begin: int
    end: int
    text: str
    line: int
    source: str

    def __str__(self) -> str:
        """Describe the mutant in one line, which is also its name in the list of equivalents."""
        before = self.source[self.begin : self.end].strip()
        row = self.source.splitlines()[self.line - 1].strip()
        return f"{self.path}: {row!r}: {before!r} -> {self.text.strip()!r}"


def python_mutants(path: str, source: str) -> list[Mutant]:  # noqa: C901 - a list of cases
    """Return the mutants of a Python file; strings, imports and annotations stay."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for i, token in enumerate(tokens):
        row = token.line.strip()
        if row.startswith(("import ", "from ", "@", "def ", "class ", "__all__", "if TYPE")):
            continue
        if re.match(r"\w+: [^=]*$", row) and not row.endswith(":"):
            continue  # an annotation without a value
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        previous = tokens[i - 1].string if i else ""
        swap = _swap(token.string, previous, tokens[i + 1].string if i + 1 < len(tokens) else "")
        if swap is None or token.type not in {tokenize.OP, tokenize.NAME, tokenize.NUMBER}:
            continue
        if token.string in "+-" and previous in {"(", ",", "=", "[", "return", "else", ":"}:
            continue  # a sign
        if token.string in {"*", "-"} and tokens[i + 1].string == ">":
            continue
        if token.string == "*" and previous in {"(", ",", "["}:
            continue  # an unpacked argument
        found.append(Mutant(path, begin, end, swap, token.start[0], source))
    for match in PYTHON_STATEMENT.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if not _inside_string(tokens, line) and match[0].count("(") == match[0].count(")"):
            begin = match.start() + len(match[1])
            found.append(Mutant(path, begin, match.end(), "pass", line, source))
    return found


def _inside_string(tokens: list[tokenize.TokenInfo], line: int) -> bool:
    return any(
        token.type == tokenize.STRING and token.start[0] <= line <= token.end[0] != token.start[0]
        for token in tokens
    )


def cpp_mutants(path: str, source: str) -> list[Mutant]:
    """Return the mutants of a C++ file; comments, types and constants of tuning stay."""
    found = []
    tokens = list(CPP_TOKEN.finditer(source))
    lines = source.splitlines()
    for i, token in enumerate(tokens):
        line = source.count("\n", 0, token.start()) + 1
        row = lines[line - 1].strip()
        if row.startswith(("constexpr", "static constexpr", "template", "#", "using", "class")):
            continue
        previous = tokens[i - 1][0] if i else ""
        following = tokens[i + 1][0] if i + 1 < len(tokens) else ""
        if token[0] in "<>&*" and not _spaced(source, token):
            continue  # a bracket, a reference or a pointer
        if token[0] in {"-", "+"} and not _spaced(source, token):
            continue  # a sign
        swap = _swap(token[0], previous, following)
        if swap is not None:
            found.append(Mutant(path, token.start(), token.end(), swap, line, source))
    for match in CPP_STATEMENT.finditer(source):
        line = source.count("\n", 0, match.end()) + 1
        found.append(Mutant(path, match.start(), match.end(), ";", line, source))
    return found


def _spaced(source: str, token: re.Match[str]) -> bool:
    return source[token.start() - 1] == " " and source[token.end()] in " \n"


def _swap(text: str, previous: str, following: str) -> str | None:
    """Return what a token becomes, or None where it stays."""
    if text in {"min", "max"} and following not in {"(", "<"}:
        return None
    if text == "not" and (following == "in" or previous == "is"):
        return None
    if text in SWAPS:
        return SWAPS[text]
    if re.fullmatch(r"\d+", text):
        return str(int(text) + 1)
    if re.fullmatch(r"\d+\.\d+F?", text):
        suffix = "F" if text.endswith("F") else ""
        return f"{float(text.rstrip('F')) + 1.0}{suffix}"
    return None


def mutants_of(path: str) -> list[Mutant]:
    """Return all mutants of a file that are not known to be equivalent."""
    source = (ROOT / path).read_text(encoding="utf-8")
    found = (python_mutants if path.endswith(".py") else cpp_mutants)(path, source)
    known = {line.partition("  # ")[0] for line in EQUIVALENT.read_text().splitlines()}
    return [mutant for mutant in found if str(mutant) not in known]


class Copy:
    """A copy of the repository in which mutants are built and tested."""

    def __init__(self, folder: Path, *, native: bool) -> None:
        self.root = folder
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
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        subprocess.run(
            ["cmake", "-S", self.root, "-B", self.root / "build", "-G", "Ninja", "-DSKBUILD=ON",
             f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={cmake_dir}", *launcher],
            check=True, capture_output=True,
        )  # fmt: skip

    def build(self) -> bool:
        """Compile; tell whether the compiler accepted the code."""
        command = ["cmake", "--build", self.root / "build", "--parallel", "1"]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return False
        for library in (self.root / "build").glob("_core*.so"):
            target = self.root / "src" / "defrag" / library.name
            target.unlink(missing_ok=True)
            shutil.copy(library, target)
        return True

    def test(self, tests: list[str]) -> bool:
        """Tell whether the tests pass."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
                   "-m", "not slow", "--timeout", "60", *tests]  # fmt: skip
        command = ["prlimit", f"--as={MEMORY_BYTES}", *command]
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src")}
        try:
            return not subprocess.run(
                command, cwd=self.root, env=environment, check=False, capture_output=True,
                timeout=TIMEOUT_SECONDS,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            return False

    def survives(self, mutant: Mutant, tests: list[str]) -> bool | None:
        """Tell whether no test notices the mutant; None if it is no program."""
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


def run(mutants: list[tuple[Mutant, list[str]]], n_jobs: int) -> tuple[int, list[str]]:
    """Try the mutants; return how many were caught, and the others."""
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
        for tests in {tuple(tests) for _, tests in mutants}:
            if not first.test(list(tests)):
                raise SystemExit(f"the unchanged code does not pass {' '.join(tests)}")
        copies.put(first)
        with ThreadPoolExecutor(n_jobs) as pool:
            for mutant, alive in pool.map(one, mutants):
                word = {True: "SURVIVED", False: "caught", None: "no program"}[alive]
                print(f"{word:10} {mutant.path}:{mutant.line} {mutant}", flush=True)
                caught += alive is False
                survivors += [str(mutant)] if alive else []
    return caught, survivors


def main() -> int:
    """Run from the command line; fail where fewer are caught than asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", help="files to change")
    parser.add_argument("--core", action="store_true", help="all files of the core")
    parser.add_argument("--tests", nargs="*", help="tests to run (default: those of the core)")
    parser.add_argument("--sample", type=int, default=20, help="mutants per file (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--at-least", type=float, default=0.0, help="percentage to catch")
    options = parser.parse_args()
    paths = [*options.paths, *(CORE if options.core else [])]
    chosen = []
    for path in paths:
        found = mutants_of(path)
        if options.sample and len(found) > options.sample:
            draw = random.Random(f"{options.seed} {path}")  # noqa: S311 - repeatable, not secret
            found = sorted(draw.sample(found, options.sample), key=lambda one: one.begin)
        tests = options.tests or CORE[path].split()
        chosen += [(mutant, tests) for mutant in found]
    start = time.perf_counter()
    caught, survivors = run(chosen, options.jobs)
    total = caught + len(survivors)
    share = 100.0 * caught / max(total, 1)
    seconds = time.perf_counter() - start
    print(f"{total} mutants, {caught} caught ({share:.1f} %), {seconds:.0f} s")
    return int(share < options.at_least)


if __name__ == "__main__":
    sys.exit(main())
