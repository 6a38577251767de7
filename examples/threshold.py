"""Choose the threshold from which 90% of the assigned labels are right, on texts held out."""

import numpy as np

from defrag import TextClassifier, load_dataset

WANTED = 0.9
data = load_dataset("debian")
texts, labels = data.texts("train", 12_000)
model = TextClassifier(random_state=0).fit(texts[:10_000], labels[:10_000])


def scored(held_out: list[str], truth: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the best 20 labels of each text, and which labels are right."""
    names, scores = model.predict_topk(held_out, k=20)
    right = [
        [name in row for name in found] for found, row in zip(names, map(set, truth), strict=True)
    ]
    return scores.ravel(), np.array(right).ravel()


scores, right = scored(texts[10_000:], labels[10_000:])
order = np.argsort(-scores, kind="stable")
precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
last = np.flatnonzero(precision >= WANTED)[-1]  # as many labels as the wish allows
threshold = float(scores[order[last]])

test_texts, test_labels = data.texts("test", 3000)
scores, right = scored(test_texts, test_labels)
for name, value in {"default": 0.5, "chosen": threshold}.items():
    kept = scores > value  # the rule of `predict`
    found = right[kept].sum() / sum(map(len, test_labels))
    print(f"{name} threshold {value:.2f}: precision {right[kept].mean():.2f}, recall {found:.2f}")
