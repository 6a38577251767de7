"""Results pages of the manual: Markdown generated from committed records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from defrag.experiments.store import read_records
from defrag.experiments.studies import STUDIES
from defrag.experiments.summary import Result
from defrag.io import load_dataset
from defrag.report.comparison import run_facts
from defrag.report.page import Facts
from defrag.report.study import Findings, checks, study_tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from defrag.experiments.store import Record
    from defrag.experiments.study import Study

__all__ = ["RECORDS", "findings_of", "results_page", "write_pages", "write_records"]

RECORDS = "records"
"""Folder of the records within the folder of results."""

_REMARKS = "remarks.json"


def findings_of(study: Study, records: Sequence[Record], remarks: Sequence[str] = ()) -> Findings:
    """Return the findings of a study from its records, in the order of the study.

    Parameters
    ----------
    study : Study
        The study; methods are found by their names.
    records : sequence of dict
        Its records.
    remarks : sequence of str
        What was sampled or left out, and why.
    """
    order = {line.name: place for place, line in enumerate(study.lines)}
    results: dict[tuple[str, str], Result] = {}
    for record in records:
        key = (record["data"]["name"], record["method"])
        results.setdefault(key, Result(key[1], key[0], [])).records.append(record)
    data = list(dict.fromkeys(name for name, _ in results))
    found = sorted(
        results.values(), key=lambda one: (data.index(one.data), order.get(one.method, len(order)))
    )
    # Label names are available for the bundled data only.
    named = any(one.data == "debian" and one.records[0].get("labels") for one in found)
    names = {"debian": load_dataset("debian").label_names} if named else {}
    return Findings(study, found, remarks, names)


def results_page(study: Study, records: Sequence[Record], remarks: Sequence[str] = ()) -> str:
    """Return the page of a study as Markdown; the arguments are those of `findings_of`."""
    findings = findings_of(study, records, remarks)
    parts = [f"# {study.title}\n", f"{study.text}\n"]
    legend: dict[str, None] = {}
    for table in study_tables(findings):
        parts += [f"## {table.title.removeprefix(f'{study.title}: ')}\n", table.to_markdown()]
        legend |= dict.fromkeys(table.legend)
    parts += _missing(findings)
    spread = " ±: standard deviation over seeds." if any("±" in part for part in parts) else ""
    parts.append(f"Bold: best of our own numbers in a column.{spread} " + " ".join(legend) + "\n")
    compared = [f"- {check.sentence()}\n" for check in checks(findings.results)]
    if compared:
        parts += ["## Beside published numbers\n", "".join(compared)]
    command = f"`defrag reproduce {study.name} --data DIR` (`all` for every page)"
    facts = Facts({"command": command, **run_facts(findings.results)})
    parts += ["## What was run\n", facts.to_markdown()]
    return "\n".join(parts)


def _missing(findings: Findings) -> list[str]:
    """Return what was sampled or not run, and why."""
    study, lines = findings.study, list(findings.remarks)
    for data in study.data:
        # The name of a sample begins with that of its data set.
        run = {one.method for one in findings.results if one.data.split(", ")[0] == data}
        missing = [line.name for line in study.lines if line.name not in run]
        if missing and not any(data in remark for remark in findings.remarks):
            lines.append(f"No record on {data}: {'; '.join(missing) if run else 'all methods'}.")
    return ["".join(f"- {line}\n" for line in lines)] if lines else []


def write_records(folder: Path, findings: Findings) -> None:
    """Write the records and the remarks of findings to the folder of results."""
    place = folder / RECORDS
    place.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({**record, "method": result.method}, sort_keys=True)
        for result in findings.results
        for record in result.records
    ]
    text = "".join(f"{line}\n" for line in lines)
    (place / f"{findings.study.name}.jsonl").write_text(text, encoding="utf-8")
    remarks = {**_remarks(folder), findings.study.name: list(findings.remarks)}
    text = json.dumps(remarks, indent=1, sort_keys=True, ensure_ascii=False)
    (place / _REMARKS).write_text(f"{text}\n", encoding="utf-8")


def write_pages(folder: Path) -> list[Path]:
    """Write the page of every study with records in the folder, and return the pages."""
    pages, remarks = [], _remarks(folder)
    for name, study in STUDIES.items():
        path = folder / RECORDS / f"{name}.jsonl"
        if path.exists():
            pages.append(folder / f"{name}.md")
            page = results_page(study, read_records(path), remarks.get(name, ()))
            pages[-1].write_text(page, encoding="utf-8")
    return pages


def _remarks(folder: Path) -> dict[str, list[str]]:
    """Return the remarks stored with the records, by study."""
    path = folder / RECORDS / _REMARKS
    found: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found
