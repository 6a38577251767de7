"""What the paper says of its measurements, judged by the records of studies.

``results`` writes the table into the page of the manual on the paper's claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from defrag.lab.published import PUBLISHED
from defrag.lab.records import collect, read_records

HOLDS, PART, FAILS, UNKNOWN = "holds", "in part", "does not hold", "not measured"
Judged = tuple[str, str]
"""What we measure, and the verdict."""
_EURLEX, _BOTH = "eurlex-4k", ("eurlex-4k", "debian")


class Known:
    """The results of all studies with records in a folder."""

    def __init__(self, folder: Path) -> None:
        self._results = {
            (path.stem, result.data, result.method): result
            for path in sorted(folder.glob("*.jsonl"))
            for result in collect((r["method"], r["data"]["name"], r) for r in read_records(path))
        }

    def number(self, study: str, data: str, method: str, key: str) -> float:
        """Return a mean, or with ``a/b`` a ratio of two; KeyError if nothing has measured it."""
        found = self._results[study, data, method].statistics
        over, _, under = key.partition("/")
        return found[over].mean / (found[under].mean if under else 1.0)

    def has(self, study: str, data: str, method: str) -> bool:
        """Return whether a run of a method has not failed."""
        found = self._results.get((study, data, method))
        return found is not None and bool(found.statistics)

    def curve(self, study: str, data: str, method: str, name: str, key: str) -> list[float]:
        """Return the means of a measurement that has a number for each of some conditions."""
        runs = [one[name][key] for one in self._results[study, data, method].records
                if one["status"] == "done"]  # fmt: skip
        return [fmean(one or 0.0 for one in column) for column in zip(*runs, strict=True)]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper: where, what, the study that measures it, and how it is judged."""

    where: str
    says: str
    study: str
    judge: Callable[[Known], Judged]

    def judged(self, known: Known) -> Judged:
        """Return what we measure, and the verdict."""
        try:
            return self.judge(known)
        except KeyError:
            return f"no record: `defrag reproduce {self.study}` makes it", UNKNOWN


def _verdict(found: Iterable[bool]) -> str:
    told = list(found)
    return HOLDS if all(told) else PART if any(told) else FAILS


Pairs = Mapping[str, tuple[str, ...]]
_HOW: dict[str, tuple[Callable[[float, float], float], str]] = {
    "points": (lambda a, b: a - b, "+.2f"),
    "percent": (lambda a, b: 100 * (a / b - 1), "+.0f"),
    "times": (lambda a, b: a / b, ".1f"),
    "alone": (lambda a, _: a, ".2f"),
}


def _compared(  # noqa: PLR0917 - a table of claims
    where: str, says: str, study: str, key: str, how: str, pairs: Pairs,
    holds: Callable[[float], bool], said: str, *, whole: bool = False,
) -> Claim:  # fmt: skip
    """Return a claim on pairs of methods: name, data, method and what it is compared with.

    With ``whole`` it does not hold in part.
    """
    measure, form = _HOW[how]

    def judge(known: Known) -> Judged:
        found = {}
        for name, (data, *methods) in pairs.items():
            numbers = [known.number(study, data, method, key) for method in methods]
            found[name] = measure(numbers[0], numbers[-1])
        told = [holds(value) for value in found.values()]
        text = "; ".join(f"{name} {value:{form}}" for name, value in found.items())
        return f"{said} {text}", _verdict([all(told)] if whole else told)

    return Claim(where, says, study, judge)


def instances(known: Known | None = None) -> Iterator[float]:
    """Yield how far DEFRAG is above each method of Table 2; of the paper without records."""
    numbers = {(one.data, one.method): one.values["P@1"]
               for one in PUBLISHED if "learn_cpu" in one.values}  # fmt: skip
    if known is not None:
        methods = sorted({name for _, name in numbers})
        numbers = {(data, method): known.number("table2", data, method, "P@1")
                   for data in _BOTH for method in methods
                   if known.has("table2", data, method)}  # fmt: skip
    for (data, method), value in numbers.items():
        ours = [numbers[one] for name in ("X", "XY")
                if (one := (data, f"{method}, DEFRAG-{name}")) in numbers]  # fmt: skip
        if ours:
            yield max(ours) - value


