"""A study: methods, data sets and what is shown of them."""

from __future__ import annotations

from dataclasses import dataclass

from defrag.experiments.methods import NONE, Method, combine, parse_groups
from defrag.experiments.peers import PEERS
from defrag.experiments.specs import describe

__all__ = ["Line", "Study"]


@dataclass(frozen=True)
class Line:
    """A method of a study: its name, and the words of its parts.

    Parameters
    ----------
    name : str
        What tables call it.
    classifier, groups, rerank, impute : str
        See :func:`defrag.experiments.methods.combine`.
    seeds : int, optional
        Number of seeds, if not that of the study.
    """

    name: str
    classifier: str
    groups: str = NONE
    rerank: str = NONE
    impute: str = NONE
    seeds: int | None = None

    def method(self) -> Method:
        """Return the method with its estimator."""
        if self.classifier in PEERS:
            groups = None if self.groups == NONE else describe(parse_groups(self.groups)[1])
            spec = {"estimator": self.classifier, "parameters": {"groups": groups}}
            return Method(self.name, spec)
        (found,) = combine([self.classifier], [self.groups], [self.rerank], [self.impute])
        return Method(self.name, found.spec)


@dataclass(frozen=True)
class Study:
    """A table or a figure of the paper.

    Parameters
    ----------
    name : str
        Its word on the command line.
    title, text : str
        Heading, and what is compared.
    lines : list of Line
        The methods.
    data : tuple of str
        Names of data sets.
    columns : tuple of str
        Numbers of the table, keys of ``defrag.report.COLUMNS``.
    figures : tuple of str
        Kinds of figures, keys of ``defrag.report.figures.FIGURES``.
    measures : tuple of str
        What each run measures.
    seeds : int
        Number of seeds.
    urgent : bool
        Whether its first seed comes before the runs of other studies.
    held_out : bool
        Whether a fifth of the training points takes the place of the test points.
    """

    name: str
    title: str
    text: str
    lines: list[Line]
    data: tuple[str, ...]
    columns: tuple[str, ...]
    figures: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("ranking",)
    seeds: int = 3
    urgent: bool = False
    held_out: bool = False
