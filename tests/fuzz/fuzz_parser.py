"""Feed the text parser with broken texts; nothing but a result or a FormatError may come out.

Every result is compared with the slow twin. Run it with a sanitized build, too.
"""

import time

from defrag.exceptions import FormatError
from tests.fuzz.mutator import inputs
from tests.oracles.text import assert_same, native


def fuzz(n_inputs, seed=0):
    """Parse n broken texts; return how many of them were refused."""
    n_refused = 0
    for layout, text in inputs(n_inputs, seed):
        start = time.process_time()  # the machine may be busy
        try:
            native(text, layout)
        except FormatError as error:
            n_refused += 1
            message = str(error)
            assert "\n" not in message, text
            assert message.isprintable(), text
        assert time.process_time() - start < 1.0, text
        assert_same(text, layout, first_feature=len(text) % 2, drop_non_finite=bool(seed % 2))
    return n_refused
