"""Annotation by a person who knows the labels: labels per click of two orders, and seconds.

    python benchmarks/bench_loop.py debian --known 20000 --pool 15000
    python benchmarks/bench_loop.py debian --seconds

A click accepts the labels that are proposed, removes one of them or adds one of the list; a label
that is not in the list takes two. Both orders have the same suggestions: those of a model that is
trained again after every 250 texts, and of the corrections since. All texts are training texts.
"""

import argparse
import json
import lzma
import os
import tempfile
import time
from itertools import pairwise

import numpy as np

from bench_text import cpu_seconds
from defrag import TextClassifier
from defrag.serving import ServedModel
from defrag.serving.corrections import Corrections
from defrag.serving.loop import Loop

Truth = dict[str, list[str]]
FOLDERS = {"debian": "debian-deps", "tibkat": "tibkat-core"}


def read(name: str, part: str = "train") -> Truth:
    """Return different texts and their labels."""
    path = f"{os.environ['DEFRAG_DATA']}/{FOLDERS[name]}/{part}.raw.jsonl.xz"
    with lzma.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    return {one["text"]: list(dict.fromkeys(map(str, one["labels"]))) for one in rows}


def fit(truth: Truth, texts: list[str]) -> TextClassifier:
    """Return a model of texts."""
    model = TextClassifier(features="words", random_state=0, n_jobs=1)
    return model.fit(texts, [truth[text] for text in texts])


def simulate(
    truth: Truth, known: list[str], pool: list[str], n: int, order: str
) -> tuple[int, int, Loop]:
    """Return the labels, the clicks and the loop at the end."""
    path = f"{tempfile.mkdtemp()}/said.jsonl"
    loop = Loop(ServedModel("m", fit(truth, known)), Corrections(path), pool)
    labels = clicks = 0
    for step in range(n):
        if order == "random":
            text = list(loop.documents)[step]
            ranking = loop.overlay.rank([text], 20)[0]
            likely = loop.overlay.probabilities([ranking])[0]
            shown = {*ranking}
            proposed = {label for label, p in zip(ranking, likely, strict=True) if p >= 0.5}
        else:
            (one,) = loop.offer(1)
            text, shown, proposed = one.text, {label.label for label in one.labels}, {*one.proposed}
        true = {*truth[text]}
        labels += len(true)
        clicks += 1 + len(proposed - true) + len((true & shown) - proposed) + 2 * len(true - shown)
        loop.correct(text, truth[text])
        if step % 250 == 249:
            model = ServedModel("m", fit(truth, [*known, *loop.corrections.labels]))
            loop = Loop(model, Corrections(path), pool)
    return labels, clicks, loop


def recall(loop: Loop, truth: Truth, texts: list[str]) -> float:
    """Return the share of labels among the best ten."""
    rankings = loop.overlay.rank(texts, 10)
    hits = sum(len({*one} & {*truth[text]}) for one, text in zip(rankings, texts, strict=True))
    return hits / sum(len(truth[text]) for text in texts)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=FOLDERS)
    parser.add_argument("--known", type=int, default=20000)
    parser.add_argument("--pool", type=int, default=15000)
    parser.add_argument("--seconds", action="store_true")
    asked = parser.parse_args()
    truth = read(asked.name)
    texts = list(truth)
    if asked.seconds:
        path, others = f"{tempfile.mkdtemp()}/said.jsonl", list(read(asked.name, "test"))[:500]
        seconds, model = cpu_seconds(fit, truth, texts)
        print(f"{len(texts):,} texts, {len(model.classes_):,} labels: trained in {seconds:.1f} s")
        loop = Loop(ServedModel("m", model), Corrections(path), others)
        waits = []
        for text in others:
            start = time.perf_counter()
            loop.correct(text, ["a new label"])
            found = loop.model.predict([text], 10)[0]
            loop.offer(1)
            waits.append(time.perf_counter() - start)
            if found[0][0] != "a new label":
                raise ValueError(f"the correction is not suggested: {found[:3]}")
        print(f"correction, suggestions, next text: median {np.median(waits):.3f} s, "
              f"longest {max(waits):.3f} s")  # fmt: skip
        return
    order = np.random.default_rng(1).permutation(len(texts)).tolist()
    bounds = [0, asked.known, asked.known + asked.pool]
    known, pool = ([texts[i] for i in order[a:b]] for a, b in pairwise(bounds))
    others = [texts[i] for i in order[-2000:]]
    rates = []
    for kind in ("random", "gain"):
        labels, clicks, loop = simulate(truth, known, pool, 500, kind)
        rates.append(labels / clicks)
        print(f"{kind}: {labels} labels in {clicks} clicks, {rates[-1]:.3f} per click; recall@10 "
              f"of other texts {recall(loop, truth, others):.4f}", flush=True)  # fmt: skip
    print(f"ratio {rates[1] / rates[0]:.2f}")


if __name__ == "__main__":
    main()
