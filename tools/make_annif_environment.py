"""Make a virtual environment with stock Annif from PyPI and the package defrag of this Python.

    python tools/make_annif_environment.py FOLDER

Annif tokenises with NLTK, whose data are not on PyPI: untrained parameters of its sentence
tokenizer replace them, which split sentences, and so the full stops at the ends of words, slightly
differently. This affects only backends with an analyzer.
"""

import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent

NLTK_FILES = ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt")


def main(folder: Path) -> None:
    """Make the environment."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    packages = ["annif", "omikuji", "pytest", *settings["dependencies"]]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", find], check=True, stdout=subprocess.PIPE, text=True)
    packages_folder = Path(found.stdout.strip())
    package = find_spec("defrag")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("defrag is not installed")
    (packages_folder / "defrag").symlink_to(Path(package.origin).parent)
    metadata = packages_folder / f"defrag-{settings['version']}.dist-info"
    metadata.mkdir()
    head = f"Metadata-Version: 2.1\nName: defrag\nVersion: {settings['version']}\n"
    (metadata / "METADATA").write_text(head, encoding="utf-8")
    lines = []
    for group, points in settings["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    data = folder / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    data.mkdir(parents=True)
    for name in NLTK_FILES:
        (data / name).touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
