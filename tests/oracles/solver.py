"""Slow twins of the solver: one label at a time, float64, no dual and no shrinking."""

import numpy as np
from scipy.optimize import minimize


def objective(w, rows, y, *, loss, cost, offset):
    """Return the primal objective and its gradient; ``rows`` ends with the bias feature."""
    margins = y * (rows @ w + offset)
    if loss == "squared_hinge":
        slack = np.maximum(0.0, 1.0 - margins)
        values, slopes = slack**2, -2.0 * slack
    else:
        values = np.logaddexp(0.0, -margins)
        slopes = -1.0 / (1.0 + np.exp(margins))
    return 0.5 * w @ w + cost * values.sum(), w + cost * rows.T @ (y * slopes)


def minimum(X, positive, *, loss="squared_hinge", cost=1.0, bias=1.0, offset=False):
    """Minimise the objective of one label; gives the value, the weights and the bias."""
    X = np.asarray(X, dtype=np.float64)
    rows = np.hstack([X, np.full((len(X), 1), bias)])
    y = np.where(positive, 1.0, -1.0)
    fixed = 2.0 * np.mean(positive) - 1.0 if offset else 0.0
    problem = {"loss": loss, "cost": cost, "offset": fixed}
    found = minimize(
        lambda w: objective(w, rows, y, **problem), np.zeros(rows.shape[1]), jac=True,
        method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    return found.fun, found.x[:-1], bias * found.x[-1] + fixed
