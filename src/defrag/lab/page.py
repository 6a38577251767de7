"""Self-contained HTML pages: text, tables and figures, without external resources."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from defrag.lab.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.lab.plots import Plot

__all__ = ["Facts", "Html", "Page", "Section"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Facts:
    """Names and values, as a list."""

    values: dict[str, str]

    def to_html(self) -> str:
        """Return a list of definitions."""
        items = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
            for name, value in self.values.items()
        )
        return f"<dl>{items}</dl>"

    def to_markdown(self) -> str:
        """Return a list."""
        return "".join(f"- {name}: {value}\n" for name, value in self.values.items())


@dataclass(frozen=True)
class Html:
    """A piece of HTML, and its Markdown equivalent."""

    html: str
    markdown: str = ""

    def to_html(self) -> str:
        """Return the HTML."""
        return self.html

    def to_markdown(self) -> str:
        """Return the Markdown."""
        return self.markdown


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, tables, and figures side by side.

    Parameters
    ----------
    heading : str
        The heading.
    text : sequence of str
        Paragraphs.
    blocks : sequence of Table, Facts or Html
        Content after the paragraphs.
    plots : sequence of Plot
        Figures after the blocks.
    """

    heading: str
    text: Sequence[str] = ()
    blocks: Sequence[Table | Facts | Html] = ()
    plots: Sequence[Plot] = ()

    @property
    def name(self) -> str:
        """The anchor of the section."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.heading).lower().split())

    def to_html(self) -> str:
        """Return the section as HTML."""
        parts = [f'<section id="{self.name}"><h2>{escape(self.heading)}</h2>']
        parts += [f"<p>{escape(paragraph)}</p>" for paragraph in self.text]
        for block in self.blocks:
            parts.append(block.to_html())
            if isinstance(block, Table):
                best = ["★ best of our own numbers in a column."] if block.has_best else []
                parts.append(_list([*best, *block.legend]))
        if self.plots:
            parts.append(f'<div class="figures">{"".join(p.to_html() for p in self.plots)}</div>')
        return "\n".join([*parts, "</section>"])

    def to_markdown(self) -> str:
        """Return the section as Markdown, without figures."""
        parts = [f"## {self.heading}\n", *(f"{paragraph}\n" for paragraph in self.text)]
        for block in self.blocks:
            if isinstance(block, Table):
                parts.append(f"**{block.title}**\n")
            parts.append(block.to_markdown())
            if isinstance(block, Table):
                parts.append("".join(f"{line}\n" for line in block.legend))
        return "\n".join(part for part in parts if part)


@dataclass(frozen=True)
class Page:
    """A report.

    Parameters
    ----------
    title, lead : str
        Heading, and one or two sentences below it.
    sections : sequence of Section
        Sections of the page.

    Examples
    --------
    >>> page = Page("A report", "What was found.", [Section("Data", ["None."])])
    >>> "<h2>Data</h2>" in page.to_html()
    True
    """

    title: str
    lead: str
    sections: Sequence[Section] = field(default_factory=tuple)

    def to_html(self) -> str:
        """Return the complete document."""
        links = "".join(
            f'<li><a href="#{one.name}">{escape(one.heading)}</a></li>' for one in self.sections
        )
        body = "\n".join(section.to_html() for section in self.sections)
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(self.title)}</title>
<style>
{_resource("page.css")}</style>
</head>
<body>
<main>
<h1>{escape(self.title)}</h1>
<p class="lead">{escape(self.lead)}</p>
<nav aria-label="Sections"><ul>{links}</ul></nav>
{body}
</main>
<script>
{_resource("page.js")}</script>
</body>
</html>
"""

    def to_markdown(self) -> str:
        """Return the report as Markdown, without figures."""
        sections = "\n".join(section.to_markdown() for section in self.sections)
        return f"# {self.title}\n\n{self.lead}\n\n{sections}"


def _list(items: Sequence[str]) -> str:
    return f'<ul class="legend">{"".join(f"<li>{escape(item)}</li>" for item in items)}</ul>'


def _resource(name: str) -> str:
    return files("defrag.lab").joinpath(name).read_text(encoding="utf-8")
