"""Model files taken apart, so that a test can break one rule and put them together again."""

import json

import numpy as np
import pytest
from sklearn.base import clone

from defrag import Agglomerated, Defrag, DiSMEC, Fiat, Imputed, LabelTree, Refrag, load
from defrag.agglomeration import Hybrid
from defrag.baselines import CRAFTML, LEML, LPSR, SLEEC, FastXML, Parabel, PfastreXML
from defrag.exceptions import ModelFormatError

RNG = np.random.default_rng(0)
X = np.float32(RNG.integers(1, 9, (30, 12)) * (RNG.random((30, 12)) < 0.4))
X[0] += 1  # every feature occurs
Y = [[i % 7, 7 + i % 3] for i in range(30)]
INDICATOR = np.zeros((30, 11), dtype=int)  # the last label has no points
for _row, _labels in enumerate(Y):
    INDICATOR[_row, _labels] = 1
LETTERS = np.array(["a", "bc", "ä🙂"])[np.arange(30) % 3]


def small(estimator, *arguments, **settings):
    """Return a function that fits a small model, with other settings where given."""

    def fit(**parameters):
        own = {"random_state": 0, **settings, **parameters}
        return clone(estimator(*arguments, **own)).fit(X, Y)

    return fit


# 12 features in 8 groups: a tree of 15 nodes, a scale, no names.
small_defrag = small(Defrag, max_cluster_size=2, sample_points=1.0, scale="energy")
# 12 features in 4 groups: two singletons and two buckets, no tree.
small_hybrid = small(Hybrid, n_clusters=4)
# A tree of 10 labels: a root of 3 children, two of which have 2, leaves of 2.
small_label_tree = small(LabelTree, max_leaf_size=2, arity=2, root_arity=3, hard_negatives=False)
# 10 flat classifiers; every one has a weight for most of the 12 features.
small_dismec = small(DiSMEC)
# Factors of rank 3 for 12 features and 10 labels.
small_leml = small(LEML, n_components=3)
# One learner of two clusters, with vectors of length 2.
small_sleec = small(SLEEC, 1, cluster_size=15, n_components=2, n_neighbors=3)
# Two clusters of at most three labels over flat classifiers.
small_lpsr = small(LPSR, DiSMEC(), cluster_size=15, labels_per_cluster=3)
# Two trees over 30 points; all inner nodes have separators of several features.
small_forest = small(FastXML, n_trees=2, max_leaf_size=8, C=9.0)
# The same two trees with propensities and prototypes of at most five entries.
small_pfastrexml = small(PfastreXML, 2, max_leaf_size=8, C=9.0, prototype_entries=5)
# Two trees over hashed features; the roots have three children.
small_craftml = small(CRAFTML, 2, arity=3, max_leaf_size=8, n_buckets=40)
# Two pairs of a clustering in 4 groups and one tree.
small_agglomerated = small(
    Agglomerated,
    base=LabelTree(2, max_leaf_size=4, weight_threshold=0.2),
    agglomeration=Hybrid(n_clusters=4),
)
# Two trees whose labels are re-ranked, with a trade-off unless parameters are given.
small_refrag = small(Refrag, base=Parabel(2, max_leaf_size=4))


def small_imputed(**parameters):
    """Fit two trees whose rows are imputed by groups of three features, or as given."""
    groups = {} if parameters else {"agglomeration": Defrag(max_cluster_size=3, sample_points=1.0)}
    base = Parabel(2, max_leaf_size=4)
    return Imputed(base, Fiat(**groups, **parameters), random_state=0).fit(X, Y)


# A tree whose labels are re-ranked, with a trade-off, and whose rows are imputed.
small_rare = small(
    Imputed,
    Refrag(LabelTree(max_leaf_size=4), gamma=4.0, prototype_entries=3),
    Fiat(agglomeration=Defrag(), n_clusterings=1),
)


class Draft:
    """A file in its pieces: ``description``, ``header`` and ``payload``."""

    def __init__(self, data):
        length = int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8 : 8 + length])
        self.written = self.header.pop("__metadata__")
        self.description = json.loads(self.written["description"])
        self.payload = bytearray(data[8 + length :])
        self.metadata = None

    @property
    def model(self):
        return self.description["model"]

    def array(self, name):
        """Return a view that writes through to the payload."""
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        dtype = f"{entry['dtype'][0].lower()}{int(entry['dtype'][1:]) // 8}"
        return np.frombuffer(
            self.payload, dtype, offset=begin, count=(end - begin) // int(dtype[1])
        )

    def put(self, name, array):
        """Replace or add an array, or remove it if it is None; the file stays well formed."""
        arrays = {key: (entry, self.array(key).tobytes()) for key, entry in self.header.items()}
        arrays.pop(name, None)
        if array is not None:
            code = {"f": "F", "i": "I", "u": "U"}[array.dtype.kind] + str(array.itemsize * 8)
            arrays[name] = ({"dtype": code, "shape": list(array.shape)}, array.tobytes())
        self.payload, self.header = bytearray(), {}
        for key, (entry, data) in sorted(
            arrays.items(), key=lambda item: -int(item[1][0]["dtype"][1:])
        ):
            offset = len(self.payload)
            self.header[key] = {**entry, "data_offsets": [offset, offset + len(data)]}
            self.payload += data

    def to_bytes(self):
        description = self.description
        if not isinstance(description, str):
            description = json.dumps(description)
        metadata = {"description": description} if self.metadata is None else self.metadata
        text = json.dumps({"__metadata__": metadata, **self.header}).encode()
        return assemble(text, bytes(self.payload))


def assemble(text, payload=b"", length=None):
    """Put a header and a payload together; ``length`` lies about the header."""
    if length is None:
        text += b" " * (-len(text) % 8)
        length = len(text)
    return length.to_bytes(8, "little") + text + payload


# What may be wrong in a file: functions that change a draft.


def inside(place, **changes):
    """Change entries of the model, or of what is inside it, such as ``children/trees/0/state``."""

    def change(draft):
        found = draft.model
        for name in filter(None, place.split("/")):
            found = found[int(name)] if isinstance(found, list) else found[name]
        found.update(changes)

    return change


def item(name, index, value):
    """Change an item of an array."""
    return lambda draft: draft.array(name).__setitem__(index, value)


def put(name, array):
    """Replace an array, add it, remove it (None), or put there what a function makes of it."""
    return lambda draft: draft.put(
        name, array(draft.array(name).copy()) if callable(array) else array
    )


def refuse(tmp_path, data, change, message):
    """Change a file, which must then be refused in one line that names it."""
    draft = Draft(data)
    change(draft)
    path = tmp_path / "bad.safetensors"
    path.write_bytes(draft.to_bytes())
    with pytest.raises(ModelFormatError, match=message) as caught:
        load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.isprintable()
