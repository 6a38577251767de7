"""The floors beside other programs, judged by records."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def checking():
    path = ROOT / "benchmarks" / "check_peers.py"
    spec = importlib.util.spec_from_file_location("check_peers", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def record(data, method, seed, seconds, precision, **changes):
    return {
        "data": {"name": data, "test_points": 1000, "features": 9}, "method": method, "seed": seed,
        "status": "done", "training": {"cpu": seconds, "wall": seconds},
        "prediction": {"cpu": seconds / 10, "wall": 1.0}, "peak_memory": 1, "model_bytes": 1,
        "metrics": {"P@1": precision, "P@3": precision, "P@5": precision},
        "versions": {"code": "a"}, "machine": {"cores": 2}, **changes,
    }  # fmt: skip


@pytest.fixture
def records(checking):
    found = []
    for data in checking.FLOORS:
        for seed, seconds, precision in ((0, 3.0, 80.0), (1, 1.0, 82.0)):
            found += [record(data, name, seed, seconds, precision)
                      for name in (checking.ONE, checking.THREE)]  # fmt: skip
        found += [record(data, name, 0, 15.0, 81.0) for name in ("PECOS", "omikuji")]
    return found


def test_check_peers_passes_when_floors_are_met(checking, records, capsys):
    assert checking.check(records)
    said = capsys.readouterr().out
    assert "MISSED" not in said
    assert said.count("training 15.0 times as fast") == 6
    assert "prediction 15.0 times as fast (at least 8): met" in said
    assert "P@1/3/5 +0.00/+0.00/+0.00 (no lower): met" in said


def test_check_peers_fails_when_floors_are_missed(checking, records, capsys):
    slower = [one if one["method"] != "PECOS" else {**one, "training": {"cpu": 14.9, "wall": 1.0}}
              for one in records]  # fmt: skip
    assert not checking.check(slower)
    assert capsys.readouterr().out.count("14.9 times as fast (at least 15): MISSED") == 2
    worse = [*records[:-1], record("tibkat-core", "omikuji", 0, 15.0, 81.1)]
    assert not checking.check(worse)
    assert "P@1/3/5 -0.10/-0.10/-0.10 (no lower): MISSED" in capsys.readouterr().out


def test_check_peers_fails_for_absent_and_mixed_records(checking, records, capsys):
    assert not checking.check([one for one in records if one["method"] != "omikuji"])
    assert capsys.readouterr().out.count("no record of omikuji: MISSED") == 3
    mixed = [{**records[0], "versions": {"code": "b"}}, *records[1:]]
    assert not checking.check(mixed)
    assert "more than one state of the code" in capsys.readouterr().out
    assert not checking.check([])
