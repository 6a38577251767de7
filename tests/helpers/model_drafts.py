"""Model files taken apart, so that a test can break one rule and put them together again."""

import json

import numpy as np
import pytest

from defrag import Agglomerated, Defrag, DiSMEC, Fiat, Imputed, LabelTree, Refrag, load
from defrag.agglomeration import Hybrid
from defrag.baselines import CRAFTML, LEML, LPSR, SLEEC, FastXML, Parabel, PfastreXML
from defrag.exceptions import ModelFormatError

RNG = np.random.default_rng(0)
X = np.float32(RNG.integers(1, 9, (30, 12)) * (RNG.random((30, 12)) < 0.4))
X[0] += 1  # every feature occurs


def small_defrag(**parameters):
    """Fit 12 features in 8 groups: a tree of 15 nodes, a scale, no names."""
    settings = {"max_cluster_size": 2, "sample_points": 1.0, "scale": "energy", "random_state": 0}
    return Defrag(**{**settings, **parameters}).fit(X)


def small_hybrid(**parameters):
    """Fit 12 features in 4 groups: two singletons and two buckets, no tree."""
    return Hybrid(**{"n_clusters": 4, "random_state": 0, **parameters}).fit(X)


Y = [[i % 7, 7 + i % 3] for i in range(30)]
INDICATOR = np.zeros((30, 11), dtype=int)  # the last label has no points
for _row, _labels in enumerate(Y):
    INDICATOR[_row, _labels] = 1
LETTERS = np.array(["a", "bc", "ä🙂"])[np.arange(30) % 3]


def small_label_tree(**parameters):
    """Fit a tree of 10 labels: a root of 3 children, two of which have 2, leaves of 2."""
    settings = {"max_leaf_size": 2, "arity": 2, "root_arity": 3, "random_state": 0}
    settings["hard_negatives"] = False
    return LabelTree(**{**settings, **parameters}).fit(X, Y)


def small_dismec(**parameters):
    """Fit 10 flat classifiers; every one has a weight for most of the 12 features."""
    return DiSMEC(**{"random_state": 0, **parameters}).fit(X, Y)


def small_leml(**parameters):
    """Fit factors of rank 3 for 12 features and 10 labels."""
    return LEML(**{"n_components": 3, "random_state": 0, **parameters}).fit(X, Y)


def small_sleec(**parameters):
    """Fit one learner of two clusters, with vectors of length 2."""
    settings = {"cluster_size": 15, "n_components": 2, "n_neighbors": 3, "random_state": 0}
    return SLEEC(1, **{**settings, **parameters}).fit(X, Y)


def small_lpsr(**parameters):
    """Fit two clusters of at most three labels over flat classifiers."""
    settings = {"cluster_size": 15, "labels_per_cluster": 3, "random_state": 0}
    return LPSR(DiSMEC(), **{**settings, **parameters}).fit(X, Y)


def small_forest(**parameters):
    """Fit two trees over 30 points; all inner nodes have separators of several features."""
    return FastXML(
        **{"n_trees": 2, "max_leaf_size": 8, "C": 9.0, "random_state": 0, **parameters}
    ).fit(X, Y)


def small_pfastrexml(**parameters):
    """Fit the same two trees with propensities and prototypes of at most five entries."""
    settings = {"max_leaf_size": 8, "C": 9.0, "prototype_entries": 5, "random_state": 0}
    return PfastreXML(2, **{**settings, **parameters}).fit(X, Y)


def small_craftml(**parameters):
    """Fit two trees over hashed features; the roots have three children."""
    settings = {"arity": 3, "max_leaf_size": 8, "n_buckets": 40, "random_state": 0}
    return CRAFTML(2, **{**settings, **parameters}).fit(X, Y)


def small_agglomerated(**parameters):
    """Fit two pairs of a clustering in 4 groups and one tree."""
    base = LabelTree(2, max_leaf_size=4, weight_threshold=0.2)
    settings = {"base": base, "agglomeration": Hybrid(n_clusters=4), "random_state": 0}
    return Agglomerated(**{**settings, **parameters}).fit(X, Y)


def small_refrag(**parameters):
    """Fit two trees whose labels are re-ranked, with a trade-off unless parameters are given."""
    settings = {"base": Parabel(2, max_leaf_size=4), "random_state": 0}
    return Refrag(**{**settings, **parameters}).fit(X, Y)


def small_imputed(**parameters):
    """Fit two trees whose rows are imputed by groups of three features, or as given."""
    groups = {} if parameters else {"agglomeration": Defrag(max_cluster_size=3, sample_points=1.0)}
    base = Parabel(2, max_leaf_size=4)
    return Imputed(base, Fiat(**groups, **parameters), random_state=0).fit(X, Y)


def small_rare():
    """Fit a tree whose labels are re-ranked, with a trade-off, and whose rows are imputed."""
    base = Refrag(LabelTree(max_leaf_size=4), gamma=4.0, prototype_entries=3)
    return Imputed(base, Fiat(agglomeration=Defrag(), n_clusterings=1), random_state=0).fit(X, Y)


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
    """Change entries of ``parameters`` or ``state``."""
    return lambda draft: draft.model[place].update(changes)


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