def _lags(known: Known) -> Judged:
    ours, theirs = list(instances(known)), list(instances())
    text = []
    for gaps in (ours, theirs):
        counts = [sum(low <= one < high for one in gaps)
                  for low, high in ((0, 100), (-2.5, 0), (-5, -2.5), (-100, -5))]  # fmt: skip
        text.append("of {} {} better, {} within 2.5 points, {} within 5, {} beyond".format(
            len(gaps), *counts))  # fmt: skip
    holds = [any(one >= 0 for one in ours), sum(one < -5 for one in ours) <= len(ours) / 7]
    return f"P@1, EURLex-4K and debian: {text[0]}; its own Table 2: {text[1]}", _verdict(holds)


def _rare(known: Known) -> Judged:
    text, rises = [], []
    for data in _BOTH:
        before, after = (known.curve("rare", data, name, "rare", "precision")[8]
                         for name in ("Parabel", "Parabel, REFRAG"))  # fmt: skip
        text.append(f"{data} {before:.1f} to {after:.1f}")
        rises.append(after > before)
    return f"macro P@1 of the labels at 30-50%: {'; '.join(text)}", _verdict(rises)


def _fiat(name: str) -> Callable[[Known], Judged]:
    def judge(known: Known) -> Judged:
        text, keeps = [], []
        for data in _BOTH:
            base, ours = (known.curve("erasure", data, one, "erasure", "P@1")
                          for one in ("Parabel", name))  # fmt: skip
            gaps = [b - a for a, b in zip(base, ours, strict=True)]
            text.append(f"{data} {' '.join(f'{gap:+.1f}' for gap in gaps)}")
            keeps += [min(gaps) >= -0.3, gaps[-2] > 0.3]
        said = f"P@1 of {name} above Parabel with 0 20 40 60 80 90% missing:"
        return f"{said} {'; '.join(text)}", _verdict(keeps)

    return judge


_RIVALS = ("ITDC", "ITDC, random start", "SCBC", "SCBC, balance 1", "LSC", "BCLS")
_REFRAGS = ("REFRAG as printed", "REFRAG block", "REFRAG identity, loss up to 1.5")
_METHODS = ("DiSMEC", "PPDSparse", "ProXML", "LPSR", "SLEEC", "PfastreXML", "Parabel", "LabelTree")
_SAVED: Pairs = {name: (_EURLEX, f"{name}, DEFRAG-X", name) for name in _METHODS}
_BEHIND: Pairs = {name: (_EURLEX, "DEFRAG-X, 512", f"{name}, 512") for name in _RIVALS}
_XY, _X = "Parabel, DEFRAG-XY", "Parabel, DEFRAG-X"


def _on_both(method: str, base: str) -> Pairs:
    return {data: (data, method, base) for data in _BOTH}


def _refrags(base: str, names: Iterable[str] = _REFRAGS) -> Pairs:
    return {f"{name}, {data}": (data, name, base) for data in _BOTH for name in names}


