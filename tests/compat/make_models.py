"""Store small models of every kind, with an input and its output, for later versions to load.

Run once per release: ``python tests/compat/make_models.py tests/compat/0.1.0``. What a
release has stored is never made again.
"""

import sys
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag import LabelTree, Refrag, TextClassifier, TextVectorizer, load
from tests.contract.subject import subjects


def models(X):
    """Yield a name, which begins with the kind, a fitted model, and how it is saved."""
    Y = [[i % 7, 7 + i % 4] for i in range(len(X))]
    for subject in subjects():
        model = subject.fit(X, Y, random_state=0)
        yield subject.entry.kind, model, {}
        if subject.entry.role == "classifier":
            yield f"{subject.entry.kind}-int8", model, {"weights": "int8"}
    label_names, vocabulary = [f"label {i}" for i in range(11)], [f"wörd {i}" for i in range(16)]
    trees = LabelTree(2, max_leaf_size=2, arity=3, root_arity=2, random_state=0)
    names = {"label_names": label_names, "vocabulary": vocabulary}
    yield "label_tree-with-names", trees.fit(X, Y), names
    for weights in ("float16", "int4"):
        yield f"label_tree-{weights}", trees, {"weights": weights}
    named = [[f"lábel {j}" for j in row] for row in Y]
    yield "label_tree-named", LabelTree(max_leaf_size=3, random_state=0).fit(X, named), {}
    classes = np.array(["ant", "bee", "cät"])[np.arange(len(X)) % 3]
    yield "label_tree-classes", trees.fit(X, classes), {}
    fixed = Refrag(trees, gamma=4.0, propensity_weight=0.5, random_state=0)
    yield "refrag-fixed", fixed.fit(X, Y), {}
    texts = texts_of(X)
    yield "text_vectorizer", TextVectorizer(2).fit(texts), {}
    model = TextClassifier(trees, TextVectorizer(2), random_state=0)
    yield "text_classifier", model.fit(texts, [[f"é{i}" for i in row] for row in Y]), {}


def texts_of(X):
    """Return texts that have the features of the rows as words."""
    return [" ".join(f"wörd{j}" for j in np.flatnonzero(row)) for row in X]


def main(folder):
    """Write the files; refuse to replace any."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    X = np.float32(rng.integers(1, 9, (40, 16)) * (rng.random((40, 16)) < 0.3))
    for name, model, options in models(X):
        path = folder / f"{name}.safetensors"
        if path.exists():
            sys.stderr.write(f"{path} exists\n")
            continue
        model.save(path, **options)
        loaded = load(path)  # with the weights of the file
        given = np.array(texts_of(X[:5])) if name.startswith("text") else X[:5]
        if hasattr(loaded, "transform"):
            output = {"output": dense(loaded.transform(given))}
        else:
            labels, scores = loaded.predict_topk(given, k=4)
            names = labels.astype(str) if labels.dtype == object else labels
            output = {"labels": names, "scores": scores}
            if name.endswith("-named"):
                output["names"] = loaded.predict_topk(given, k=4, names=True)[0].astype(str)
        np.savez(path.with_suffix(".npz"), input=given, **output)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


if __name__ == "__main__":
    main(Path(sys.argv[1]))
