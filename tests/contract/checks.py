"""All checks of the contract; each takes a subject and an empty folder."""

from tests.contract import copies, explanations, hostile, inputs, names, refits, shapes, threads

OF_ALL = [*copies.CHECKS, *refits.CHECKS, *threads.CHECKS]
"""Of what takes matrices, and of what takes texts."""

CHECKS = [
    *OF_ALL,
    *inputs.CHECKS,
    *explanations.CHECKS,
    *names.CHECKS,
    *shapes.CHECKS,
]
"""The fast ones."""

SLOW_CHECKS = [*refits.SLOW_CHECKS, *hostile.SLOW_CHECKS]
