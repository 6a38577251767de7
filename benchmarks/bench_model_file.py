"""Model files: size, time to load and precision for the three types of weights.

``python benchmarks/bench_model_file.py eurlex-4k debian`` prints one table per data set; debian
is the bundled one, others are read from the data folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import cpu_seconds, precision
from defrag import Agglomerated, LabelTree, load, load_dataset
from defrag.agglomeration import Hybrid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy import sparse

WEIGHT_TYPES = ("float32", "float16", "int8")


def rows(model: Any, X: sparse.csr_array, Y: sparse.csr_array, folder: str) -> Iterator[str]:
    """Yield a row per type of weights."""
    path = Path(folder) / "model.safetensors"
    for weights in WEIGHT_TYPES:
        saving, _ = cpu_seconds(lambda chosen=weights: model.save(path, weights=chosen))
        mapped, loaded = cpu_seconds(lambda: load(path), repeats=3)
        read_in, _ = cpu_seconds(lambda: load(path, mmap=False), repeats=3)
        labels, _ = loaded.predict_topk(X, k=5)
        size = path.stat().st_size / 1e6
        yield (
            f"{weights:8} {size:8.2f} MB {1000 * saving:9.0f} ms {1000 * mapped:8.1f} ms "
            f"{1000 * read_in:8.1f} ms   {precision(labels, Y)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["eurlex-4k", "debian"])
    parser.add_argument("--n-trees", type=int, default=1)
    parser.add_argument("--agglomerated", action="store_true")
    options = parser.parse_args()
    for name in options.sets:
        data = load_dataset(name)
        X, Y, test_X, test_Y = data.train.X, data.train.Y, data.test.X, data.test.Y
        model: Any = LabelTree(options.n_trees, random_state=0)
        if options.agglomerated:
            model = Agglomerated(model, Hybrid(), random_state=0)
        seconds, _ = cpu_seconds(lambda model=model, X=X, Y=Y: model.fit(X, Y))
        print(f"{name}: {type(model).__name__} of {options.n_trees}, {seconds:.1f} s CPU to train")
        print(f"{test_X.shape[0]} test points")
        print("weights      size        saved      mapped     read in   P@1/3/5")
        with tempfile.TemporaryDirectory() as folder:
            for row in rows(model, test_X, test_Y, folder):
                print(row)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
