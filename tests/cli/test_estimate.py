"""What the command line says that training will cost."""

import pytest
from scipy import sparse

from defrag import Agglomerated, DiSMEC, Fiat, Imputed, LabelTree, Refrag, registry
from defrag.agglomeration import Hybrid
from defrag.baselines import ProXML
from defrag.baselines.forests import ForestClassifier
from defrag.classifiers.estimate import Estimate, estimate
from tests.helpers.cli_model_data import points

X, Y = points()


def test_estimate_grows_with_work():
    one = estimate(LabelTree(), X, Y)
    three = estimate(LabelTree(3), X, Y)
    pooled = estimate(Agglomerated(LabelTree(3), Hybrid()), X, Y)
    assert one.seconds < three.seconds < pooled.seconds
    assert one.bytes < three.bytes
    flat = estimate(DiSMEC(), X, Y)
    many = sparse.hstack([Y] * 100, format="csr")
    assert estimate(DiSMEC(), X, many).seconds == pytest.approx(50 * flat.seconds)
    assert estimate(DiSMEC(), X, many).bytes > flat.bytes
    assert estimate(Agglomerated(DiSMEC()), X, Y).seconds > flat.seconds
    assert estimate(LabelTree(n_jobs=2), X, Y).seconds == one.seconds / 2


@pytest.mark.parametrize("kind", [one.estimator() for one in registry.entries("classifier")])
def test_every_classifier_has_an_estimate(kind):
    one = estimate(kind(n_jobs=1), X, Y)
    assert one.seconds > 0
    # Twice the points are twice the work, or one more level of a forest, for two threads too.
    twice = [sparse.vstack([part, part], format="csr") for part in (X, Y)]
    two = estimate(kind(n_jobs=1), *twice)
    assert 2 * one.seconds <= two.seconds * (1 + 1e-9)
    assert two.seconds <= (4 if issubclass(kind, ForestClassifier) else 2 + 1e-9) * one.seconds
    halved = estimate(kind(n_jobs=2), *twice)
    assert halved.seconds == pytest.approx(two.seconds / 2)


def test_estimate_of_subclass_equals_that_of_base():
    class Mine(ProXML):
        """Some other ProXML."""

    assert estimate(Mine(), X, Y) == estimate(ProXML(), X, Y)


def seconds(model):
    return estimate(model, X, Y).seconds


def test_estimate_of_nested_composites_adds_up():
    inner = seconds(LabelTree())
    fixed = {"gamma": 1.0, "propensity_weight": 0.0}
    ranked = seconds(Refrag(LabelTree(), **fixed))
    pooled = seconds(Agglomerated(LabelTree()))
    assert ranked == pytest.approx(1.1 * inner)
    both = estimate(Agglomerated(Refrag(LabelTree(), **fixed)), X, Y).seconds
    assert both == pytest.approx(ranked + pooled - inner)
    assert seconds(Agglomerated()) == pooled
    assert seconds(Refrag(LabelTree())) > ranked


def test_estimate_counts_rounds_settings_and_clusterings():
    n, one = X.shape[0], LabelTree(3)._training_cost(X, Y).seconds

    def cost(model):
        return model._training_cost(X, Y).seconds

    # Five rounds of four fifths; 8 x 41 settings of 50 candidates for every point.
    assert cost(Refrag()) == pytest.approx(1.1 * 5 * one + n * 328 * 50 * 1.2e-8)
    # One round, 41 settings.
    some = Refrag(gamma=0.0, held_out=0.25, held_out_rows=1, candidates=9)
    assert cost(some) == pytest.approx(1.1 * 1.75 * one + 0.25 * n * 41 * 9 * 1.2e-8)
    plain = {"gamma": 1.0, "propensity_weight": 0.0}
    blocks = Refrag(co_occurrence="block", n_clusterings=2, **plain)
    assert cost(blocks) - cost(Refrag(**plain)) == pytest.approx(2 * X.nnz * 6e-7)
    assert cost(Imputed()) == pytest.approx(1.1 * one)
    grouped = Imputed(imputation=Fiat(companions=None, n_clusterings=4))
    assert cost(grouped) - cost(Imputed()) == pytest.approx(4 * X.nnz * 2e-7)


@pytest.mark.parametrize(
    ("seconds", "size", "said"),
    [
        (0.1, 10, "about 1 s, 1 MB"),
        (3.2, 120e6, "about 3 s, 120 MB"),
        (600, 2.3e9, "about 10 min, 2.3 GB"),
        (9000, 1e9, "about 2.5 h, 1.0 GB"),
    ],
)
def test_estimate_is_shown_in_words(seconds, size, said):
    assert Estimate(seconds, size).shown() == said
