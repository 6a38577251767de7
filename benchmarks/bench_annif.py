"""Annif's projects on makupalat: F1@5 and training time of our backend beside omikuji's.

Stock Annif from PyPI trains each project on the 15,361 training texts (Finnish) and evaluates it on
the test texts, one job. Seconds are CPU time of the whole command, which takes those of the first
row without any work; each is the least of the repeats.

    python tools/make_annif_environment.py /tmp/annif
    python benchmarks/bench_annif.py /tmp/annif [--repeats 3]
"""

import argparse
import json
import lzma
import os
import re
import resource
import subprocess
import tempfile
from pathlib import Path

import common  # noqa: F401 - sets DEFRAG_DATA

DATA = Path(os.environ["DEFRAG_DATA"]) / "makupalat"
METRICS = ("Precision@1", "F1@5", "NDCG@5")
OMIKUJI = {"backend": "omikuji", "min_df": "2"}
BONSAI = {"cluster_balanced": "False", "cluster_k": "100", "max_depth": "3"}
PROJECTS = {
    "defrag": {"backend": "defrag"},
    "defrag, characters=4": {"backend": "defrag", "characters": "4"},
    "defrag, characters=4, n_trees=3": {"backend": "defrag", "characters": "4", "n_trees": "3"},
    "omikuji, snowball(finnish)": {**OMIKUJI, "analyzer": "snowball(finnish)"},
    "omikuji, simplemma(fi)": {**OMIKUJI, "analyzer": "simplemma(fi)"},
    "omikuji as Bonsai, snowball(finnish)": {**OMIKUJI, **BONSAI, "analyzer": "snowball(finnish)"},
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        annif = Annif(options.environment.resolve(), folder)
        annif.run("load-vocab", "ykl", "vocabulary.tsv", "-L", "fi")
        start = min(annif.run("list-projects") for _ in range(options.repeats))
        print(f"| project | {' | '.join(METRICS)} | train, CPU s |\n|---|---|---|---|---|")
        print(f"| (`annif list-projects`) | | | | {start:.1f} |", flush=True)
        for number, project in enumerate(PROJECTS):
            command = ("train", f"p{number}", "train.tsv", "-j", "1")
            train = [annif.run(*command) for _ in range(options.repeats)]
            annif.run(
                "eval", f"p{number}", "test.tsv", "-l", "100", "-t", "0", "-M", "metrics.json"
            )
            found = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
            shown = " | ".join(f"{found[metric]:.3f}" for metric in METRICS)
            print(f"| {project} | {shown} | {min(train):.1f} |", flush=True)


class Annif:
    """The command ``annif`` of an environment, run in a folder."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self._program = environment / "bin" / "annif"
        self._folder = folder
        self._variables = {**os.environ, "NLTK_DATA": str(environment / "nltk_data")}
        self._variables.pop("PYTHONPATH", None)

    def run(self, *arguments: str) -> float:
        """Run a command; return its CPU time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [self._program, *arguments],
            cwd=self._folder,
            env=self._variables,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_files(folder: Path) -> None:
    """Write texts, the vocabulary of their subjects and the projects."""
    uris = set()
    for part in ("train", "test"):
        text = lzma.decompress((DATA / f"makupalat-{part}.tsv.xz").read_bytes()).decode()
        (folder / f"{part}.tsv").write_text(text, encoding="utf-8")
        uris |= set(re.findall(r"<(http[^>]+)>", text))
    lines = [f"<{uri}>\t{uri.rpartition(':')[2]}\n" for uri in sorted(uris)]
    (folder / "vocabulary.tsv").write_text("".join(lines), encoding="utf-8")
    sections = [
        "\n".join(
            [f"[p{number}]", f"name={name}", "language=fi", "vocab=ykl"]
            + [f"{key}={value}" for key, value in settings.items()]
        )
        for number, (name, settings) in enumerate(PROJECTS.items())
    ]
    (folder / "projects.cfg").write_text("\n\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
