"""Run ``readers`` with inputs that reach new lines: by hand, after ``pip install atheris``.

Example: ``python -m tests.fuzz.guided build/inputs -max_total_time=3600 -timeout=60``. The folder
keeps the inputs; the options are those of libFuzzer.
"""

import sys
from pathlib import Path


def main():
    import atheris  # noqa: PLC0415 - not among the tools of the tests

    with atheris.instrument_imports(include=["defrag"]):
        from tests.fuzz.readers import one_input, seeds  # noqa: PLC0415
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds()):
        (folder / f"seed{number}").write_bytes(data)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
