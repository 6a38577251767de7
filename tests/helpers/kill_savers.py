"""Kill a process that saves models, again and again, and look at what the file is afterwards.

A process of its own, because it forks: ``python -m tests.helpers.kill_savers FOLDER N_KILLS``.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from defrag import load
from tests.helpers.model_drafts import small_defrag, small_hybrid


def kill(folder, n_kills, seed=0):
    """Kill savers at random moments; return how many left a temporary file."""
    path = folder / "model.safetensors"
    models = [small_defrag(), small_hybrid()]
    whole = []
    for model in models:
        model.save(path)
        whole.append(path.read_bytes())
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    n_leftovers = 0
    for _ in range(n_kills):
        child = os.fork()
        if not child:
            while True:
                for model in models:
                    model.save(path)
        time.sleep(rng.uniform(0.001, 0.015))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_bytes() in whole
        assert load(path).n_clusters_ in {4, 8}
        n_leftovers += len(list(folder.iterdir())) > 1
        models[0].save(path)
        assert list(folder.iterdir()) == [path]
    return n_leftovers


def main(folder, n_kills):
    n_leftovers = kill(folder, n_kills)
    assert n_leftovers  # some kills hit a half-written file, or this would prove nothing
    sys.stdout.write(f"{n_kills} kills, {n_leftovers} leftovers\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
