"""Errors while a matrix is taken from Python."""

from __future__ import annotations

import numpy as np
import pytest

from defrag import _core


class Matrix:
    def __init__(self, error):
        self.error = error

    @property
    def shape(self):
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RuntimeError("odd")])
def test_an_error_inside_an_attribute_is_that_error(error):
    with pytest.raises(type(error)) as found:
        _core.sparse_dense(Matrix(error), np.zeros((2, 2), np.float32), n_threads=1)
    assert found.value is error


@pytest.mark.parametrize("thing", [Matrix(AttributeError("shape")), None, 3, np.zeros((2, 2))])
def test_what_is_no_matrix_is_a_type_error(thing):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.sparse_dense(thing, np.zeros((2, 2), np.float32), n_threads=1)
