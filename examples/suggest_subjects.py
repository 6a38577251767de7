"""Suggest subjects for one text, best first.

python suggest_subjects.py ["a text"]
"""

import sys

from defrag import TextClassifier, load_dataset

text = sys.argv[1] if len(sys.argv) > 1 else "gtk desktop application to view photos"
model = TextClassifier(random_state=0).fit(*load_dataset("debian").texts("train", 10_000))

names, scores = model.predict_topk([text], k=5)
print(text)
for name, score in zip(names[0], scores[0], strict=True):
    print(f"{score:6.2f}  {name}")
