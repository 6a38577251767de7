"""Requests that are predicted together, and the counters of all workers."""

import asyncio
import re

import pytest

from defrag import LabelTree, TextClassifier
from defrag.serving import ServedModel
from defrag.serving.metrics import Metrics
from defrag.serving.models import Batcher

TEXTS = ["large files", "copy files", "merge sorting", "quick sorting", "unheard"]


@pytest.fixture(scope="module")
def model():
    return TextClassifier(LabelTree(), random_state=0).fit(
        TEXTS[:4], [["a", "c"], ["a"], ["b"], ["b", "c"]]
    )


@pytest.fixture
def served(model):
    return ServedModel("texts", model)


def together(served, asked):
    """Return the answers to requests of one turn, and the sizes of the calls."""
    sizes = []
    batcher = Batcher(lambda _, size: sizes.append(size))

    async def run():
        return await asyncio.gather(
            *(batcher.predict(served, texts, k) for texts, k in asked), return_exceptions=True
        )

    return asyncio.run(run()), sizes


def test_requests_of_one_turn_are_one_call(served, model):
    found, sizes = together(served, [([text], 2) for text in TEXTS])
    assert sizes == [5]
    names, scores = model.predict_topk(TEXTS, k=2)
    wanted = [
        [(name, score) for name, score in zip(*row, strict=True) if name]
        for row in zip(names.tolist(), scores.tolist(), strict=True)
    ]
    assert [one[0] for one in found] == wanted


def test_only_requests_for_same_k_share_call(served):
    found, sizes = together(served, [([TEXTS[0]], 1), (TEXTS[1:3], 2), ([TEXTS[3]], 1)])
    assert sizes == [2, 2]
    assert [[len(row) for row in one] for one in found] == [[1], [2, 2], [1]]
    assert found[2] == served.predict([TEXTS[3]], 1)


def test_inputs_of_call_are_bounded(served):
    found, sizes = together(served, [(TEXTS[:4] * 8, 1)] * 5)
    assert sizes == [64, 64, 32]
    assert all(one == served.predict(TEXTS[:4], 1) * 8 for one in found)


def test_failed_call_fails_its_requests_only(served, monkeypatch):
    real = served.predict

    def fail_for_one(inputs, k, **more):
        if k == 1:
            raise MemoryError("no more memory")
        return real(inputs, k, **more)

    monkeypatch.setattr(served, "predict", fail_for_one)
    found, sizes = together(served, [([TEXTS[0]], 1), ([TEXTS[0]], 2)])
    assert isinstance(found[0], MemoryError)
    assert len(found[1][0]) == 2
    assert sizes == [1]


def test_cancelled_request_leaves_others(served):
    async def run():
        batcher = Batcher(lambda *_: None)
        first = asyncio.ensure_future(batcher.predict(served, [TEXTS[0]], 1))
        second = asyncio.ensure_future(batcher.predict(served, [TEXTS[1]], 1))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(run()) == served.predict([TEXTS[1]], 1)


def test_metrics_are_prometheus_text():
    counted = Metrics(['a "model"'], ["/v1/suggest"], n_workers=2)
    counted.answered("/v1/suggest", 200, 0.003)  # of no worker, and so not shown
    for row in (1, 2):
        counted.count_in(row, process=100 + row)
        counted.answered("/v1/suggest", 200, 0.003)
        counted.answered("other", 404, 0.2)
        counted.answered("/v1/suggest", 418, 99.0)
        counted.predicted('a "model"', 7)
        counted.connected(row)
        counted.log_dropped()
    counted.worker_ended(1)
    counted.restarted()
    text = counted.text().decode()
    for line in (
        'defrag_requests_total{route="/v1/suggest",status="200"} 2.0',
        'defrag_requests_total{route="/v1/suggest",status="other"} 2.0',
        'defrag_requests_total{route="other",status="404"} 2.0',
        'defrag_request_seconds_bucket{le="0.002",route="/v1/suggest"} 0.0',
        'defrag_request_seconds_bucket{le="0.005",route="/v1/suggest"} 2.0',
        'defrag_request_seconds_bucket{le="+Inf",route="/v1/suggest"} 4.0',
        'defrag_request_seconds_sum{route="/v1/suggest"} 198.006',
        'defrag_inputs_total{model="a \\"model\\""} 14.0',
        'defrag_predict_calls_total{model="a \\"model\\""} 2.0',
        "defrag_workers 1.0",
        "defrag_worker_restarts_total 1.0",
        "defrag_log_dropped_total 2.0",
        'defrag_connections{worker="2"} 2.0',
    ):
        assert line in text.splitlines(), text
    counted.count_in(1, process=9)
    assert b'defrag_connections{worker="1"} 0.0\n' in counted.text()  # not those of the one before
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) .+|[a-z_]+({.*})? [0-9.]+", line), line


def test_problem_of_load_is_cut_and_replaced():
    shared = Metrics([], [])
    assert shared.problem == ""
    shared.loaded("ä" * 5000)
    assert shared.problem.startswith("ää")
    assert len(shared.problem) < 1100
    shared.loaded("short")
    assert shared.problem == "short"
    assert shared.loaded() == 1
    assert shared.problem == ""
