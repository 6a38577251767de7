"""Tag an archive of any size with a saved model, a block of documents at a time.

    python retag_archive.py [MODEL ARCHIVE.jsonl TAGGED.jsonl]

The archive has one JSON object with a ``text`` per line. `defrag predict` does the same.
"""

import itertools
import json
import sys
import tempfile
import time
from pathlib import Path

from defrag import TextClassifier, load, load_dataset

BLOCK = 1000  # texts in memory at a time

if len(sys.argv) > 1:
    model_file, archive, tagged = map(Path, sys.argv[1:])
else:
    folder = Path(tempfile.mkdtemp())
    model_file, archive, tagged = (folder / name for name in ("model", "old.jsonl", "new.jsonl"))
    data = load_dataset("debian")
    TextClassifier(random_state=0).fit(*data.texts("train", 10_000)).save(model_file)
    old, _ = data.texts("test", 5000)
    archive.write_text("".join(json.dumps({"text": text}) + "\n" for text in old))

model = load(model_file)
begin, n_texts, n_labels = time.perf_counter(), 0, 0
with archive.open() as lines, tagged.open("w") as output:
    while block := [json.loads(line) for line in itertools.islice(lines, BLOCK)]:
        found = model.predict([document["text"] for document in block], threshold=0.5)
        for document, labels in zip(block, found, strict=True):
            output.write(json.dumps(document | {"labels": labels}) + "\n")
        n_texts += len(block)
        n_labels += sum(map(len, found))
rate = n_texts / (time.perf_counter() - begin)
print(f"{n_texts:,} texts, {n_labels:,} labels, {rate:,.0f} texts per second -> {tagged.name}")
