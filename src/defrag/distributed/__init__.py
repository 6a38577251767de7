"""Training in parts, in any order and on any machine, with bit-identical results.

>>> import numpy as np
>>> from defrag import LabelTree
>>> from defrag.distributed import fit_part, join, plan
>>> X = np.kron(np.eye(3), np.ones((4, 2)))
>>> Y = np.repeat(["a", "b", "c"], 4)
>>> todo = plan(LabelTree(random_state=0), X, Y, n_parts=2)
>>> results = [fit_part(todo, part, X, Y) for part in todo.parts]
>>> join(todo, results).predict(X[::4]).tolist()
['a', 'b', 'c']
"""

from __future__ import annotations

from defrag.distributed._plan import (
    Part,
    PartResult,
    Plan,
    fit_part,
    join,
    load_part,
    load_plan,
    part_path,
    plan,
    save_part,
    save_plan,
)
from defrag.distributed._ray import fit_ray, predict_ray

__all__ = [
    "Part",
    "PartResult",
    "Plan",
    "fit_part",
    "fit_ray",
    "join",
    "load_part",
    "load_plan",
    "part_path",
    "plan",
    "predict_ray",
    "save_part",
    "save_plan",
]
