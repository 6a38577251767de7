"""An environment with other programs, which is made if it is not there."""

import subprocess
import sys
from pathlib import Path

PEERS_VENV = Path(__file__).resolve().parent.parent / "build" / "peers-venv"

# PECOS would install torch, which its linear part does not need; it is not ready for numpy 2.
REQUIREMENTS = [
    ["numpy<2", "scipy<1.14", "scikit-learn", "omikuji==0.5.*", "napkinxc"],
    ["--no-deps", "libpecos"],
]


def peers_python(venv: Path) -> Path:
    """Return the Python of the programs' environment."""
    python = venv / "bin" / "python"
    probe = "import omikuji, napkinxc.models, pecos.xmc.xlinear"
    if python.exists() and not subprocess.run([python, "-c", probe], check=False).returncode:
        return python
    print(f"installing other programs in {venv}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    for requirements in REQUIREMENTS:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python
