"""Experiments: runs of estimators on data, each a record, in a store that can be resumed."""

from __future__ import annotations

from defrag.experiments.corpus import Corpus
from defrag.experiments.job import Job
from defrag.experiments.runner import run_jobs
from defrag.experiments.store import Store
from defrag.experiments.summary import Statistic, summarise

__all__ = ["Corpus", "Job", "Statistic", "Store", "run_jobs", "summarise"]
