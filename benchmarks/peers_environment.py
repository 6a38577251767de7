"""Environments with other programs, which are made if they are not there.

    python benchmarks/peers_environment.py FOLDER

makes those of ``defrag reproduce texts --peers-python FOLDER``.
"""

import subprocess
import sys
from pathlib import Path

PEERS_VENV = Path(__file__).resolve().parent.parent / "build" / "peers-venv"

# PECOS would install torch, which its linear part does not need; it is not ready for numpy 2.
REQUIREMENTS = [
    ["numpy<2", "scipy<1.14", "scikit-learn", "omikuji==0.5.*", "napkinxc"],
    ["--no-deps", "libpecos"],
]
# LibMultiLabel would install torch as well.
OF_TEXTS = {
    "fasttext": [["fasttext-numpy2", "scipy"]],
    "libmultilabel": [
        ["--no-deps", "libmultilabel==0.10.*"],
        [
            "liblinear-multicore",
            "sparsekmeans",
            "scikit-learn",
            "pandas",
            "PyYAML",
            "tqdm",
            "psutil",
        ],
    ],
    "sklearn": [["scikit-learn"]],
    "omikuji": [["omikuji==0.5.*", "scikit-learn"]],
    "napkinxc": [["napkinxc", "scikit-learn"]],
    "pecos": REQUIREMENTS,
}


def peers_python(venv: Path) -> Path:
    """Return the Python of the programs' environment."""
    probe = "import omikuji, napkinxc.models, pecos.xmc.xlinear"
    return _environment(venv, REQUIREMENTS, probe)


def _environment(venv: Path, requirements: list[list[str]], probe: str = "") -> Path:
    python = venv / "bin" / "python"
    if python.exists() and not subprocess.run([python, "-c", probe], check=False).returncode:
        return python
    print(f"installing other programs in {venv}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    for some in requirements:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *some], check=True)
    return python


if __name__ == "__main__":
    for name, needed in OF_TEXTS.items():
        _environment(Path(sys.argv[1]) / name, needed)
