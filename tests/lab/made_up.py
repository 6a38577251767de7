"""Invented records for tests of reports."""

import json

from defrag.lab.records import Result


def record(method="m", seed=0, *, p=50.0, train=1.0, size=1e6, data="toy", **more):
    metrics = {f"{name}@{k}": p - k for name in ("P", "nDCG", "PSP", "coverage") for k in (1, 3, 5)}
    made = {
        "format": 1, "key": f"{method}-{seed}-{data}", "method": method, "seed": seed, "n_jobs": 1,
        "data": {"name": data, "fingerprint": "f00d", "points": 100, "features": 30, "labels": 7,
                 "test_points": 10},
        "estimator": {"kind": "label_tree", "parameters": {}}, "measures": ["ranking"],
        "status": "done", "metrics": metrics, "training": {"cpu": train, "wall": train},
        "prediction": {"cpu": 0.1, "wall": 0.1}, "peak_memory": 200_000_000,
        "model_bytes": int(size), "warnings": [], "finished": "2026-01-02T03:04:05+00:00",
        "versions": {"defrag": "0"}, "machine": {"cores": 2, "memory": 2**34},
        "rare": {"edges": [0, 10, 100], "precision": [40.0, 5.0], "predicted": [90.0, 10.0]},
        "erasure": {"shares": [0.0, 0.5], "P@1": [p, p - 20], "P@3": [p, p], "P@5": [p, p]},
        "labels": {"ids": [1, 4, 6], "points": [10, 5, 4], "hits": [int(p) % 10, 3, 1]},
        **more,
    }  # fmt: skip
    return json.loads(json.dumps(made))


def results():
    return [
        Result("slow <b>", "toy", [record("slow <b>", s, p=60 + s, train=9.0) for s in (0, 1)]),
        Result("fast", "toy", [record("fast", s, p=55.0, train=1.0, size=3e6) for s in (0, 1)]),
        Result("broken", "toy", [record("broken", 0, status="failed", error="no | memory")]),
    ]
