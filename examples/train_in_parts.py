"""Train in parts, by any processes on any machines that share a folder: no cluster software.

A plan divides the training; parts are trained in any order, by a shell loop or the array jobs of
a batch system; joined, they are the model that one machine would have trained.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from defrag import LabelTree, load_dataset
from defrag.distributed import join, load_part, part_path, plan, save_plan
from defrag.io import read_xmc, write_xmc

folder = Path(tempfile.mkdtemp())
data, file = folder / "train.txt", folder / "model.plan"
train = load_dataset("debian").train
write_xmc(data, train.X[::20], train.Y[::20])

X, Y = read_xmc(data)
todo = plan(LabelTree(n_trees=3, random_state=0), X, Y, n_parts=8)
save_plan(todo, file)

# Two workers, each with every other part; on a cluster, one job for each part. A part that is
# asked for again, after its process has died, is trained only if its file is not complete.
workers = []
for first in (0, 1):
    parts = [f"--part={part}" for part in range(first, 8, 2)]
    command = [sys.executable, "-m", "defrag", "train-part", str(file), str(data), *parts]
    workers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))  # noqa: S603 - our own
print("the workers ended with", [worker.wait() for worker in workers])

joined = join(todo, [load_part(part_path(file, part.index)) for part in todo.parts])
whole = LabelTree(n_trees=3, random_state=0).fit(X, Y)
same = (joined.predict_topk(X)[1] == whole.predict_topk(X)[1]).all()
print(f"{len(todo.parts)} parts give the same scores as one training:", bool(same))
