"""Environments with other programs, which are made if they are not there.

    python benchmarks/peers_environment.py FOLDER

makes those of ``defrag reproduce texts --peers-python FOLDER``.
"""

import subprocess
import sys
from pathlib import Path

# PECOS and LibMultiLabel would install torch, which their linear parts do not need; PECOS is not
# ready for numpy 2.
OF_TEXTS = {
    "fasttext": ["fasttext-numpy2 scipy"],
    "libmultilabel": [
        "--no-deps libmultilabel==0.10.*",
        "liblinear-multicore sparsekmeans scikit-learn pandas PyYAML tqdm psutil",
    ],
    "sklearn": ["scikit-learn"],
    "omikuji": ["omikuji==0.5.* scikit-learn"],
    "napkinxc": ["napkinxc scikit-learn"],
    "pecos": ["numpy<2 scipy<1.14 scikit-learn omikuji==0.5.* napkinxc", "--no-deps libpecos"],
}

if __name__ == "__main__":
    for name, requirements in OF_TEXTS.items():
        venv = Path(sys.argv[1]) / name
        if not (venv / "bin" / "python").exists():
            print(f"installing other programs in {venv}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet"]
            for some in requirements:
                subprocess.run([*pip, *some.split()], check=True)
