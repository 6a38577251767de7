"""All checks of the contract: the functions of its modules that take a subject and a folder.

The folder is empty.
"""

import inspect

import pytest

from tests.contract import copies, explanations, hostile, inputs, names, refits, threads
from tests.contract.subject import TextSubject


def checks_in(*modules):
    """Return the checks of some modules; none can be forgotten in a list."""
    return [
        one
        for module in modules
        for one in vars(module).values()
        if inspect.isfunction(one)
        and one.__module__ == module.__name__
        and [*inspect.signature(one).parameters][:-1] == ["subject"]
    ]


def checks_of(subject):
    of_all = checks_in(copies, refits, threads)
    if isinstance(subject, TextSubject):
        return of_all
    own = checks_in(explanations, names) if subject.classifies else []
    return [*of_all, *checks_in(inputs, hostile), *own]


def marks_of(check):
    if check in checks_in(hostile):
        return pytest.mark.slow, pytest.mark.sanitize
    return (pytest.mark.slow,) if check is refits.an_interrupt_changes_nothing else ()


def pairs(subjects):
    """Return each subject with each of its checks, as parameters of a test."""
    return [
        pytest.param(subject, one, id=f"{one.__name__}-{subject}", marks=marks_of(one))
        for subject in subjects
        for one in checks_of(subject)
    ]