CLAIMS = [
    *(_compared("abstract, Table 2", says, "table2", key, "percent", _SAVED, lambda x: x <= -25,
                "EURLex-4K, percent:")
      for says, key in (("training time falls by as much as 40%", "train_cpu"),
                        ("prediction time falls by as much as 40%", "predict_ms"),
                        ("models are smaller", "model_bytes"))),
    Claim("Table 2", "of 21 instances 3 are better, 7 within 2.5%, 8 within 5%", "table2", _lags),
    _compared("Table 1", "DEFRAG has the lowest LMI", "table1", "LMI_paper", "points", _BEHIND,
              lambda x: x <= 0, "LMI of DEFRAG-X above that of", whole=True),
    _compared("Table 1", "DEFRAG outperforms the other clusterings by 5 points", "table1", "P@1",
              "points", _BEHIND, lambda x: x > 1, "P@1 of DEFRAG-X above that of"),
    _compared("Table 1", "the balance is 1.11", "table1", "balance", "alone",
              {"DEFRAG-X": (_EURLEX, "DEFRAG-X, 512")}, lambda x: x < 1.15, ""),
    _compared("Table 1", "the entropy is 0.99", "table1", "entropy", "alone",
              {"DEFRAG-X": (_EURLEX, "DEFRAG-X, 512")}, lambda x: x > 0.985, ""),
    _compared("Table 1", "clustering is an order of magnitude faster", "table1", "cluster_cpu",
              "times", {name: (_EURLEX, f"{name}, 512", "DEFRAG-X, 512") for name in _RIVALS},
              lambda x: x >= 5, "times as long as DEFRAG-X:"),
    _compared("Table 1", "word vectors do not outperform DEFRAG-X", "table1", "P@1", "points",
              {"DEFRAG-G": (_EURLEX, "DEFRAG-X, 512", "DEFRAG-G, 512")}, lambda x: x >= 0,
              "P@1 of DEFRAG-X above that of"),
    _compared("section 4", "DEFRAG-XY outperforms DEFRAG-X on many data sets", "table2", "P@1",
              "points", _on_both(_XY, _X), lambda x: x > 0.2, "P@1 of Parabel:"),
    _compared("section 4", "clustering is a very small part of training", "table2",
              "cluster_cpu/train_cpu", "alone", {data: (data, _X) for data in _BOTH},
              lambda x: x < 0.15, "part of the training of Parabel, three clusterings:"),
    _compared("Figure 2", "larger groups train faster", "tradeoffs", "train_cpu", "percent",
              {"d0 = 32": (_EURLEX, "X, 3 trees, d0 = 32", "all features, 3 trees")},
              lambda x: x < -20, "percent:"),
    _compared("Figure 2", "larger groups lose some precision", "tradeoffs", "P@1", "points",
              {f"d0 = {size}": (_EURLEX, f"X, 3 trees, d0 = {size}", "all features, 3 trees")
               for size in (4, 8, 16, 32)}, lambda x: x < 0, "P@1:"),
    _compared("appendix A.2", "5% of the labels suffice for DEFRAG-XY", "table2", "P@1", "points",
              _on_both(f"{_XY}, 5% of labels", _XY), lambda x: x > -0.5, "P@1:"),
    _compared("appendix A.3", "a clustering per member raises precision", "tradeoffs", "P@1",
              "points", {"groups": (_EURLEX, "X, 3 trees, d0 = 8", "X, 1 tree, d0 = 8"),
                         "all features": (_EURLEX, "all features, 3 trees",
                                          "all features, 1 tree")},
              lambda x: x > 0.5, "P@1 of three trees above one:"),
    _compared("appendix A.4", "averages raise P@1 of DiSMEC by 1.3 on EURLex-4K", "variants",
              "P@1", "points", {"means": (_EURLEX, "DiSMEC, DEFRAG-X, means",
                                          "DiSMEC, DEFRAG-X, sums")}, lambda x: x > 1, "P@1:"),
    _compared("appendix B.2", "DEFRAG-N is slightly better in several cases", "ndcg", "P@1",
              "points", _on_both("nDCG, d0 = 8", "k-means, d0 = 8"), lambda x: x > 0.2, "P@1:"),
    _compared("appendix A.1", "balance does not matter much to DEFRAG-N", "ndcg", "P@1", "points",
              {"unbalanced": (_EURLEX, "nDCG, unbalanced, d0 = 8", "nDCG, d0 = 8")},
              lambda x: abs(x) < 0.7, "P@1:"),
    _compared("Table 3", "PSP of REFRAG is 8% to 133% above PfastreXML", "table3", "PSP@1",
              "percent", _refrags("PfastreXML"), lambda x: x > 0, "PSP@1, percent:"),
    _compared("Figure 3", "REFRAG triples the coverage of Parabel", "table3", "coverage@1",
              "times", _refrags("Parabel", _REFRAGS[1:]), lambda x: x >= 3, "coverage@1, times:"),
    Claim("Figure 3", "REFRAG predicts rare labels more accurately", "rare", _rare),
    _compared("appendix A.5", "REFRAG loses no appreciable precision", "table3", "P@1", "points",
              _refrags("Parabel", _REFRAGS[:2]), lambda x: x > -0.5, "P@1:"),
    *(Claim("Figure 3", f"FIAT{what} is never worse, and better with more erasures", "erasure",
            _fiat(name))
      for what, name in (("", "FIAT as printed"), (", as meant,", "FIAT as meant"),
                         (", our default,", "FIAT"))),
]  # fmt: skip
"""Statements about measurements, in the order of the paper."""


def claims_table(folder: Path) -> str:
    """Return the claims with their verdicts as a Markdown table, from a folder of records."""
    known = Known(folder)
    lines = ["| where | the paper says | we measure | verdict |", "|---|---|---|---|"]
    for claim in CLAIMS:
        measured, verdict = claim.judged(known)
        lines.append(f"| {claim.where} | {claim.says} | {measured} | **{verdict}** |")
    return "\n".join(lines) + "\n"
