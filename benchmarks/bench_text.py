"""From texts to rows and to label names: speed, memory and precision.

Rows: TextVectorizer against TfidfVectorizer of scikit-learn and the vectoriser of PECOS, which is
installed in an environment of its own in build/, on the training texts of debian-deps, one thread:
seconds of CPU, the ratio, MB of text per second, microseconds for one text, and the peak of memory
above the texts in units of the matrix. Labels: from a jsonl file to a saved model and the names of
one text.

    python benchmarks/bench_text.py [rows] [labels]
"""

import argparse
import json
import lzma
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from defrag import Focus, Focused, LabelTree, TextClassifier, TextVectorizer, load
from defrag.io import read_texts
from peers_environment import PEERS_VENV, peers_python

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
DATA = Path(os.environ.get("DEFRAG_DATA", SHARED))
DEBIAN = DATA / "debian-deps" / "train.raw.jsonl.xz"

SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "words": ({}, {"ngram_range": (1, 1)}),
    "words and pairs": ({"ngrams": 2}, {"ngram_range": (1, 2)}),
    "characters 4": ({"characters": 4}, {"ngram_range": (4, 4), "analyzer": "char_wb"}),
}
"""Parameters of our vectoriser, and of scikit-learn's and PECOS's."""


def cpu_seconds(work: Callable[..., Any], *arguments: Any, repeats: int = 1) -> tuple[float, Any]:
    """Run ``work(*arguments)`` a few times; give the least CPU time and the last result."""
    best, result = math.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = work(*arguments)
        best = min(best, time.process_time() - start)
    return best, result


def rows(repeats: int) -> None:
    """Compare vectorisers."""
    texts, _ = read_texts(DEBIAN)
    n_bytes = sum(len(text.encode()) for text in texts)
    print(f"{len(texts):,} texts, {n_bytes / 1e6:.1f} MB")
    pecos = pecos_seconds([theirs for _, theirs in SETTINGS.values()])
    for number, (name, (ours, theirs)) in enumerate(SETTINGS.items()):
        model = TextVectorizer(**ours, n_jobs=1)
        seconds, X = cpu_seconds(model.fit_transform, texts, repeats=repeats)
        again, _ = cpu_seconds(model.transform, texts, repeats=repeats)
        other = TfidfVectorizer(min_df=2, sublinear_tf=True, dtype=np.float32, **theirs)
        other_seconds, _ = cpu_seconds(other.fit_transform, texts)
        parts = [
            f"fit and transform {seconds:.2f} s ({n_bytes / seconds / 1e6:.0f} MB/s)",
            f"scikit-learn {other_seconds:.1f} s ({other_seconds / seconds:.1f} times)",
            f"PECOS {pecos[number]:.1f} s ({pecos[number] / seconds:.1f} times)",
            f"transform {again:.2f} s",
            f"{X.shape[1]:,} features",
            f"one text {one_text(model, texts):.0f} us",
            f"scikit-learn {one_text(other, texts):.0f} us",
            f"peak {peak(name):.2f} matrices",
        ]
        print(f"{name}: {', '.join(parts)}", flush=True)


# PECOS splits at spaces and keeps capitals: texts are in lower case before its clock starts.
PECOS = """
import json, lzma, sys, time
from pecos.utils.featurization.text.vectorizers import Tfidf
with lzma.open(sys.argv[1], "rt", encoding="utf-8") as file:
    texts = [json.loads(line)["text"].lower() for line in file]
for options in json.loads(sys.argv[2]):
    options["ngram_range"] = tuple(options["ngram_range"])
    start = time.process_time()
    model = Tfidf.train(texts, {"min_df_cnt": 2, "sublinear_tf": True, "threads": 1, **options})
    model.predict(texts, threads=1)
    print(time.process_time() - start)
"""


def pecos_seconds(settings: list[dict[str, Any]]) -> list[float]:
    """Return the CPU times of fit and transform of PECOS on the texts of debian-deps."""
    command = [peers_python(PEERS_VENV), "-c", PECOS, DEBIAN, json.dumps(settings)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(line) for line in found.stdout.split()]


def one_text(model: Any, texts: list[str], n_texts: int = 300) -> float:
    """Return the median time for one text in microseconds, each after the others."""
    model.transform(texts[:1])
    times = []
    for text in texts[:n_texts]:
        start = time.perf_counter()
        model.transform([text])
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def peak(name: str) -> float:
    """Return the peak of memory above the texts, in a process of its own."""
    command = [sys.executable, __file__, "--peak-of", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_peak(name: str) -> None:
    texts, _ = read_texts(DEBIAN)
    model = TextVectorizer(**SETTINGS[name][0], n_jobs=1)
    TextVectorizer(n_jobs=1).fit_transform(texts[:100])  # what is imported at the first call
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before = memory("VmRSS")
    X = model.fit_transform(texts)
    matrix = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print((memory("VmHWM") - before) / matrix)


def memory(field: str) -> int:
    """Return a field of this process's status in bytes; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


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
            times = []
            for text in test[:300]:
                start = time.perf_counter()
                loaded.predict_topk([text], k=5)
                times.append(time.perf_counter() - start)
            print(f"{what}: jsonl to model {seconds:.1f} s, P@1 {p_at_1:.1f}, "
                  f"one text {1e6 * np.median(times[5:]):.0f} us", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["rows", "labels"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peak-of")
    given = parser.parse_args()
    if given.peak_of:
        print_peak(given.peak_of)
    for part in [] if given.peak_of else given.parts:
        {"rows": lambda: rows(given.repeats), "labels": labels}[part]()
