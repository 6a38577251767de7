"""Docstrings name the parameters that signatures have, in their order."""

import inspect
from dataclasses import is_dataclass

import pytest
from numpydoc.docscrape import NumpyDocString

import defrag
from defrag import io, metrics

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (defrag, io, metrics)
    for name in module.__all__
    if callable(getattr(module, name)) and not inspect.ismodule(getattr(module, name))
}


REFERRING = {
    "defrag.classifiers.pipeline.TopKPipeline",
    "defrag.metrics.ndcg",
    "defrag.metrics.recall",
}
"""Those whose docstring refers to that of another."""


def documented(thing):
    """Return the names in the section of parameters; results have one of attributes instead."""
    text = NumpyDocString(inspect.cleandoc(thing.__doc__ or ""))
    sections = text["Parameters"] or (text["Attributes"] if is_dataclass(thing) else [])
    return [name.strip(" *") for one in sections for name in one.name.split(",")]


def methods_of(cls):
    """Yield the public methods that are defined in this library."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("defrag"):
            yield name, method


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_are_documented(name):
    thing = PUBLIC[name]
    is_tuple = inspect.isclass(thing) and issubclass(thing, tuple)  # its fields say all
    checked = {} if is_tuple or name in REFERRING else {name: thing}
    if inspect.isclass(thing):
        methods = ((f"{name}.{one}", method) for one, method in methods_of(thing))
        checked |= {one: method for one, method in methods if documented(method)}
    for where, one in checked.items():
        signature = [word for word in inspect.signature(one).parameters if word != "self"]
        assert documented(one) == signature, where
