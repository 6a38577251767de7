"""From texts to rows and to label names: speed and precision.

Rows: seconds of CPU of TextVectorizer on the training texts of debian-deps, one thread, MB of text
per second, and microseconds for one text. Labels: from a jsonl file to a saved model and the names
of one text.

    python benchmarks/bench_text.py [rows] [labels]
"""

import argparse
import lzma
import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from defrag import Focus, Focused, LabelTree, TextClassifier, TextVectorizer, load
from defrag.io import read_texts

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
DATA = Path(os.environ.get("DEFRAG_DATA", SHARED))
DEBIAN = DATA / "debian-deps" / "train.raw.jsonl.xz"

SETTINGS: dict[str, dict[str, Any]] = {
    "words": {},
    "words and pairs": {"ngrams": 2},
    "characters 4": {"characters": 4},
}


def cpu_seconds(work: Callable[..., Any], *arguments: Any, repeats: int = 1) -> tuple[float, Any]:
    """Run ``work(*arguments)`` a few times; give the least CPU time and the last result."""
    best, result = math.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = work(*arguments)
        best = min(best, time.process_time() - start)
    return best, result


def rows(repeats: int) -> None:
    """Print what vectorisers take."""
    texts, _ = read_texts(DEBIAN)
    n_bytes = sum(len(text.encode()) for text in texts)
    print(f"{len(texts):,} texts, {n_bytes / 1e6:.1f} MB")
    for name, options in SETTINGS.items():
        model = TextVectorizer(**options, n_jobs=1)
        seconds, X = cpu_seconds(model.fit_transform, texts, repeats=repeats)
        again, _ = cpu_seconds(model.transform, texts, repeats=repeats)
        print(f"{name}: fit and transform {seconds:.2f} s ({n_bytes / seconds / 1e6:.0f} MB/s), "
              f"transform {again:.2f} s, {X.shape[1]:,} features, "
              f"one text {one_text(model.transform, texts):.0f} us", flush=True)  # fmt: skip


def one_text(ask: Callable[[list[str]], Any], texts: list[str]) -> float:
    """Return the median time for one text in microseconds, each after the others."""
    ask(texts[:1])
    times = []
    for text in texts[:300]:
        start = time.perf_counter()
        ask([text])
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def labels() -> None:
    """Train from a file, save, load, ask for one text."""
    with tempfile.TemporaryDirectory() as folder:
        path, model_path = Path(folder) / "docs.jsonl", Path(folder) / "model.safetensors"
        path.write_bytes(lzma.decompress(DEBIAN.read_bytes()))
        test, names = read_texts(DEBIAN.with_name("test.raw.jsonl.xz"))

        def train(model: TextClassifier) -> None:
            model.fit(*read_texts(path)).save(model_path)

        for what, model in {
            "words, LabelTree": TextClassifier(LabelTree(), TextVectorizer()),
            "pairs, Focus(2)": TextClassifier(Focused(LabelTree(), Focus(2)), TextVectorizer(2)),
            "default: pairs, Focus()": TextClassifier(),
        }.items():
            seconds, _ = cpu_seconds(train, model.set_params(random_state=0, n_jobs=1))
            loaded = load(model_path)
            p_at_1 = 100 * loaded.score(test, names)
            print(f"{what}: jsonl to model {seconds:.1f} s, P@1 {p_at_1:.1f}, "
                  f"one text {one_text(loaded.predict_topk, test):.0f} us", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["rows", "labels"])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    for part in given.parts:
        {"rows": lambda: rows(given.repeats), "labels": labels}[part]()
