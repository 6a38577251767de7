"""``defrag serve``: serve models over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from defrag._progress import escaped
from defrag.cli._console import examples
from defrag.cli._data import AllowFlag, DenyFlag, LanguageFlag
from defrag.cli._flags import File, argument, option

HELP = (
    "Serve models over HTTP.\n\n"
    "The page at / suggests and explains labels of a text. POST /v1/suggest and /v1/explain take "
    "and return JSON; /docs and /openapi.json describe them. /v1/projects is Annif's interface, "
    "/mcp has tools for language models, /label-studio is a backend of Label Studio; "
    "/healthz, /readyz and /metrics are for monitoring. With --corrections, people teach the first "
    "model. Listens on this machine only; any other "
    "--host requires --token-file or --no-auth. A model is reloaded when its file changes, and all "
    "models on SIGHUP; replace files by renaming. SIGTERM stops the server after open requests "
    "have been answered. Requires the extra 'serve' of the package."
) + examples(
    "defrag serve model.safetensors",
    "defrag serve texts.safetensors rows.safetensors --port 9000 --workers 4",
    "defrag serve model.safetensors --vocabulary yso-fi.tsv --language fi",
    "defrag serve model.safetensors --corrections said.jsonl --documents docs.jsonl",
    'curl --json \'{"text": "a text"}\' http://127.0.0.1:8765/v1/suggest',
)


@dataclass(frozen=True)
class Bounds:
    """Limits on requests and connections."""

    timeout: Annotated[
        float, option("Maximum time for a client to send a request, in seconds.", min=0.1)
    ] = 10.0
    max_body: Annotated[int, option("Maximum size of a request, in bytes.", min=1)] = 1 << 20
    max_k: Annotated[int, option("Maximum number of labels per answer.", min=1)] = 1000
    max_batch: Annotated[int, option("Maximum number of texts or rows per request.", min=1)] = 32
    max_requests: Annotated[
        int, option("Maximum number of concurrent requests per worker.", min=1)
    ] = 256
    max_connections: Annotated[
        int, option("Maximum number of concurrent connections per worker.", min=1)
    ] = 1000


def serve(
    *,
    models: Annotated[list[str], argument("MODEL...", "The model files.")],
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    port: Annotated[int, option("Port; 0 chooses a free one.", min=0, max=65535)] = 8765,
    token_file: Annotated[File, "File with the token that clients must send."] = None,
    no_auth: Annotated[bool, "Allow another --host without a token."] = False,
    allow_host: Annotated[
        list[str] | None,
        "Name under which clients address the server, besides localhost and --host; may "
        "be repeated.",
        "NAME",
    ] = None,
    thesaurus: Annotated[
        File,
        "Names of the labels, instead of those in the models. Annif's routes suggest these labels "
        "only.",
    ] = None,
    language: LanguageFlag = None,
    allow: AllowFlag = None,
    deny: DenyFlag = None,
    corrections: Annotated[
        File,
        "File to which corrections are appended as JSON lines; the first model learns from them "
        "at once.",
    ] = None,
    documents: Annotated[File, "Texts to label, and to train on again if they have labels."] = None,
    retrain_after: Annotated[
        int, option("Corrections after which the first model is trained again; 0: never.", min=0)
    ] = 50,
    workers: Annotated[
        int, option("Number of worker processes; they share the models.", min=1, max=256)
    ] = 1,
    watch: Annotated[
        float, option("Seconds between checks of the model files; 0: never.", min=0)
    ] = 1.0,
    log_json: Annotated[bool, "Log events and requests as JSON lines."] = False,
    bounds: Bounds,
) -> None:
    """Serve models over HTTP."""
    with needing_serve():
        from defrag.serving.settings import (  # noqa: PLC0415 - an extra
            Limits,
            Settings,
            is_loopback,
        )  # fmt: skip
        from defrag.serving.supervisor import Supervisor  # noqa: PLC0415 - as above
    if token_file is None and not no_auth and not is_loopback(host):
        raise ValueError(f"--host {host} is not this machine: give --token-file or --no-auth")
    if documents is not None and corrections is None:
        raise ValueError("--documents changes nothing without --corrections")
    token = None if token_file is None else _token(token_file)
    names = [Path(path).name.removesuffix(".safetensors") for path in models]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two models have the name {escaped(name)}")
    settings = Settings(
        models=dict(zip(names, models, strict=True)),
        host=host,
        port=port,
        workers=workers,
        limits=Limits(**vars(bounds)),
        token=token,
        allow_hosts=tuple(allow_host or ()),
        json_log=log_json,
        watch=watch,
        thesaurus=thesaurus,
        language=language,
        allow=None if allow is None else tuple(allow),
        deny=tuple(deny or ()),
        corrections=corrections,
        documents=documents,
        retrain_after=retrain_after,
    )

    def announce(number: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        typer.echo(f"serving {', '.join(map(escaped, names))} at http://{shown}:{number}")

    Supervisor(settings, announce).run()


@contextmanager
def needing_serve() -> Iterator[None]:
    """Name the extra of the package if one of its packages is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing not in {"httptools", "msgspec", "prometheus_client", "starlette", "uvicorn"}:
            raise
        raise ValueError(f"{missing} is not installed: pip install 'defrag[serve]'") from error


def _token(path: str) -> str:
    token = Path(path).read_text(encoding="ascii", errors="replace").strip()
    if not token or not token.isprintable() or " " in token or not token.isascii():
        raise ValueError(f"{path}: a token must be one printable ASCII word")
    return token
