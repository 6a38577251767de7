"""Build the bundled data set, ``src/defrag/io/data/debian.xz``.

There are two sources.

``from-lists`` reads the package lists of a Debian mirror: for each release, newest first, a
folder with the files ``Packages`` (dists/RELEASE/main/binary-amd64, and contrib and non-free as
``Packages.contrib`` and so on) and ``Translation-en`` (dists/RELEASE/main/i18n), plain or
compressed with .xz, .gz or .bz2::

    python tools/build_debian.py from-lists debian.xz sid trixie bookworm bullseye

- A package is taken from the first release that has it.
- Its text is ``name. short description long description``, lines joined by spaces.
- Its labels are all packages named in Pre-Depends, Depends, Recommends and Suggests,
  every alternative among them, without versions and architectures.
- A quarter of the packages is for testing: those whose name has a SHA-256 digest divisible
  by 4. A label counts if a training package has it, a word (two or more letters,
  digits or underscores, in lower case) if two training packages have it. Packages without
  a label or without a word are left out.

``from-text`` reads a folder of packages that are already split: ``train.raw.jsonl.xz``
and ``test.raw.jsonl.xz`` (one object with "text" and "labels" per line),
``vocab.txt.xz``, ``labels.txt.xz``, and ``train.txt.xz`` and ``test.txt.xz`` with tf-idf
values, against which the result is checked::

    python tools/build_debian.py from-text src/defrag/io/data/debian.xz FOLDER

The bundled file was made this way from lists of bullseye, bookworm, trixie and sid. What is
known about that folder: its vocabulary is exactly the words of the rule above; its values are
``tf_idf`` of ``defrag.io.datasets``; training and test rows keep the order of the lists, sid
first. Its labels agree with the rule above as far as one list can show: in a sample of 47,381
packages that are also in bookworm, 25,125 have exactly the labels that the rule finds in
bookworm, more than with the first alternatives only (23,126) or without Pre-Depends (25,039);
the other packages were taken from a newer release. How its test packages were drawn is not
known.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import json
import lzma
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag.io.datasets import tf_idf

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD = re.compile(r"\b\w\w+\b")
RELATIONS = ("Pre-Depends", "Depends", "Recommends", "Suggests")
OPENERS = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
# Relative rounding error of six printed digits.
ROUNDING = 5.1e-6
Package = tuple[str, list[str]]


def main(arguments: list[str] | None = None) -> int:
    """Build the data set from one of the two sources."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    lists = ways.add_parser("from-lists", help="from the package lists of Debian releases")
    lists.add_argument("output", type=Path)
    lists.add_argument("releases", type=Path, nargs="+", help="folders, newest release first")
    text = ways.add_parser("from-text", help="from a folder of texts, labels and vocabulary")
    text.add_argument("output", type=Path)
    text.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.way == "from-lists":
        parts, vocabulary, names = from_lists(options.releases)
    else:
        parts, vocabulary, names = from_text(options.folder)
    write_bundle(options.output, parts, vocabulary, names)
    for part, (words, labels) in parts.items():
        print(f"{part}: {words.shape[0]} rows, {words.nnz} words, {labels.nnz} labels")
    print(f"{options.output}: {options.output.stat().st_size} bytes")
    return 0


def read_text(path: Path) -> str:
    """Return the content of a text file, decompressed if necessary."""
    opener = OPENERS.get(path.suffix)
    content = path.read_bytes() if opener is None else opener(path).read()
    return content.decode("utf-8")


def words_of(text: str) -> Counter[str]:
    """Count the words of a text."""
    return Counter(WORD.findall(text.lower()))


def matrix(rows: list[dict[int, int]], n_columns: int) -> sparse.csr_array:
    """Return a matrix of rows that map columns to counts."""
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    columns = [column for row in rows for column in sorted(row)]
    values = [row[column] for row in rows for column in sorted(row)]
    data = (np.array(values, dtype=np.int64), np.array(columns, dtype=np.int32), indptr)
    return sparse.csr_array(data, shape=(len(rows), n_columns))


