"""All checks of the contract; each takes a subject and an empty folder."""

import pytest

from tests.contract import copies, explanations, hostile, inputs, names, refits, threads
from tests.contract.subject import TextSubject

OF_CLASSIFIERS = [*inputs.OF_CLASSIFIERS, *explanations.CHECKS, *names.CHECKS]
SLOW = [*refits.SLOW_CHECKS, *hostile.SLOW_CHECKS]


def checks_of(subject):
    """Return the checks that a subject must pass."""
    of_all = [*copies.CHECKS, *refits.CHECKS, *threads.CHECKS, *refits.SLOW_CHECKS]
    if isinstance(subject, TextSubject):
        return of_all
    own = OF_CLASSIFIERS if subject.classifies else []
    return [*of_all, *inputs.CHECKS, *own, *hostile.SLOW_CHECKS]


def pairs(subjects):
    """Return each subject with each of its checks, as parameters of a test."""
    return [
        pytest.param(
            subject,
            check,
            id=f"{check.__name__}-{subject}",
            marks=[pytest.mark.slow] * (check in SLOW)
            + [pytest.mark.sanitize] * (check in hostile.SLOW_CHECKS),
        )
        for subject in subjects
        for check in checks_of(subject)
    ]
