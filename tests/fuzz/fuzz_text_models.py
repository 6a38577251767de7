"""Load broken files of models of texts, and use what was loaded."""

import numpy as np

from tests.contract.subject import file_bytes
from tests.contract.text_subject import OTHER, STRANGE, ask
from tests.fuzz.fuzz_model_file import loaded, unsealed

TEXTS = [*OTHER[0][:2], *STRANGE[:9], "sort the matrix"]


def good(subject, folder):
    """Return the bytes of a small model."""
    return unsealed(file_bytes(subject.fit(OTHER), folder))


def is_model(path, data):
    """Load and use one file; tell whether it was a model."""
    model = loaded(path, data)
    if model is None:
        return False
    found, refusal = None, ""
    try:
        found = ask(model, TEXTS)
    except (ImportError, ValueError) as error:
        refusal = str(error)
    if found is None:  # a stemmer that does not exist, or features of extra
        assert refusal.startswith(("stemmer", "this model was trained with")), data
        return True
    assert found[0].shape[0] == len(TEXTS), data
    values = found[1] if len(found) == 2 else found[0].data
    assert np.isfinite(values).all(), data
    return True
