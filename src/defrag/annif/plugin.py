"""Plugin of the command ``annif``: registers the backend and adds ``annif defrag-explain``.

Annif has no plugin system, but its command line is a Flask command line, which loads the commands
of other packages (entry points of the group ``flask.commands``) before it runs one. Other Flask
applications load this module too: there, nothing is registered or shown.
"""

from __future__ import annotations

import sys
from typing import Any

import click
from flask import current_app
from flask.cli import with_appcontext

from defrag.annif import register

_IN_ANNIF = "annif" in sys.modules
if _IN_ANNIF:
    register()


@click.command("defrag-explain", hidden=not _IN_ANNIF)
@click.argument("project_id")
@click.option("--uri", help="URI of the subject; default: the best subjects.")
@click.option("--limit", "-l", default=1, show_default=True, help="Number of best subjects.")
@click.option("--language", "-L", help="Language of names; default: that of the vocabulary.")
@click.option("--projects", "-p", help="Set path to project configuration file or directory.")
@with_appcontext
def explain(
    project_id: str, uri: str | None, limit: int, language: str | None, projects: str | None
) -> None:
    """Explain the suggestions for a text from standard input.

    Shows what each word adds to the score of a subject, and the score without the word, for
    projects with backend=defrag.
    """
    import annif.registry  # noqa: PLC0415 - not in other applications
    from annif.corpus import Document  # noqa: PLC0415 - as above

    from defrag.annif.bridge import texts_of  # noqa: PLC0415 - as above

    if projects:
        current_app.config["PROJECTS_CONFIG_PATH"] = projects
    project = annif.registry.get_project(project_id)
    backend: Any = project.backend
    if not hasattr(backend, "model") or not hasattr(backend.model, "explain"):
        raise click.UsageError(f"{project_id} does not use the backend defrag")
    model, document = backend.model, project.transform.transform_doc(Document(sys.stdin.read()))
    (text,) = texts_of(project, [document], backend.params)
    try:
        named: dict[str, Any] = {"language": language or project.vocab_lang}
        found = model.explain(text, uri, **named) if uri else model.explain(text, k=limit, **named)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    click.echo(str(found))
