"""Install a wheel in an environment without a compiler, and run the demo from it.

Usage: python tools/check_wheel.py dist/*.whl

Of the given wheels, uses the one that this Python can install, and that of the data set.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++")
NEEDED = ("defrag/py.typed", "defrag/_core.pyi")
LICENCES = ("LICENSE", "nanobind/LICENSE.txt", "robin_map/LICENSE.txt")
DOCUMENTS = """\
{"text": "quick sort of lists", "labels": ["sorting"]}
{"text": "merge sort of long lists", "labels": ["sorting"]}
{"text": "hash map of keys", "labels": ["maps"]}
{"text": "tree map of keys and values", "labels": ["maps"]}
"""
UNWANTED = (".cpp", ".hpp", ".pyc")


def installable(paths: list[Path]) -> Path:
    """Return the only wheel of the library that this Python can install."""
    tags = set(sys_tags())
    named = [(path, parse_wheel_filename(path.name)) for path in paths]
    fitting = [path for path, (name, *_, fits) in named if name == "defrag" and tags & fits]
    if len(fitting) != 1:
        sys.exit(f"{len(fitting)} of {len(paths)} wheels fit this Python, 1 expected: {paths}")
    return fitting[0]


def check_contents(path: Path) -> None:
    """Check the files of the wheel, and that the compiled module matches its tag."""
    names = zipfile.ZipFile(path).namelist()
    missing = [name for name in NEEDED if name not in names]
    missing += [end for end in LICENCES if not any(name.endswith(end) for name in names)]
    unwanted = [name for name in names if name.endswith(UNWANTED)]
    modules = [name for name in names if name.endswith((".so", ".pyd", ".dylib"))]
    if missing or unwanted or len(modules) != 1:
        sys.exit(f"{path}: missing {missing}, unwanted {unwanted}, compiled modules {modules}")
    if ("-abi3-" in path.name) != modules[0].endswith(".abi3.so"):
        sys.exit(f"{path}: the tag of the wheel does not match the module {modules[0]}")


def main() -> None:
    """Check one wheel."""
    paths = [Path(name).resolve() for name in sys.argv[1:]]
    path, data = installable(paths), [str(one) for one in paths if "defrag_data" in one.name]
    check_contents(path)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "venv"), with_pip=True)
        bin_folder = Path(folder, "venv", "bin")
        environment = {"PATH": str(bin_folder), "HOME": folder, "LANG": "C.UTF-8"}
        environment |= {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
        found = [name for name in COMPILERS if shutil.which(name, path=environment["PATH"])]
        if found:
            sys.exit(f"compilers in the PATH of the test: {found}")

        def run(*command: str) -> None:
            print("$", *command, flush=True)
            program = str(bin_folder / command[0])
            subprocess.run([program, *command[1:]], check=True, cwd=folder, env=environment)

        install = ("python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:")
        run(*install, str(path))
        run("python", "-m", "pip", "check")
        run("python", "-W", "error", "-c", "import defrag; print(defrag.__file__)")
        run("defrag", "--version")
        Path(folder, "docs.jsonl").write_text(DOCUMENTS, encoding="utf-8")
        run("defrag", "train", "docs.jsonl", "model.safetensors")
        run("defrag", "suggest", "model.safetensors", "a sort of lists", "--why")
        run(*install, *data)
        run("defrag", "demo")


if __name__ == "__main__":
    main()
