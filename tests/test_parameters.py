"""Parameters are declared once: signature, docstring, rules and copies follow."""

from __future__ import annotations

import inspect
import pickle

import pytest
from sklearn.base import clone

from defrag._estimator import Estimator
from defrag._parameters import Choice, Int, OrAuto, fitted, param, parameters_of, rules_of


class Base(Estimator):
    """A base.

    Examples
    --------
    >>> Base()
    Base()
    """

    size: int = param(Int(1), "Number of items. More are slower.", default=3, kw_only=False)
    mode: str = param(Choice(("a", "b")), "The mode.", default="a")

    found_: list[int] = fitted("list of int", "What was found.")


class Derived(Base):
    """A derived class."""

    size: int = param(default=5)
    share: int | str = param(OrAuto(Int(0)), "A share.", default="auto")
    mode = "b"


def test_signature_has_own_then_inherited_then_run_parameters():
    assert str(inspect.signature(Derived)) == (
        "(size: 'int' = 5, *, share: 'int | str' = 'auto', n_jobs: 'int | None' = None)"
    )
    assert list(inspect.signature(Base).parameters) == ["size", "mode", "n_jobs"]


def test_class_attribute_fixes_inherited_parameter():
    assert Derived().mode == "b"
    with pytest.raises(TypeError, match="Derived: got an unexpected keyword argument 'mode'"):
        Derived(mode="a")


def test_docstring_has_sections_of_parameters_and_attributes_first():
    first, rest = inspect.getdoc(Base).split("\n\nExamples\n--------\n")
    assert rest.startswith(">>> Base()")
    lines = first.splitlines()
    assert "size : int, default=3" in lines
    assert "    Number of items. More are slower." in lines
    assert 'mode : {"a", "b"}, default="a"' in lines
    assert "n_jobs : int, optional" in lines
    assert lines[-2:] == ["found_ : list of int", "    What was found."]
    assert 'share : int or "auto", default="auto"' in inspect.getdoc(Derived).splitlines()


def test_rules_and_meanings_are_inherited():
    assert rules_of(Derived)["size"] == Int(1)
    assert parameters_of(Derived)["size"].doc == "Number of items. More are slower."
    with pytest.raises(ValueError, match=r"^size of Derived must be an int >= 1, got 0$"):
        Derived(0)._check_parameters()


def test_only_instances_have_parameters_and_fitted_attributes():
    assert not hasattr(Base, "size")
    assert not hasattr(Base(), "found_")


def test_copies_keep_parameters():
    model = Derived(2, share=4)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 - made here
        assert copy.get_params() == {"size": 2, "share": 4, "n_jobs": None}
