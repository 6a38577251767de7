"""Two threads against one, in training and in batch prediction.

LabelTree, also focused, Parabel and DiSMEC, alternately with one thread and with two, so that both
meet the same neighbours. The ratio of the least wall times needs two idle cores. The bound does
not: it is the CPU time with one thread over that of the busier of two threads, the most that two
idle cores can give, since a serial stage is run by one of them alone. As a control, two processes
that share nothing train side by side: what they take longer than one alone, no program can avoid.

    python benchmarks/bench_threads.py [--data NAME] [--methods M ...] [--repeats N]
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import common  # noqa: F401 - says where the data sets are
from defrag import DiSMEC, Focused, LabelTree, load_dataset
from defrag.baselines import Parabel

SPEED_UP = 1.85
METHODS: dict[str, Any] = {
    "LabelTree": LabelTree(), "Focused": Focused(), "Parabel": Parabel(1), "DiSMEC": DiSMEC()
}  # fmt: skip


@dataclass(frozen=True)
class Times:
    """Wall time of a call, and the CPU time of all threads and of the busier one."""

    wall: float
    cpu: float
    busier: float


def timed(work: Callable[..., Any], *arguments: Any) -> Times:
    """Run a call with at most two threads, of which the calling one is one."""
    wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
    work(*arguments)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    own = time.thread_time() - own
    return Times(wall, cpu, max(own, cpu - own))


def show(stage: str, one: list[Times], two: list[Times]) -> None:
    """Print the ratios of the least times."""
    wall = [min(times.wall for times in runs) for runs in (one, two)]
    cpu = min(times.cpu for times in one)
    ratio, bound = wall[0] / wall[1], cpu / min(times.busier for times in two)
    print(
        f"  {stage:<10} wall s {wall[0]:.3f}, {wall[1]:.3f}: ratio {ratio:.2f} "
        f"({'met' if ratio >= SPEED_UP else 'MISSED'}, at least {SPEED_UP}); "
        f"bound by the busier thread {bound:.2f}; "
        f"CPU with 2 threads over 1: {min(times.cpu for times in two) / cpu:.2f}",
        flush=True,
    )


def train_alone(data: Any) -> float:
    """Return the least CPU time of training a tree with one thread."""
    return min(timed(Parabel(1, random_state=0).fit, data.X, data.Y).cpu for _ in range(3))


def show_control(data: Any) -> None:
    """Print how much longer two processes take than one."""
    alone = train_alone(data)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        both = pool.map(train_alone, [data, data])
    print(f"two processes take {max(both) / alone:.2f} times the CPU time of one", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", default="debian")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    data = load_dataset(arguments.data)
    show_control(data.train)
    for name in arguments.methods:
        print(f"{name} on {arguments.data}")
        training: dict[int, list[Times]] = {1: [], 2: []}
        prediction: dict[int, list[Times]] = {1: [], 2: []}
        for _ in range(arguments.repeats):
            for n_jobs in (1, 2):
                model = METHODS[name].set_params(random_state=0, n_jobs=n_jobs)
                training[n_jobs].append(timed(model.fit, data.train.X, data.train.Y))
                for _ in range(3):
                    prediction[n_jobs].append(timed(model.predict_topk, data.test.X))
        show("training", training[1], training[2])
        show("prediction", prediction[1], prediction[2])


if __name__ == "__main__":
    main()
