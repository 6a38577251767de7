"""The laboratory: runs of estimators as records, studies of the paper, tables, pictures, reports.

It imports everything, and nothing but the command line imports it: without this folder, the
product is complete.
"""

from __future__ import annotations

from defrag.lab.corpus import Corpus
from defrag.lab.records import Job, Statistic, Store, summarise
from defrag.lab.runs import run_jobs

__all__ = ["Corpus", "Job", "Statistic", "Store", "run_jobs", "summarise"]
