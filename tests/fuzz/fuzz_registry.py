"""Load broken files of every kind of model in the registry, and use what was loaded."""

import numpy as np
from scipy import sparse

from tests.contract.subject import file_bytes, small_data
from tests.fuzz.fuzz_model_file import loaded, unsealed

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