def tables(
    packages: list[Package], vocabulary: list[str], names: list[str]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return word counts and labels as matrices, without unknown words and labels."""
    word_id = {word: i for i, word in enumerate(vocabulary)}
    label_id = {label: i for i, label in enumerate(names)}
    words = [
        {word_id[word]: n for word, n in words_of(text).items() if word in word_id}
        for text, _ in packages
    ]
    labels = [{label_id[x]: 1 for x in found if x in label_id} for _, found in packages]
    return matrix(words, len(vocabulary)), matrix(labels, len(names))


# Package lists of a mirror.


def stanzas(path: Path) -> Iterator[dict[str, str]]:
    """Yield the paragraphs of a Debian control file; continuation lines keep their breaks."""
    for paragraph in read_text(path).split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in paragraph.splitlines():
            if line[:1] in {" ", "\t"} and key:
                fields[key] += "\n" + line[1:]
            elif ":" in line:
                key, _, value = line.partition(":")
                fields[key] = value.strip()
        if "Package" in fields:
            yield fields


def relations(fields: dict[str, str]) -> list[str]:
    """Return the names of all packages that a package depends on, recommends or suggests."""
    found = set()
    for relation in RELATIONS:
        for name in re.split(r"[,|]", fields.get(relation, "")):
            bare = re.split(r"[\s(:\[<]", name.strip(), maxsplit=1)[0]
            if bare:
                found.add(bare)
    return sorted(found - {fields["Package"]})


def release_packages(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, text and labels of each package of a release."""
    descriptions = {}
    for path in sorted(folder.glob("Translation-en*")):
        for fields in stanzas(path):
            descriptions[fields["Package"]] = fields.get("Description-en", "")
    paths = sorted(folder.glob("Packages*"))
    if not paths:
        raise SystemExit(f"{folder}: no file named Packages")
    for path in paths:
        for fields in stanzas(path):
            name = fields["Package"]
            description = descriptions.get(name) or fields.get("Description", "")
            lines = [line.strip() for line in description.splitlines()]
            yield (
                name,
                f"{name}. " + " ".join(x for x in lines if x not in {"", "."}),
                (relations(fields)),
            )


def from_lists(
    releases: list[Path],
) -> tuple[dict[str, tuple[Any, Any]], list[str], list[str]]:
    """Build both splits from the lists of releases."""
    packages: dict[str, Package] = {}
    for folder in releases:
        for name, text, labels in release_packages(folder):
            packages.setdefault(name, (text, labels))
    split: dict[str, list[Package]] = {"train": [], "test": []}
    for name, package in packages.items():
        digest = hashlib.sha256(name.encode()).digest()
        split["test" if digest[-1] % 4 == 0 else "train"].append(package)
    held = Counter(word for text, _ in split["train"] for word in words_of(text))
    vocabulary = sorted(word for word, n in held.items() if n >= 2)
    names = sorted({label for _, labels in split["train"] for label in labels})
    parts = {}
    for part, rows in split.items():
        words, labels = tables(rows, vocabulary, names)
        full = (np.diff(words.indptr) > 0) & (np.diff(labels.indptr) > 0)
        parts[part] = (words[full], labels[full])
    return parts, vocabulary, names


# A folder of texts.


def read_packages(path: Path) -> list[Package]:
    """Read a file of texts and labels."""
    packages = []
    # Only a line feed ends a line: a description may contain other line breaks.
    for line in read_text(path).split("\n")[:-1]:
        fields = json.loads(line)
        packages.append((fields["text"], fields["labels"]))
    return packages


def read_values(path: Path) -> tuple[int, list[tuple[list[int], dict[int, float]]]]:
    """Return the declared number of rows, and the labels and values of each row."""
    header, *lines = read_text(path).split("\n")[:-1]
    rows = []
    for line in lines:
        labels, _, values = line.partition(" ")
        pairs = (pair.split(":") for pair in values.split())
        rows.append(
            (
                [int(label) for label in labels.split(",") if label],
                {int(word): float(value) for word, value in pairs},
            )
        )
    return int(header.split()[0]), rows


def check_values(words: sparse.csr_array, frequency: np.ndarray, n: int, rows: list[Any]) -> None:
    """Exit with an error unless the weighted counts equal the values of the folder."""
    weighted = tf_idf(words, frequency, n)
    given = [value for _, values in rows for _, value in sorted(values.items())]
    columns = [column for _, values in rows for column in sorted(values)]
    if not np.array_equal(columns, weighted.indices):
        raise SystemExit("the words of the texts differ from those of the values")
    worst = float(np.abs(weighted.data / np.array(given) - 1).max())
    if worst > 2 * ROUNDING:
        raise SystemExit(
            f"the weighted counts differ from the values by a relative error of {worst}"
        )


def from_text(folder: Path) -> tuple[dict[str, tuple[Any, Any]], list[str], list[str]]:
    """Build both splits from texts and check them against the values of the folder."""
    vocabulary = read_text(folder / "vocab.txt.xz").split("\n")[:-1]
    names = read_text(folder / "labels.txt.xz").split("\n")[:-1]
    parts: dict[str, tuple[Any, Any]] = {}
    for part in ("train", "test"):
        words, labels = tables(read_packages(folder / f"{part}.raw.jsonl.xz"), vocabulary, names)
        declared, rows = read_values(folder / f"{part}.txt.xz")
        if len(rows) != declared:
            raise SystemExit(f"{part}.txt.xz declares {declared} rows and has {len(rows)}")
        if words.shape[0] != len(rows):
            raise SystemExit(f"{part} has {len(rows)} rows and {words.shape[0]} texts")
        if labels.indices.tolist() != [label for row, _ in rows for label in sorted(row)]:
            raise SystemExit(f"{part}: the labels of the texts differ from those of the values")
        if part == "train":
            frequency = np.bincount(words.indices, minlength=len(vocabulary))
            n = words.shape[0]
        check_values(words, frequency, n, rows)
        parts[part] = (words, labels)
    return parts, vocabulary, names


# The bundled file.


def write_bundle(
    path: Path, parts: dict[str, tuple[Any, Any]], vocabulary: list[str], names: list[str]
) -> None:
    """Write the file that ``defrag.io.datasets`` reads."""
    sections: dict[str, bytes] = {
        "feature_names": "\n".join(vocabulary).encode(),
        "label_names": "\n".join(names).encode(),
    }
    for part, (words, labels) in parts.items():
        for kind, table in (("words", words), ("labels", labels)):
            prefix = f"{part}.{kind}"
            sections[f"{prefix}.lengths"] = narrow(np.diff(table.indptr))
            sections[f"{prefix}.columns"] = narrow(table.indices)
        sections[f"{part}.words.counts"] = narrow(words.data)
    header = {
        "format": 1,
        "n_features": len(vocabulary),
        "n_labels": len(names),
        "sections": [[name, len(content)] for name, content in sections.items()],
    }
    streams = [compress(json.dumps(header).encode() + b"\n", literal_position=0)]
    for name, content in sections.items():
        streams.append(compress(content, literal_position=int(not name.endswith("_names"))))
    path.write_bytes(b"".join(streams))


def narrow(values: np.ndarray) -> bytes:
    """Return numbers as little-endian 16-bit integers."""
    if values.size and values.max() > np.iinfo(np.uint16).max:
        raise SystemExit(f"{values.max()} does not fit 16 bits")
    return values.astype("<u2").tobytes()


def compress(content: bytes, *, literal_position: int) -> bytes:
    """Compress one section; `literal_position` is 0 for bytes and 1 for 16-bit numbers."""
    coder = {
        "id": lzma.FILTER_LZMA2,
        "preset": 9 | lzma.PRESET_EXTREME,
        "lc": 3,
        "lp": literal_position,
        "pb": literal_position,
    }
    return lzma.compress(content, format=lzma.FORMAT_XZ, filters=[coder])


if __name__ == "__main__":
    sys.exit(main())
