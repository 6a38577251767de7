"""Store small models of every kind, with an input and its output, for later versions to load.

Run once per release: ``python tests/compat/make_models.py tests/compat/0.1.0``. What a
release has stored is never made again.
"""

import sys
from pathlib import Path

import numpy as np
from scipy import sparse

from defrag import (
    Agglomerated,
    Defrag,
    DiSMEC,
    Fiat,
    Focus,
    Focused,
    Imputed,
    LabelTree,
    Refrag,
    TextClassifier,
    TextVectorizer,
    load,
)
from defrag.agglomeration import Hybrid, Tight
from defrag.baselines import (
    BCLS,
    CRAFTML,
    ITDC,
    LEML,
    LPSR,
    LSC,
    PLT,
    SCBC,
    SLEEC,
    AnnexML,
    Bonsai,
    FastXML,
    HashGroups,
    Parabel,
    PfastreXML,
    PPDSparse,
    ProXML,
    RandomGroups,
    TopFeatures,
)


def models(X):
    """Yield the kind, the fitted model, and how it is saved."""
    yield "defrag", Defrag(max_cluster_size=3, sample_points=1.0, random_state=0).fit(X), {}
    yield "hybrid", Hybrid(n_clusters=6, random_state=0).fit(X), {}
    yield "tight", Tight(0.5, random_state=0).fit(X), {}
    Y = [[i % 7, 7 + i % 4] for i in range(len(X))]
    trees = LabelTree(2, max_leaf_size=2, arity=3, root_arity=2, random_state=0).fit(X, Y)
    names = {
        "label_names": [f"label {i}" for i in range(11)],
        "vocabulary": [f"wörd {i}" for i in range(16)],
    }
    yield "label_tree", trees, names
    yield "label_tree-float16", trees, {"weights": "float16"}
    yield "label_tree-int8", trees, {"weights": "int8"}
    yield "label_tree-int4", trees, {"weights": "int4"}
    named = [[f"lábel {j}" for j in row] for row in Y]
    yield "label_tree-named", LabelTree(max_leaf_size=3, random_state=0).fit(X, named), {}
    classes = np.array(["ant", "bee", "cät"])[np.arange(len(X)) % 3]
    yield "parabel", Parabel(max_leaf_size=1, random_state=0).fit(X, classes), {}
    yield "bonsai", Bonsai(arity=2, random_state=0).fit(X, classes), {}
    yield "plt", PLT(max_leaf_size=1, random_state=0).fit(X, classes), {}
    flat = DiSMEC(random_state=0).fit(X, Y)
    yield "dismec", flat, {}
    yield "dismec-int8", flat, {"weights": "int8"}
    few = {"n_clusters": 6, "random_state": 0}
    yield "itdc", ITDC(**few).fit(X, Y), {}
    yield "scbc", SCBC(**few).fit(X), {}
    yield "lsc", LSC(**few).fit(X), {}
    yield "bcls", BCLS(**few, max_iter=50).fit(X), {}
    yield "random_groups", RandomGroups(**few).fit(X), {}
    yield "hash_groups", HashGroups(**few).fit(X), {}
    yield "top_features", TopFeatures(**few).fit(X), {}
    yield "ppd_sparse", PPDSparse(random_state=0).fit(X, Y), {}
    yield "proxml", ProXML(solution="minimum").fit(X, Y), {}
    low_rank = LEML(5, random_state=0).fit(X, Y)
    yield "leml", low_rank, {}
    few = {"cluster_size": 20, "n_components": 4, "n_neighbors": 5, "random_state": 0}
    yield "sleec", SLEEC(2, **few).fit(X, Y), {}
    yield "annexml", AnnexML(2, **few).fit(X, Y), {}
    yield "leml-int8", low_rank, {"weights": "int8"}
    short = LPSR(DiSMEC(), cluster_size=20, labels_per_cluster=5, random_state=0)
    yield "lpsr", short.fit(X, Y), {}
    forest = FastXML(4, max_leaf_size=4, C=9.0, random_state=0).fit(X, Y)
    yield "fastxml", forest, {}
    yield "fastxml-int8", forest, {"weights": "int8"}
    rare = PfastreXML(4, max_leaf_size=4, C=9.0, random_state=0).fit(X, Y)
    yield "pfastrexml", rare, {}
    yield "pfastrexml-int8", rare, {"weights": "int8"}
    hashed = CRAFTML(4, arity=3, max_leaf_size=4, n_buckets=50, random_state=0).fit(X, Y)
    yield "craftml", hashed, {}
    yield "craftml-int8", hashed, {"weights": "int8"}
    base = Parabel(n_trees=2, max_leaf_size=3)
    yield "agglomerated", Agglomerated(base, Hybrid(n_clusters=6), random_state=0).fit(X, Y), {}
    fiat = Fiat(agglomeration=Defrag(max_cluster_size=4))
    yield "fiat", fiat.set_params(random_state=0).fit(X), {}
    yield "refrag", Refrag(base, gamma=4.0, random_state=0).fit(X, Y), {}
    focus = Focus(1.0)
    yield "focus", focus.set_params(random_state=0).fit(X, Y), {}
    yield "focused", Focused(base, focus, random_state=0).fit(X, Y), {}
    texts = texts_of(X)
    yield "text_vectorizer", TextVectorizer(2).fit(texts), {}
    text = TextClassifier(base, TextVectorizer(2), random_state=0)
    yield "text_classifier", text.fit(texts, [[f"é{i}" for i in row] for row in Y]), {}
    yield "imputed", Imputed(base, Fiat(companions=4), random_state=0).fit(X, Y), {}


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
    """Return a matrix that may be sparse as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


if __name__ == "__main__":
    main(Path(sys.argv[1]))
