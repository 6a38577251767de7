"""``defrag annotate``: label texts on a page, with a model that learns."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from defrag._progress import escaped, progress_pulse
from defrag.cli._console import examples, print_message
from defrag.cli._data import LanguageFlag
from defrag.cli._flags import File, argument, option
from defrag.cli.serve import needing_serve

HELP = (
    "Label texts on a page, with a model that learns.\n\n"
    "Trains a model on the texts that have labels, unless there is a --model, and opens a page "
    "that offers one text after another: those first that give most labels per click. What you "
    "say is appended to a file at once, changes the next suggestions, and trains the model again "
    "in the background. Call the command again to go on. Listens on this machine only; end it with "
    "Ctrl-C. Requires the extra 'serve' of the package."
) + examples(
    "defrag annotate docs.jsonl",
    "defrag annotate docs.jsonl --model model.safetensors --corrections said.jsonl",
)


def annotate(
    *,
    documents: Annotated[str, argument("DOCS", "The texts, of which some have labels.")],
    model: Annotated[
        File, "The model file; it is trained if it is missing. Default: named after DOCS."
    ] = None,
    corrections: Annotated[File, "File of what you say. Default: named after DOCS."] = None,
    thesaurus: Annotated[File, "Names of the labels, for a model that is trained here."] = None,
    language: LanguageFlag = None,
    retrain_after: Annotated[
        int, option("Texts after which the model is trained again; 0: never.", min=0)
    ] = 25,
    port: Annotated[int, option("Port; 0 chooses a free one.", min=0, max=65535)] = 8766,
    browser: Annotated[bool, "Open the page in a browser."] = True,
) -> None:
    """Label texts on a page, with a model that learns."""
    with needing_serve():
        from defrag.serving.loop import read_documents, train_again  # noqa: PLC0415 - an extra
        from defrag.serving.settings import Settings  # noqa: PLC0415 - as above
        from defrag.serving.supervisor import Supervisor  # noqa: PLC0415 - as above
    from defrag.text import TextClassifier  # noqa: PLC0415 - as above

    stem = documents.partition(".jsonl")[0]
    path, said = model or f"{stem}.safetensors", corrections or f"{stem}.corrections.jsonl"
    if not Path(path).exists():
        texts, labels = read_documents(documents)
        if not labels and not Path(said).exists():
            raise ValueError(f"{documents}: has no labels: give some texts labels, or give --model")
        with progress_pulse(f"training on {len(labels):,} texts; {len(texts):,} have no labels"):
            blank = TextClassifier(random_state=0)
            train_again(blank, documents, said, thesaurus).save(path)
        print_message(f"wrote {escaped(path)}")
    elif thesaurus is not None:
        raise ValueError(f"--thesaurus changes nothing: {path} is trained")
    settings = Settings(
        models={Path(path).name.removesuffix(".safetensors"): path},
        port=port,
        language=language,
        corrections=said,
        documents=documents,
        retrain_after=retrain_after,
    )

    def announce(number: int) -> None:
        address = f"http://127.0.0.1:{number}/annotate"
        typer.echo(f"serving {escaped(documents)} at {address}")
        if browser:
            webbrowser.open(address)

    Supervisor(settings, announce).run()
