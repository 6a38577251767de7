import numpy as np
import pytest

from defrag.io import Split
from defrag.lab.comparison import changes, label_plots, label_tables
from defrag.lab.measures import run
from defrag.lab.page import Section
from defrag.lab.records import Result
from defrag.registry import find
from defrag.specs import describe
from tests.data import make_data
from tests.lab.made_up import record


def result(method, *hits):
    labels = {"ids": [1, 4, 6, 7], "points": [100, 50, 40, 9]}  # the last one has too few
    hits = [[10 * n for n in one] + [9 * (method == "a")] for one in hits]
    runs = [record(method, seed, labels={**labels, "hits": one}) for seed, one in enumerate(hits)]
    return Result(method, "toy", runs)


def test_gains_come_first_and_losses_last():
    found = changes(result("a", [5, 5, 1]), result("b", [6, 1, 3]))
    assert [(one.label, one.points) for one in found] == [(6, 40), (1, 100), (4, 50)]
    assert [one.difference for one in found] == pytest.approx([50.0, 10.0, -80.0])
    assert changes(result("a", [5, 5, 1]), result("b", [6, 1, 3]), most=1) == [found[0], found[2]]
    assert changes(result("a", [5, 5, 1]), result("b", [5, 5, 1])) == []


def test_gains_are_means_over_seeds():
    (one,) = changes(result("a", [4, 5, 1], [6, 5, 1]), result("b", [7, 5, 1]))
    assert (one.label, one.before, one.after) == (1, 50.0, 70.0)


def test_labels_without_counts_give_no_table():
    counted, other = result("a", [5, 5, 1]), Result("b", "toy", [record("b", labels=None)])
    assert changes(counted, other) == []
    assert label_tables([counted, other]) == []


def test_tables_and_plots_show_label_names():
    pytest.importorskip("matplotlib")
    both = [result("a", [5, 5, 1]), result("b", [6, 1, 1])]
    (table,) = label_tables(both, np.array(list("tuvwxyz"), dtype=object))
    assert table.title == "toy: labels that gain and lose most, b against a"
    assert "| u | 100 | 50.0 | 60.0 | 10.0 |" in table.to_markdown()
    assert "| x | 50 | 100.0 | 20.0 | -80.0 |" in table.to_markdown()
    assert '<th scope="col">label</th>' in table.to_html()
    assert "best of" not in Section("Labels", (), [table]).to_html()
    (plot,) = label_plots(both)
    assert "label 4" in plot.svg
    assert plot.series[0].y == pytest.approx([10.0, -80.0])


def test_run_counts_hits_by_label():
    X, Y = make_data(n=120)
    half = Split(X, Y)
    job = {"estimator": describe(find("label-tree").estimator()()), "seed": 0, "n_jobs": 1,
           "measures": ["ranking", "labels"]}  # fmt: skip
    values, model, _ = run(job, half, half)
    labels = model.predict_topk(X, 5)[0]
    dense = Y.toarray().astype(bool)
    expected = [
        sum(label in row for row in labels[dense[:, label]]) for label in values["labels"]["ids"]
    ]
    assert values["labels"]["hits"] == expected
    assert values["labels"]["points"] == dense.sum(axis=0)[values["labels"]["ids"]].tolist()
    assert values["labels"]["ids"] == np.flatnonzero(dense.any(axis=0)).tolist()
