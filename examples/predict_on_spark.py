"""Predict a data set of any size on a Spark cluster, a table in and a table out.

spark-submit predict_on_spark.py MODEL INPUT OUTPUT   # without them, 1,000 bundled texts locally
"""

import os
import sys
import tempfile
from collections.abc import Iterator

from defrag import TextClassifier, load, load_dataset

try:
    import pandas as pd
    from pyspark.sql import SparkSession
except ImportError:
    sys.exit("this example needs pandas and Spark: pip install 'pandas<3' pyspark")

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
builder = SparkSession.builder
if len(sys.argv) > 1:
    MODEL, source, output = sys.argv[1:]  # a path that every node can read
else:
    folder = tempfile.mkdtemp()
    MODEL, source, output = (f"{folder}/{name}" for name in ("model.st", "texts", "predicted"))
    data = load_dataset("debian")
    TextClassifier(random_state=0).fit(*data.texts("train", 2000)).save(MODEL)
    pd.DataFrame({"text": data.texts("test", 1000)[0]}).to_parquet(source)
    local = {"driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1", "ui.enabled": "false"}
    builder = builder.master("local[2]")
    for name, value in local.items():
        builder = builder.config(f"spark.{name}", value)


def predict(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield the best labels of batches; the processes of a node share the memory of the model."""
    model = load(MODEL)
    for batch in batches:
        names, scores = model.predict_topk(batch["text"].tolist(), k=5)
        batch["labels"] = [[name for name in row if name] for row in names.tolist()]
        batch["scores"] = [row[: len(own)].tolist()
                           for row, own in zip(scores, batch["labels"], strict=True)]  # fmt: skip
        yield batch


spark = builder.getOrCreate()
table = spark.read.parquet(source)
columns = ", ".join(f"{name} {kind}" for name, kind in table.dtypes)
found = table.mapInPandas(predict, f"{columns}, labels array<string>, scores array<float>")
found.write.parquet(output)
print(f"{spark.read.parquet(output).where('size(labels) > 0').count():,} texts have labels")
spark.stop()
