"""What every estimator of the registry promises, checked for whatever is registered.

``subject.py`` builds an estimator of an entry and asks it everything it can answer; ``checks.py``
finds the checks, functions that take a subject and raise an ``AssertionError``. An estimator comes
under this contract by being registered, without a test of its own.
"""
