"""What a classifier needs of an Annif project, without importing Annif.

The words of its analyzer, the names of its subjects, the documents kept for ``annif learn``, and
suggestions as the numbers of its subjects.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from defrag.annif.settings import build_classifier, tried_settings
from defrag.io.corpora import read_texts
from defrag.io.files import PathLike, atomic_writer
from defrag.specs import parse_value
from defrag.text.classifier import TextClassifier
from defrag.thesaurus import Thesaurus
from defrag.typing import Csr

_NO_WORD, _END = re.compile(r"\W+"), re.compile(r"(?<=[.!?;:])\s+|\n")


def analysed(text: str, analyzer: Any) -> str:
    """Return the words that an analyzer of Annif finds in a text, a line for each sentence.

    Sentences stay apart, as our kernel ends them, because names are found in one of them; a word
    that our tokeniser would cut is joined by ``_``.
    """
    return "\n".join(
        " ".join(_NO_WORD.sub("_", word) for word in analyzer.tokenize_words(sentence))
        for sentence in _END.split(text)
    )


def thesaurus_of(
    subjects: Iterable[tuple[int, Any]],
    skos: PathLike | None = None,
    *,
    analyzer: Any = None,
    language: str | None = None,
) -> Thesaurus:
    """Return the names of subjects.

    - ``subjects``: numbers and Annif's ``Subject``: ``uri``, ``labels`` by language, ``notation``.
    - ``skos``: a file with their alternative names.
    - ``analyzer``: its words of each name in the language are a further alternative name, which
      is found in texts that it has analysed.
    - Raises FormatError if the file cannot be read.
    """
    records = {
        one.uri: {"id": one.uri, "name": {code: name for code, name in one.labels.items() if name},
                  "notation": one.notation or None}
        for _, one in subjects
    }  # fmt: skip
    more: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    # Annif writes the file for any vocabulary: reading it takes a second for 40,000 names.
    if skos is not None and re.search(rb"(alt|hidden)Label", Path(skos).read_bytes()):
        for uri, what, name, code in Thesaurus.read(skos).statements():
            if what == "alternative" and uri in records:
                more[uri][code].append(name)
    for uri, record in records.items():
        if analyzer is not None:
            known = [record["name"].get(language), *more[uri][language or ""]]
            found = (analysed(name, analyzer) for name in known if name)
            more[uri][language or ""] += [name for name in found if name]
        record["alternatives"] = more[uri]
    return Thesaurus.of(records.values())


def follow_vocabulary(model: TextClassifier, subjects: Any) -> TextClassifier:
    """Let a model suggest the subjects of a vocabulary only, and new ones by their names."""
    active = {one.uri: (number, one) for number, one in subjects.active}
    known = set(model.classes_.tolist())
    new = [active[uri] for uri in sorted(active.keys() - known)]
    gone = [{"id": uri, "withdrawn": True} for uri in sorted(known - active.keys())]
    if gone:
        model.add_labels(Thesaurus.of(gone))
    if new and model.thesaurus_ is not None:
        model.add_labels(thesaurus_of(new))
    return model


def suggested(
    model: TextClassifier, texts: list[str], subjects: Any, limit: int, *, answers: bool = False
) -> Csr:
    """Return the scores of the best subjects of texts, or only the answers, by their numbers."""
    names, scores = model.predict_topk(texts, k=max(1, limit), answers=answers)
    numbers = [subjects.by_uri(uri, False) for uri in names.ravel().tolist()]
    found = np.array([-1 if one is None else one for one in numbers], dtype=np.int64)
    found = found.reshape(names.shape)
    rows, places = np.nonzero((found >= 0) & (scores > 0))
    values = np.minimum(scores[rows, places], np.float32(1.0))
    shape = len(texts), len(subjects)
    return sparse.csr_array((values, (rows, found[rows, places])), shape=shape)


def labelled(
    project: Any, corpus: Any, params: Mapping[str, Any]
) -> tuple[list[str], list[list[str]], list[Any]]:
    """Return the texts of documents that have subjects, the URIs of these, and Annif's sets."""
    known = [document for document in corpus.documents if document.subject_set]
    sets = [document.subject_set for document in known]
    uris = [[project.subjects[number].uri for number in one] for one in sets]
    return texts_of(project, known, params), uris, sets


def texts_of(project: Any, documents: Iterable[Any], params: Mapping[str, Any]) -> list[str]:
    """Return the texts of documents: their words, if the project has an analyzer."""
    if not params.get("analyzer"):
        return [document.text for document in documents]
    return [analysed(document.text, project.analyzer) for document in documents]


def tried(
    trial: Any,
    params: Mapping[str, Any],
    documents: tuple[list[str], list[list[str]], list[Any]],
    subjects: Any,
) -> tuple[Csr, list[Any]]:
    """Return suggestions, by the settings of a trial, for every fifth document, and its subjects.

    - ``documents``: of :func:`labelled`.
    """
    texts, uris, sets = documents
    settings = {**params, **tried_settings(trial, params)}
    train = [place for place in range(len(texts)) if place % 5 < 4]
    model = build_classifier(settings, n_jobs=1)
    model.fit([texts[place] for place in train], [uris[place] for place in train])
    return suggested(model, texts[4::5], subjects, int(params["limit"])), sets[4::5]


def train(project: Any, params: Mapping[str, Any], kept: PathLike, n_jobs: int) -> TextClassifier:
    """Return a classifier that is trained on kept documents.

    Raises ValueError if a setting is wrong or a file cannot be read.
    """
    model = build_classifier(params, n_jobs=n_jobs)
    vocab, active = project.vocab, project.subjects.active
    thesaurus = None
    if parse_value(str(params["names"])):
        thesaurus = thesaurus_of(
            active,
            Path(vocab.datadir) / vocab.INDEX_FILENAME_TTL,
            analyzer=project.analyzer if params.get("analyzer") else None,
            language=params.get("language"),
        )
    texts, labels = kept_documents(kept, (subject.uri for _, subject in active))
    return model.fit(texts, labels, thesaurus=thesaurus)


def keep_documents(path: PathLike, texts: list[str], uris: list[list[str]], *, more: bool) -> None:
    """Write documents as lines of JSON, instead of the kept ones or after them.

    They are on the disk when this returns.
    """
    lines = (
        json.dumps({"text": text, "labels": labels}, ensure_ascii=False).encode() + b"\n"
        for text, labels in zip(texts, uris, strict=True)
    )
    if not more:
        with atomic_writer(path) as file:
            file.writelines(lines)
        return
    with open(path, "ab") as file:  # noqa: PTH123 - atomic_writer takes the same paths
        file.write(b"".join(lines))
        file.flush()
        os.fsync(file.fileno())


def kept_documents(path: PathLike, known: Iterable[str]) -> tuple[list[str], list[list[str]]]:
    """Return the kept texts that have known labels, and these."""
    found, among = read_texts(path, form="jsonl"), set(known)
    rows = [[uri for uri in row if uri in among] for row in found.labels or []]
    pairs = [(text, row) for text, row in zip(found.texts, rows, strict=True) if row]
    return [text for text, _ in pairs], [row for _, row in pairs]
