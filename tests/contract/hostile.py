"""Checks: values that no user means, set on a fitted estimator, and what it does then."""

import contextlib
import reprlib

import numpy as np
from scipy import sparse

from tests.contract.subject import answers, check_answers, small_data
from tests.helpers.processes import SANITIZED, run_in_child

VALUES = [
    None, True, False, 0, 1, 2, -1, 3.5, -0.5, 2**31 - 1, 2**31, 2**32, 2**63, -(2**63), 10**30,
    1e308, 1e-308, float("nan"), float("inf"), "", "x", "auto", "exact", "mean", "energy",
    b"x", [], [0], {}, np.int8(-1), np.float32("nan"), np.zeros(0), np.array([1, 2]),
]  # fmt: skip

# A sanitizer fills the memory that 2**31 labels ask for, which takes minutes; a million labels are
# as far outside the arrays.
LEARNT = [None, 0, 1, -1, 1_000_000, np.array([1, 2])] if SANITIZED else VALUES


def hostile_parameters_are_refused_or_harmless(subject, folder):
    """Check that a fitted estimator with any parameter answers rightly or raises ValueError."""
    assert len(run_in_child(_try_parameters, subject, folder, seconds=300)) > 100


def _try_parameters(step, subject, folder):
    X = small_data()[0][:6]
    model = subject.fitted()
    path = folder / "hostile.safetensors"
    for name in model.get_params(deep=False):
        for value in VALUES:
            changed = subject.fitted()
            setattr(changed, name, value)
            step(f"{name}={value!r}")
            with contextlib.suppress(ValueError):
                check_answers(changed, X)
            step(f"save with {name}={value!r}")
            with contextlib.suppress(ValueError, TypeError):  # a part that is no estimator
                changed.save(path)


def hostile_attributes_never_crash(subject, folder):
    """Check that whatever is done to what was learnt, Python survives."""
    assert len(run_in_child(_try_attributes, subject, folder, seconds=300)) > 30


def _try_attributes(step, subject, folder):
    X = small_data()[0][:6]
    wide = sparse.csr_array(np.eye(6, 1000, k=994, dtype=np.float32))
    path = folder / "hostile.safetensors"
    learnt = {name: value for name, value in vars(subject.fitted()).items()
              if name.endswith("_") and not name.startswith("_")}  # fmt: skip
    for name, known in learnt.items():
        for value in [*LEARNT, *_like(known)]:
            changed = subject.fitted()
            setattr(changed, name, value)
            for what, ask in (
                ("answers", lambda model: answers(model, X)),
                ("answers wide", lambda model: answers(model, wide)),
                ("save", lambda model: model.save(path)),
            ):
                step(f"{what} with {name}={reprlib.repr(value)!r}")
                try:
                    ask(changed)
                except Exception as error:  # noqa: BLE001 - any exception is no crash
                    assert not isinstance(error, SystemError), error  # noqa: PT017


def _like(value):
    """Yield arrays of the type of a learnt one, with other sizes and with values out of range."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        yield from (value[:1], value[:0], np.tile(value, 3))
        yield from (value.astype(np.float64), value.reshape(1, -1))
        if value.dtype.kind == "f":
            yield np.full_like(value, np.nan)
        else:
            info = np.iinfo(value.dtype)
            yield from (np.full_like(value, one) for one in (info.max, info.min, 1_000_000))
    if sparse.issparse(value):
        for shape in ((1, 1), value.shape[::-1]):
            yield sparse.csr_array(shape, dtype=np.float32)
        for part, places, wrong in (("indices", slice(None), 2**31 - 1), ("indptr", -1, 2**30)):
            outside = sparse.csr_array(value.copy())
            getattr(outside, part)[places] = wrong
            yield outside
