"""Reports: tables and figures from records, as HTML, Markdown and terminal output."""

from __future__ import annotations

from defrag.report.columns import COLUMNS, Column
from defrag.report.page import Page, Section
from defrag.report.table import Row, Table, table_of

__all__ = ["COLUMNS", "Column", "Page", "Row", "Section", "Table", "table_of"]
