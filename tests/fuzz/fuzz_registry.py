"""Load broken files of every kind of model in the registry, and use what was loaded."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from tests.contract.subject import file_bytes, small_data, subjects
from tests.fuzz.fuzz_model_file import inputs, loaded, unsealed

N_ROWS = 6
MOST_LABELS = 1000


def good(subject, folder):
    """Return the bytes of a small model."""
    return unsealed(file_bytes(subject.fitted(), folder))


def is_model(path, data):
    """Load and use one file; tell whether it was a model."""
    model = loaded(path, data)
    if model is None:
        return False
    _use(model, data)
    return True


def _use(model, data):
    """Ask about a few points; a file may say that there are billions of features."""
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_  # or a plain matrix would raise a warning
    rows = small_data()[0][1 : N_ROWS + 1]
    rows = sparse.csr_array(rows[:, : min(rows.shape[1], model.n_features_in_)])
    rows.resize((N_ROWS, model.n_features_in_))
    if not hasattr(model, "predict_topk"):
        found = model.transform(rows)
        assert found.shape[0] == N_ROWS, data
        assert np.isfinite(found.data).all(), data
        return
    labels, scores = model.predict_topk(rows, k=3)
    assert labels.shape == scores.shape == (N_ROWS, min(3, model.n_labels_)), data
    assert np.isfinite(scores).all(), data
    assert labels.max(initial=-1) < model.n_labels_, data
    if model.n_labels_ <= MOST_LABELS:
        assert model.predict(rows).shape[0] == N_ROWS, data


def fuzz(folder, n_inputs, seed=0):
    """Load n broken files of each kind; yield the kind and how many of them were refused."""
    folder = Path(folder)
    for subject in subjects():
        data = good(subject, folder)
        assert is_model(folder / "x", data)
        broken = inputs([data], n_inputs, f"{seed} {subject}")
        yield str(subject), sum(not is_model(folder / "x", data) for data in broken)


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=5_000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for kind, n_refused in fuzz(folder, options.inputs, options.seed):
            sys.stdout.write(f"{kind}: {options.inputs} files, {n_refused} refused\n")
            sys.stdout.flush()
    sys.stdout.write(f"{time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
