"""A subject index with Annif: a project with the backend ``defrag``, trained and asked.

Annif's own commands do the work; they find the backend because both packages are installed.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

if find_spec("annif") is None:
    sys.exit("this example needs Annif: pip install 'defrag[annif]'")

PROJECT = """
[subjects-en]
name=Subjects in English
language=en
backend=defrag
vocab=subjects
min_df=1
"""
SUBJECTS = {"cats": "purr mouse fur", "ships": "sea harbour sail", "bread": "flour oven yeast"}
URI = "http://example.org/"

folder = Path(tempfile.mkdtemp())
(folder / "projects.cfg").write_text(PROJECT)
(folder / "subjects.tsv").write_text("".join(f"<{URI}{s}>\t{s}\n" for s in SUBJECTS))
(folder / "corpus.tsv").write_text(
    "".join(f"{word} and {words}\t<{URI}{s}>\n"
            for s, words in SUBJECTS.items() for word in words.split() * 5)
)  # fmt: skip


def annif(*words: str, text: str | None = None) -> str:
    """Run a command of Annif in the folder."""
    program = Path(sys.executable).with_name("annif")
    command = [str(program), *words]
    return subprocess.run(  # noqa: S603 - the Annif of this environment
        command, cwd=folder, input=text, text=True, check=True, stdout=subprocess.PIPE
    ).stdout


annif("load-vocab", "--language", "en", "subjects", "subjects.tsv")
annif("train", "subjects-en", "corpus.tsv")
print(annif("suggest", "subjects-en", text="a loaf from the oven"), end="")
print(annif("defrag-explain", "subjects-en", text="a loaf from the oven"), end="")
