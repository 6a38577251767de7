"""Expected wall times on many processors, from measured times of parts and a scheduler model.

The training is planned in four parts per processor; the parts are trained here one after the
other, or a random sample of them if that takes longer than ``--seconds``, the others taking as
long as their costs say. Parts are then given, longest first, to the processor that is free first.
Added are the plan, which is not divided, and the join, if all parts were trained. Not modelled:
the network, memory bandwidth that processors share, and the start of workers.

    python benchmarks/bench_scale_out.py [--data NAME ...] [--models NAME ...] [--seconds S]
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

import common  # noqa: F401 - says where the data sets are
from bench_synthetic import make_data
from defrag import DiSMEC, LabelTree, load_dataset
from defrag.classifiers._division import Divisible, Piece
from defrag.distributed import plan
from defrag.distributed._jobs import Whole, job_of

if TYPE_CHECKING:
    from scipy import sparse

PROCESSORS = (1, 4, 16, 64, 256)
PARTS_PER_PROCESSOR = 4
MODELS = {"LabelTree": LabelTree(random_state=0), "DiSMEC": DiSMEC(random_state=0)}


def list_schedule(times: np.ndarray, n_processors: int) -> float:
    """Return when the last part ends if the longest waiting part goes to the first free one."""
    free = [0.0] * n_processors
    for one in sorted(times.tolist(), reverse=True):
        heapq.heapreplace(free, free[0] + one)
    return max(free)


def load(name: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    if name.startswith("synthetic-"):
        return make_data(float(name.removeprefix("synthetic-")))
    data = load_dataset(name)
    return data.train.X, data.train.Y


def measure(
    model: Divisible, X: sparse.csr_array, Y: sparse.csr_array, *, n_parts: int, seconds: float
) -> tuple[float, np.ndarray, float, int]:
    """Return the CPU times of the plan, of all parts and of the join, and how many were trained."""
    start = time.process_time()
    todo = plan(model, X, Y, n_parts=n_parts)
    planned = time.process_time() - start
    job = job_of(model)
    training = model._units()
    data = training.prepare(X, Y)
    outline = training.unpack_outline(todo.outline)
    order = np.random.default_rng(0).permutation(len(todo.shares))
    ratios, trained = {}, {}
    start = time.process_time()
    for index in order.tolist():
        begin = time.process_time()
        units = range(int(todo.bounds[index]), int(todo.bounds[index + 1]))
        trained[index] = training.pack(
            training.train(data, todo.seed, outline, units.start, units.stop)
        )
        ratios[index] = (time.process_time() - begin) / todo.shares[index]
        if time.process_time() - start > seconds:
            break
    typical = sum(ratios[i] * todo.shares[i] for i in ratios) / sum(todo.shares[i] for i in ratios)
    times = np.array([ratios.get(i, typical) * share for i, share in enumerate(todo.shares)])
    joined = 0.0
    if len(trained) == len(times):
        pieces = [Piece(int(todo.bounds[i]), int(todo.bounds[i + 1]), trained[i])
                  for i in range(len(times))]  # fmt: skip
        start = time.process_time()
        job.join(todo.outline, pieces, Whole(todo.seed, todo.sizes, None))
        joined = time.process_time() - start
    return planned, times, joined, len(trained)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", nargs="*", default=["debian-deps"])
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    say = sys.stdout.write
    walls = " | ".join(f"{n}" for n in PROCESSORS)
    say("| data | model | parts (trained) | plan, s | parts, s | longest, s | join, s | ")
    say(f"{walls} |\n")
    say("|" + "---|" * (7 + len(PROCESSORS)) + "\n")
    for name in options.data:
        X, Y = load(name)
        for kind in options.models:
            n_parts = PARTS_PER_PROCESSOR * max(PROCESSORS)
            planned, times, joined, n_trained = measure(
                MODELS[kind], X, Y, n_parts=n_parts, seconds=options.seconds
            )
            walls = [planned + list_schedule(times, n) + joined for n in PROCESSORS]
            cells = [name, kind, f"{len(times)} ({n_trained})", f"{planned:.1f}",
                     f"{times.sum():.1f}", f"{times.max():.2f}",
                     f"{joined:.1f}" if n_trained == len(times) else "-",
                     *(f"{wall:.1f}" for wall in walls)]  # fmt: skip
            say("| " + " | ".join(cells) + " |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
