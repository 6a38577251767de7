"""The bits of models do not depend on the processor, except where BLAS is kept."""

import platform

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from defrag.imputation import _fit_odds
from tests.helpers.processes import run_python

BLAS_IS_KEPT = {"SLEEC", "LEML"}  # docs/decisions/001-same-bits.md
PROGRAM = """
import hashlib
from defrag import registry
from defrag.persistence import pack
from tests.data import make_data
X, Y = make_data()
for entry in registry.entries("classifier", "composite", "imputation", "focus", "clustering"):
    model = entry.estimator()(random_state=0).fit(X, Y)
    arrays = pack(model)
    found = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays)))
    print(entry.name, found.hexdigest())
"""


def digests_on(processor):
    """Return the digest of each estimator with the OpenBLAS kernels of a processor."""
    said = run_python("-W", "ignore", "-c", PROGRAM, OPENBLAS_CORETYPE=processor)
    return dict(line.split() for line in said.splitlines())


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names are of x86-64 processors")
def test_models_have_the_same_bits_on_other_processors():
    haswell, prescott = digests_on("Haswell"), digests_on("Prescott")
    assert len(haswell) > 20
    different = {name for name in haswell if haswell[name] != prescott[name]}
    assert different <= BLAS_IS_KEPT


@pytest.mark.parametrize("seed", range(8))
def test_odds_are_the_logistic_regression_of_scikit_learn(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 200))
    predictors = draw.normal(size=(n, 2)) * draw.choice([0.01, 1, 12], 2) + draw.choice([0, 8])
    kept = draw.random(n) < 0.5
    weights = draw.choice([0.02, 1, 10]) * (np.stack([kept, ~kept], axis=1) + 1e-3)
    expected = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=500)
    expected.fit(np.tile(predictors, (2, 1)), np.repeat([0, 1], n), weights.T.ravel())
    found = _fit_odds(predictors, weights)
    assert found == pytest.approx([*expected.intercept_, *expected.coef_.ravel()], abs=1e-6)
