"""Store one small model per kind, with an input and its output, for later versions to load.

Run once per release: ``python tests/compat/make_models.py tests/compat/0.1.0``. What a
release has stored is never made anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from defrag import Defrag, Hybrid


def models(X):
    """Yield the kind and the fitted model."""
    yield "defrag", Defrag(max_cluster_size=3, sample_points=1.0, random_state=0).fit(X)
    yield "hybrid", Hybrid(n_clusters=6, random_state=0).fit(X)


def main(folder):
    """Write the files; refuse to replace any."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    X = np.float32(rng.integers(1, 9, (40, 16)) * (rng.random((40, 16)) < 0.3))
    for kind, model in models(X):
        path = folder / f"{kind}.safetensors"
        if path.exists():
            sys.stderr.write(f"{path} exists\n")
            continue
        model.save(path)
        np.savez(path.with_suffix(".npz"), input=X[:5], output=model.transform(X[:5]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
