"""A small corpus and jobs on it."""

from defrag.io import Split
from defrag.lab import Corpus, Job
from defrag.specs import describe
from tests.data import make_data


def small_corpus(seed=0):
    X, Y = make_data(n=300, seed=seed)
    return Corpus("small", Split(X[:200], Y[:200]), Split(X[200:], Y[200:]))


def job_of(corpus, estimator, seed=0, **options):
    return Job(type(estimator).__name__, corpus.facts, describe(estimator), seed, **options)
