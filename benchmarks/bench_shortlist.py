"""Whether shortlists keep their promise on a test part, and how long they take.

    python benchmarks/bench_shortlist.py tibkat

``eurlex-4k`` and ``yso`` are published as matrices: their words are the numbers of features.
"""

import json
import lzma
import os
import sys

import numpy as np

from bench_text import cpu_seconds
from defrag import TextClassifier

FILES = {
    "debian": "debian-deps/{}.raw.jsonl.xz",
    "tibkat": "tibkat-core/{}.raw.jsonl.xz",
    "eurlex57k": "eurlex57k/{}.jsonl.xz",
    "makupalat": "makupalat/makupalat-{}.tsv.xz",
    "eurlex-4k": "eurlex-4k/{}.txt.xz",
    "yso": "yso-finna-en/{}.txt.xz",
}
MOST = {"train": 60_000, "test": 4000}


def read(name: str, part: str) -> tuple[list[str], list[list[str]]]:
    """Return texts and labels."""
    texts, labels = [], []
    with lzma.open(f"{os.environ['DEFRAG_DATA']}/{FILES[name].format(part)}", "rt") as file:
        for number, line in enumerate(file):
            if ".jsonl" in FILES[name]:
                one = json.loads(line)
                text, found = one["text"], list(map(str, one["labels"]))
            elif ".tsv" in FILES[name]:
                text, _, uris = line.rstrip("\n").partition("\t")
                found = uris.split()
            elif number:
                ids, _, row = line.partition(" ")
                text = " ".join(f"w{one.partition(':')[0]}" for one in row.split())
                found = [one for one in ids.split(",") if one]
            else:
                continue
            texts.append(text)
            labels.append(found)
            if len(texts) == MOST[part]:
                break
    return texts, labels


def main() -> None:
    """Print the figures."""
    name = sys.argv[1]
    model = TextClassifier(random_state=0, n_jobs=1).fit(*read(name, "train"))
    texts, labels = read(name, "test")
    known = {*model.classes_.tolist()}
    blocks = [texts[i : i + 250] for i in range(0, len(texts), 250)]
    within = [{*row} for part in blocks for row in model.predict_topk(part, 1000)[0].tolist()]
    true = [{*row} & known for row in labels]
    reach = sum(len(one & row) for one, row in zip(within, true, strict=True))
    print(f"{name}: {len(known):,} labels, {len(texts):,} texts, {reach:,} reachable labels of "
          f"{sum(map(len, true)):,}")  # fmt: skip
    for recall in (0.8, 0.9, 0.95):
        seconds, rows = cpu_seconds(lambda r: [model.shortlist(x, r) for x in blocks], recall,
                                    repeats=2)  # fmt: skip
        found = [one for part in rows for one in part]
        hits = sum(len({c.label for c in one} & row) for one, row in zip(found, true, strict=True))
        promise, share = model.promise(recall), hits / reach
        kept = "kept" if share >= promise.low else "MISSED"
        print(
            f"  {recall}: {100 * share:.2f} ({100 * promise.low:.2f} to {100 * promise.high:.2f}) "
            f"{kept}; {np.mean(list(map(len, found))):.1f} candidates (promised "
            f"{promise.size:.1f}); {1000 * seconds / len(texts):.3f} ms per text",
            flush=True,
        )


if __name__ == "__main__":
    main()
