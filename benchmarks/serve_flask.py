"""A plain server: a pickled pipeline of scikit-learn behind Flask, as tutorials show it."""

from __future__ import annotations

import json
import pickle
import sys
from collections import Counter
from pathlib import Path

import numpy as np

LABELS = 500
TEXTS = 5000


def train(data: str, model: str) -> None:
    """Train one logistic regression per label, on the most frequent labels and some texts.

    All 59,614 labels would take hours, and tens of gigabytes of dense weights.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - of training alone
    from sklearn.linear_model import SGDClassifier  # noqa: PLC0415 - as above
    from sklearn.multiclass import OneVsRestClassifier  # noqa: PLC0415 - as above
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415 - as above
    from sklearn.preprocessing import MultiLabelBinarizer  # noqa: PLC0415 - as above

    texts, labels = json.loads(Path(data).read_text(encoding="utf-8"))
    texts, labels = texts[:TEXTS], labels[:TEXTS]
    counts = Counter(name for row in labels for name in row)
    kept = {name for name, _ in counts.most_common(LABELS)}
    binarizer = MultiLabelBinarizer(classes=sorted(kept), sparse_output=True)
    Y = binarizer.fit_transform([[name for name in row if name in kept] for row in labels])
    base = SGDClassifier(loss="log_loss", max_iter=5, tol=None, random_state=0)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    pipeline = make_pipeline(vectorizer, OneVsRestClassifier(base)).fit(texts, Y)
    Path(model).write_bytes(pickle.dumps((pipeline, binarizer.classes_)))


def serve(model: str) -> None:
    """Serve it with the server that Flask brings: one process with threads."""
    from flask import Flask, jsonify, request  # noqa: PLC0415 - the peer
    from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415 - as above

    pipeline, names = pickle.loads(Path(model).read_bytes())  # noqa: S301 - written above
    app = Flask(__name__)

    @app.post("/v1/suggest")
    def suggest():  # noqa: ANN202 - as tutorials show it
        asked = request.get_json()
        scores = pipeline.predict_proba([asked["text"]])[0]
        best = np.argsort(-scores)[: asked["k"]]
        return jsonify(labels=[{"label": names[i], "score": float(scores[i])} for i in best])

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept alive, as ours are

        def log_request(self, *_: object) -> None:
            """Log nothing."""

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    {"train": train, "serve": serve}[sys.argv[1]](*sys.argv[2:])
