"""The backend: trains a text classifier whose labels are URIs, and suggests with it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from annif.backend.hyperopt import (
    AnnifHyperoptBackend,
    HPObjective,
    HPRecommendation,
    HyperparameterOptimizer,
)
from annif.eval import EvaluationBatch
from annif.exception import ConfigurationException, NotInitializedException, NotSupportedException
from annif.suggestion import SuggestionBatch
from scipy import sparse

from defrag.annif.settings import build_classifier, tunable, unknown_settings
from defrag.persistence import load
from defrag.specs import parse_value
from defrag.text import TextClassifier
from defrag.thesaurus import Thesaurus
from defrag.typing import Csr

if TYPE_CHECKING:
    from annif.corpus import Document, DocumentCorpus


class Trial(HPObjective):
    """Settings, tried by training on some of the documents and evaluating on the others."""

    @classmethod
    def objective(cls, trial: Any, args: dict[str, Any]) -> float:
        """Return the metric of some settings."""
        settings, known = dict(args["settings"]), tunable(args["settings"])
        settings["characters"] = trial.suggest_categorical("characters", ["none", "4", "5"])
        if "n_trees" in known:
            settings["n_trees"] = str(trial.suggest_int("n_trees", 1, 3))
        if "C" in known:
            settings["C"] = str(trial.suggest_float("C", 0.3, 3.0, log=True))
        model = build_classifier(settings, n_jobs=1).fit(*args["train"])
        ids, (texts, gold) = active_ids(model, args["subjects"]), args["held_out"]
        found = suggestions(model, texts, ids, int(settings["limit"]), len(args["subjects"]))
        batch = EvaluationBatch(args["subjects"])
        batch.evaluate_many(found, gold)
        return float(batch.results(metrics=[args["metric"]])[args["metric"]])


class Optimizer(HyperparameterOptimizer):
    """Optimizer of ``annif hyperopt``; every fifth document is held out."""

    def __init__(self, backend: DefragBackend, corpus: DocumentCorpus, metric: str) -> None:
        super().__init__(backend, corpus, metric, Trial)

    def _prepare(self, n_jobs: int = 1) -> dict[str, Any]:  # noqa: ARG002 - a trial has one thread
        subjects = self._backend.project.subjects
        known = [(one.text, one.subject_set) for one in self._corpus.documents if one.subject_set]
        held = [pair for place, pair in enumerate(known) if place % 5 == 4]
        train = [pair for place, pair in enumerate(known) if place % 5 != 4]
        labels = [[subjects[number].uri for number in found] for _, found in train]
        return {
            "settings": self._backend.params, "subjects": subjects, "metric": self._metric,
            "train": ([text for text, _ in train], labels),
            "held_out": ([text for text, _ in held], [found for _, found in held]),
        }  # fmt: skip

    def _postprocess(self, study: Any) -> HPRecommendation:
        lines = [f"{name}={value}" for name, value in study.best_params.items()]
        return HPRecommendation(lines=lines, score=study.best_value)


def active_ids(model: TextClassifier, subjects: Any) -> dict[str, int]:
    """Return the numbers of the labels of a model that the vocabulary still has."""
    active = {subject.uri: number for number, subject in subjects.active}
    return {uri: active[uri] for uri in model.classes_ if uri in active}


def suggestions(
    model: TextClassifier,
    texts: list[str],
    ids: dict[str, int],
    limit: int,
    n_subjects: int,
    *,
    answers: bool = False,
) -> SuggestionBatch:
    """Return the best subjects of texts, or only the answers, in the form of Annif."""
    names, scores = model.predict_topk(texts, k=max(1, limit), answers=answers)
    found = np.array([ids.get(uri, -1) for uri in names.ravel().tolist()]).reshape(names.shape)
    rows, places = np.nonzero((found >= 0) & (scores > 0))
    values = np.minimum(scores[rows, places], np.float32(1.0))
    array: Csr = sparse.csr_array(
        (values, (rows, found[rows, places])), shape=(len(texts), n_subjects)
    )
    return SuggestionBatch(array)


class DefragBackend(AnnifHyperoptBackend):
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

        Raises NotInitializedException if the model file does not exist.
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
        self._ids = active_ids(model, self.project.subjects)
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
        texts, limit = [one.text for one in documents], int(params["limit"])
        answers = bool(parse_value(str(params.get("answers", "false"))))
        n_subjects = len(self.project.subjects)
        return suggestions(self.model, texts, self._ids, limit, n_subjects, answers=answers)

    def get_hp_optimizer(self, corpus: DocumentCorpus, metric: str) -> Optimizer:
        """Return the optimizer of ``annif hyperopt``."""
        if corpus.is_empty():
            raise NotSupportedException("cannot try settings of a defrag project without documents")
        return Optimizer(self, corpus, metric)


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
