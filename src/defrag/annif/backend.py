"""The backend: trains a text classifier whose labels are URIs, and suggests with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from annif.backend.backend import AnnifBackend
from annif.exception import ConfigurationException, NotInitializedException, NotSupportedException
from annif.suggestion import SuggestionBatch
from scipy import sparse

from defrag.annif.settings import build_classifier, unknown_settings
from defrag.persistence import load
from defrag.thesaurus import Thesaurus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from annif.corpus import Document, DocumentCorpus

    from defrag.text import TextClassifier
    from defrag.typing import Csr


class DefragBackend(AnnifBackend):
    """Annif backend for classifiers of this library.

    The classifier splits texts into words or characters itself: a project needs no analyzer. The
    model is one file whose labels are the URIs of the subjects, so that it can also be served or
    explained without Annif.
    """

    name = "defrag"
    MODEL_FILE = "defrag-model.safetensors"
    _model: TextClassifier | None = None
    _ids: dict[str, int]

    @property
    def path(self) -> Path:
        """The model file."""
        return Path(self.datadir) / self.MODEL_FILE

    @property
    def model(self) -> TextClassifier:
        """The trained classifier.

        Raises
        ------
        NotInitializedException
            If the model file does not exist.
        """
        if self._model is None:
            if not self.path.exists():
                raise NotInitializedException(
                    f"model {self.path} not found", backend_id=self.backend_id
                )
            return self._use(load(self.path))
        return self._model

    def initialize(self, parallel: bool = False) -> None:  # noqa: ARG002, FBT002 - Annif's signature
        """Load the model."""
        self.model  # noqa: B018 - loads it

    def _use(self, model: TextClassifier) -> TextClassifier:
        # Subjects removed from the vocabulary since training are not suggested.
        active = {subject.uri: number for number, subject in self.project.subjects.active}
        self._ids = {uri: active[uri] for uri in model.classes_ if uri in active}
        self._model = model
        return model

    def _train(self, corpus: DocumentCorpus, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached" or corpus.is_empty():
            what = "cached documents" if corpus == "cached" else "no documents"
            raise NotSupportedException(f"cannot train a defrag project with {what}")
        try:
            model = build_classifier(params, n_jobs=jobs or -1)
        except ValueError as error:
            raise ConfigurationException(str(error), project_id=self.project.project_id) from error
        for name in unknown_settings(params):
            self.warning(f"unknown setting {name}")
        texts, labels = [], []
        for document in corpus.documents:
            uris = [self.project.subjects[number].uri for number in document.subject_set]
            if uris:
                texts.append(document.text)
                labels.append(uris)
        self.info(f"training on {len(texts)} documents")
        model.fit(texts, labels, thesaurus=_thesaurus(self.project.subjects.active))
        model.save(self.path)
        self._use(model)

    def _suggest_batch(self, documents: list[Document], params: dict[str, Any]) -> SuggestionBatch:
        limit = max(1, int(params["limit"]))
        names, scores = self.model.predict_topk([one.text for one in documents], k=limit)
        ids = np.array([self._ids.get(uri, -1) for uri in names.ravel().tolist()]).reshape(
            names.shape
        )
        rows, places = np.nonzero((ids >= 0) & (scores > 0))
        values = np.minimum(scores[rows, places], np.float32(1.0))
        shape = (len(documents), len(self.project.subjects))
        array: Csr = sparse.csr_array((values, (rows, ids[rows, places])), shape=shape)
        return SuggestionBatch(array)


def _thesaurus(subjects: Iterable[tuple[int, Any]]) -> Thesaurus:
    """Return the names of the subjects of a project."""
    return Thesaurus.of(
        {
            "id": subject.uri,
            "name": {code: name for code, name in subject.labels.items() if name},
            "notation": subject.notation or None,
        }
        for _, subject in subjects
    )
