"""Texts from a Parquet file, suggestions as a data frame and as another Parquet file."""

import sys
import tempfile
from pathlib import Path

from defrag import TextClassifier, load_dataset
from defrag.io import read_texts

try:
    import pandas as pd
    import pyarrow as pa  # noqa: F401 - reads and writes Parquet
except ImportError:
    sys.exit("this example needs pandas and pyarrow: pip install pandas 'defrag[parquet]'")

folder = Path(tempfile.mkdtemp())
data = load_dataset("debian")
texts, labels = data.texts("train", 5000)
pd.DataFrame({"text": texts, "labels": labels}).to_parquet(folder / "train.parquet")

texts, labels = read_texts(folder / "train.parquet")
model = TextClassifier(random_state=0).fit(texts, labels)

frame = pd.DataFrame({"text": data.texts("test", 1000)[0]})
names, scores = model.predict_topk(frame["text"].tolist(), k=3)
frame["best"], frame["score"] = names[:, 0], scores[:, 0].round(2)
frame["labels"] = model.predict(frame["text"].tolist(), threshold=0.5)
frame.to_parquet(folder / "tagged.parquet")

print(frame[["best", "score"]].head(3).to_string())
print(f"{(frame['labels'].str.len() > 0).mean():.0%} of {len(frame):,} texts have a label")
