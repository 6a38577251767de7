"""The laboratory: runs of estimators as records, studies of the paper, tables, pictures, reports.

It imports everything, and nothing but the command line imports it: without this folder, the
product is complete.
"""

from __future__ import annotations

from defrag.lab.corpus import Corpus
from defrag.lab.page import Page, Section
from defrag.lab.records import Job, Statistic, Store, summarise
from defrag.lab.runs import run_jobs
from defrag.lab.tables import COLUMNS, Column, Row, Table, table_of

__all__ = [
    "COLUMNS",
    "Column",
    "Corpus",
    "Job",
    "Page",
    "Row",
    "Section",
    "Statistic",
    "Store",
    "Table",
    "run_jobs",
    "summarise",
    "table_of",
]
