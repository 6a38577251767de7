"""Suggest subjects for one text, best first.

python suggest_subjects.py ["a text"]
"""

from __future__ import annotations

import sys

from defrag import TextClassifier
from packages import packages

text = sys.argv[1] if len(sys.argv) > 1 else "gtk desktop application to view photos"
model = TextClassifier(random_state=0).fit(*packages("train", 10_000))

names, scores = model.predict_topk([text], k=5)
print(text)
for name, score in zip(names[0], scores[0], strict=True):
    print(f"{score:6.2f}  {name}")
