"""What ``make torture`` tries; every batch of a scenario is the same for the same number."""

import random

import numpy as np

from defrag.exceptions import ModelFormatError
from tests.contract.copies import check_threads
from tests.contract.subject import answers, check_answers, subjects
from tests.data import make_data, random_csr
from tests.fuzz import models, readers
from tests.fuzz.torture import Scenario
from tests.helpers import kill_savers


def texts(batch, _folder):
    """Parse broken texts and compare the results with those of the slow twin."""
    return 1000, readers.fuzz("matrices", 1000, batch)


def other_inputs(batch, _folder):
    """Read broken inputs of one reader after the other."""
    return 500, readers.fuzz(list(readers.READERS)[batch % len(readers.READERS)], 500, batch)


FILES = [*models.VARIANTS, *models.KINDS]


def model_files(batch, folder):
    """Load broken files of one kind after the other, and use what was loaded."""
    return 100, models.fuzz(folder, FILES[batch % len(FILES)], 100, batch)


def kills_while_saving(batch, folder):
    """Kill a process that saves; the file is the old or the new one."""
    kill_savers.kill(folder, 20, seed=batch)
    return 20, 0


def subject_of(batch):
    kinds = subjects()
    return kinds[batch % len(kinds)]


def threads_and_bits(batch, folder):
    """Fit with several numbers of threads: models and answers have the same bits."""
    subject, seed = subject_of(batch), batch // len(subjects())
    X, Y = make_data(n=60 + 40 * (seed % 3), d=31, n_labels=14, seed=seed)
    check_threads(subject.new(random_state=seed), X, Y, folder, numbers=(1, 2, 3, 4, 8))
    return 5, 0


def extreme_numbers(batch, _folder):
    """Fit on values of any size: the answers are finite, or the data are refused."""
    draw = random.Random(batch)  # noqa: S311 - repeatable
    X, Y = make_data(n=40, d=17, n_labels=9, seed=batch)
    X = X.astype(np.float32)
    scales = [draw.choice([1e-45, 1e-38, 1e-20, 1.0, 1e20, 1e38, -1e38]) for _ in range(X.nnz)]
    with np.errstate(all="ignore"):
        X.data = np.clip(X.data * np.float32(scales), -3.4e38, 3.4e38).astype(np.float32)
    try:
        check_answers(subject_of(batch).fit(X, Y), X[:6])
    except (ValueError, ModelFormatError) as error:
        return _refused(error)
    return 1, 0


def unusual_shapes(batch, _folder):
    """Fit on matrices of random shapes and densities, some of them empty."""
    draw = np.random.default_rng(batch)
    n_rows, n_features, n_labels = (int(draw.choice([1, 2, 3, 17, 40])) for _ in range(3))
    X, Y = (
        random_csr(n_rows, width, density=draw.choice([0.0, 0.1, 0.5, 1.0]), seed=draw)
        for width in (n_features, n_labels)
    )
    Y.data[:] = 1.0
    try:
        answers(subject_of(batch).fit(X, Y), X)
    except ValueError as error:
        return _refused(error)
    return 1, 0


def _refused(error):
    assert "\n" not in str(error)
    return 1, 1


SCENARIOS = {
    "texts": Scenario(texts, 1_000_000),
    "other inputs": Scenario(other_inputs, 100_000),
    "model files": Scenario(
        model_files, 5_000 * len(FILES), lambda batch: models.good(FILES[batch % len(FILES)])
    ),
    "kills while saving": Scenario(kills_while_saving, 1_000),
    "threads and bits": Scenario(threads_and_bits, 10_000),
    "extreme numbers": Scenario(extreme_numbers, 10_000),
    "unusual shapes": Scenario(unusual_shapes, 10_000),
}
