"""Check project rules that no linter covers.

Each rule is a pattern that must not occur in certain files, with the reason.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

RULES = [
    ("src/**/*.py", r"^\s*(from defrag import _core|import defrag\._core|from defrag\._core)",
     "only _native imports the compiled module", {"_native"}),
    ("src/**/*.py", r"\bnp\.random\.(seed|rand|randn|randint|choice|shuffle|permutation)\(",
     "no global random state: pass a seed", set()),
    ("src/**/*.py", r"\b(pickle|marshal)\b\.(load|loads)|\beval\(|\bexec\(",
     "reading a file never runs code", set()),
    ("src/**/*.py", r"except( Exception| BaseException)?:\s*(pass)?$",
     "no swallowed exceptions", set()),
    ("cpp/core/**/*", r"#pragma omp|#include <omp\.h>", "no OpenMP: it hangs after fork()", set()),
    ("cpp/core/**/*", r"std::(shuffle|uniform_\w+|mt19937|random_device)|\brand\(\)",
     "random numbers come from random.hpp, the same with every standard library", set()),
    ("cpp/core/**/*", r"unordered_(map|set)", "no unordered container may decide an order", set()),
    ("cpp/core/**/*", r"thread_local|Python\.h|nanobind|std::cout|printf\(",
     "the core has no globals, no Python and no output", set()),
    ("CMakeLists.txt", r"-march=native|-ffast-math|-Ofast", "same bits on every machine", set()),
]  # fmt: skip


def main() -> int:
    """Print every violation; return 1 if there are any, otherwise 0."""
    violations = 0
    for glob, pattern, reason, exempt in RULES:
        for path in sorted(ROOT.glob(glob)):
            if not path.is_file() or exempt & {path.name, path.parent.name}:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if re.search(pattern, line):
                    print(f"{path.relative_to(ROOT)}:{number}: {reason}: {line.strip()}")
                    violations += 1
    return min(violations, 1)


if __name__ == "__main__":
    sys.exit(main())
