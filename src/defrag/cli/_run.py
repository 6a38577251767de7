"""A long training: its scratch folder, the memory it stays near, and what it logs."""

from __future__ import annotations

import json
import re
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from defrag._progress import escaped, listening, resident_bytes
from defrag._scratch import RUN, Scratch
from defrag.cli._console import print_message
from defrag.cli._flags import File
from defrag.exceptions import DefragError
from defrag.io.corpora import corpus_files
from defrag.io.files import without_compression
from defrag.io.remote import is_uri, version_of

if TYPE_CHECKING:
    from defrag.io.files import PathLike

_LEAST_MEMORY = 64_000_000
# Larger corpora are kept in a scratch folder without being asked: in memory, a training takes ten
# times the size of its texts. Compressed files have several times as many bytes of text.
_LARGE_CORPUS, _COMPRESSED, _MEMORY_OF_LARGE = 1 << 28, 5, 4 << 30
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def bytes_of(size: str) -> int:
    """Return the bytes of a size such as 500M or 2G; ValueError for other words.

    Examples
    --------
    >>> bytes_of("1.5G"), bytes_of("64m")
    (1610612736, 67108864)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?", size.strip().lower())
    if found is None:
        raise ValueError(f"--memory must be a size such as 500M or 2G, got {size!r}")
    if (n_bytes := int(float(found[1]) * _UNITS[found[2]])) < _LEAST_MEMORY:
        raise ValueError(f"--memory must be at least 64 MB, got {size!r}")
    return n_bytes


def identity_of(estimator: Any, inputs: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Return what decides about the bytes of a training, for :class:`Scratch`."""
    from defrag import __version__  # noqa: PLC0415 - reads the metadata of the package

    # Those of an estimator inside have names of their own; the number of threads changes nothing.
    parameters = {name: repr(type(value) if hasattr(value, "get_params") else value)
                  for name, value in estimator.get_params().items()
                  if not name.endswith(("n_jobs", "verbose"))}  # fmt: skip
    files = {flag: _files_of(path) for flag, path in inputs.items() if path is not None}
    return {
        "version": __version__,
        "estimator": repr(type(estimator)),
        "parameters": parameters,
        "files": files,
        "settings": {name: repr(one) for name, one in settings.items()},
    }


def _files_of(path: PathLike) -> list[Any]:
    if is_uri(path):
        return [version_of(file) for file in corpus_files(path)]
    given = [Path(file) for file in corpus_files(path)]
    inside = [sorted(one.rglob("*")) if one.is_dir() else [one] for one in given]
    found = [file for files in inside for file in files if file.exists()]  # else - or an error
    return [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in found]


def _is_large(data: PathLike) -> bool:
    if is_uri(data):
        return False
    n_bytes: int = sum(
        size * (1 if name == without_compression(name) else _COMPRESSED)
        for name, size, _ in _files_of(data)
    )
    return n_bytes > _LARGE_CORPUS


@contextmanager
def _in_scratch(
    folder: Path, identity: dict[str, Any], memory: int | None, *, strict: bool, again: bool
) -> Iterator[Scratch]:
    """Keep what is made in a folder; delete it at the end, and after an error of the input.

    - ``strict``: whether the memory is a bound that must be kept.
    - ``again``: whether the same command can continue, which standard input does not let it.
    """
    if not again and (folder / RUN).exists():
        shutil.rmtree(folder)
    with Scratch(folder, identity, memory, strict=strict) as own:
        if own.continued:
            print_message(f"continuing with {_shown(own.size())} in {escaped(str(folder))}")
        try:
            yield own
        except (ValueError, DefragError):
            own.remove()
            raise
        except (KeyboardInterrupt, MemoryError, OSError, RuntimeError):
            then = "the same command continues" if again else "delete it"
            print_message(f"{escaped(str(folder))} has {_shown(own.size())}: {then}")
            raise
        own.remove()


def _shown(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


class RunLog:
    """Lines of JSON about the progress of a run: stage, share, time left, memory, and its record.

    A line has ``event`` "begin", "progress", "end" or "record", ``time``, ``seconds`` since the
    start, ``cpu_seconds`` and ``memory`` in bytes.
    """

    _SECONDS_PER_LINE = 1.0

    def __init__(self, file: TextIO | None) -> None:
        self._file, self._begin, self._last = file, time.monotonic(), 0.0
        self.stages: dict[str, dict[str, float]] = {}

    def __call__(self, stage: str, share: float | None, begin: float) -> None:
        """Write a line: ``share`` is 0 when a stage begins, and None when it ends."""
        now = time.monotonic()
        took = now - begin
        if share is None:
            known = self.stages.setdefault(stage, {"times": 0, "seconds": 0.0})
            known["times"] += 1
            known["seconds"] = round(known["seconds"] + took, 3)
            self._write("end", stage=stage, stage_seconds=round(took, 3))
        elif not share:
            self._write("begin", stage=stage)
        elif now - self._last >= self._SECONDS_PER_LINE:
            self._last = now
            left = took * (1 - share) / share
            self._write("progress", stage=stage, share=round(share, 4),
                        seconds_left=round(left, 1))  # fmt: skip

    def record(self, **found: Any) -> None:
        """Write the last line: what was trained, and the seconds of all stages."""
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._write("record", **found, peak_memory=peak, stages=self.stages)

    def _write(self, event: str, **more: Any) -> None:
        if self._file is None:
            return
        line = {"event": event, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "seconds": round(time.monotonic() - self._begin, 3),
                "cpu_seconds": round(time.process_time(), 3),
                "memory": resident_bytes()[0], **more}  # fmt: skip
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


@dataclass(frozen=True)
class LongRun:
    """What keeps a long training within its memory, lets it continue, and logs it."""

    memory: Annotated[
        str | None,
        "Memory to stay near with texts, as far as arrays can lie in a scratch folder, from "
        "which the same command continues after an interruption.",
        "SIZE",
    ] = None
    scratch: Annotated[str | None, "The scratch folder; default: MODEL.scratch.", "FOLDER"] = None
    log_json: Annotated[
        File, "Append stages, time left and memory to this file, as JSON; - is stderr."
    ] = None

    @contextmanager
    def running(
        self,
        model: str,
        estimator: Any,
        inputs: dict[str, Any],
        settings: dict[str, Any],
        *,
        may_keep: bool,
    ) -> Iterator[RunLog]:
        """Train inside a scratch folder if one was asked for, or the texts are many.

        - ``inputs``: files by flag.
        - ``may_keep``: whether the training can use such a folder.
        """
        memory = None if self.memory is None else bytes_of(self.memory)
        if memory is None and self.scratch is None and may_keep and _is_large(inputs["DATA"]):
            memory = _MEMORY_OF_LARGE
            print_message(f"many texts: kept in {escaped(model)}.scratch until the end (--memory)")
        with ExitStack() as stack:
            file = None if self.log_json is None else sys.stderr
            if self.log_json not in {None, "-"}:
                file = stack.enter_context(Path(str(self.log_json)).open("a", encoding="utf-8"))
            log = RunLog(file)
            if file is not None:
                stack.enter_context(listening(log))
            if memory is not None or self.scratch is not None:
                folder = Path(self.scratch or f"{model}.scratch")
                identity = identity_of(estimator, inputs, settings)
                again = inputs["DATA"] != "-"
                rules = {"strict": self.memory is not None, "again": again}
                stack.enter_context(_in_scratch(folder, identity, memory, **rules))
            yield log
