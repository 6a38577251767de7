"""Retrain when texts have arrived, and keep the suggestions for old texts stable.

``shape=`` keeps the label trees of the model in use: every label keeps its neighbours, and all
weights are learnt again from all texts.
"""

import tempfile
from pathlib import Path

from defrag import TextClassifier, load_dataset

data = load_dataset("debian")
texts, labels = data.texts("train", 6300)
test, _ = data.texts("test", 2000)
path = Path(tempfile.mkdtemp()) / "model.safetensors"
old = TextClassifier(random_state=0).fit(texts[:6000], labels[:6000])
old.save(path)
before, _ = old.predict_topk(test, k=5)

for name, shape in {"new trees": None, "old trees (shape=)": path}.items():
    new = TextClassifier(random_state=0).fit(texts, labels, shape=shape)
    after, _ = new.predict_topk(test, k=5)
    changed = sum(len({*row} - {*earlier}) for row, earlier in zip(after, before, strict=True))
    print(f"{name}: {changed / after.size:.0%} of the suggestions for other texts have changed")
added = {*new.classes_} - {*old.classes_}
print(f"{len(added)} labels are new, such as {min(added)}")
