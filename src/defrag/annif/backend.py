"""Annif backend for the classifiers of defrag"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from defrag import load
from defrag.annif import bridge
from defrag.annif.settings import unknown_settings

from annif.backend import backend, hyperopt
from annif.eval import EvaluationBatch
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
)
from annif.suggestion import SuggestionBatch
from annif.util import boolean

if TYPE_CHECKING:
    from defrag import TextClassifier

    from annif.corpus import Document, DocumentCorpus


class DefragHPObjective(hyperopt.HPObjective):
    """Objective function of the defrag hyperparameter optimizer"""

    @classmethod
    def objective(cls, trial: Any, args: dict[str, Any]) -> float:
        subjects = args["subjects"]
        found, gold = bridge.tried(trial, args["params"], args["docs"], subjects)
        batch = EvaluationBatch(subjects)
        batch.evaluate_many(SuggestionBatch(found), gold)
        return float(batch.results(metrics=[args["metric"]])[args["metric"]])


class DefragOptimizer(hyperopt.HyperparameterOptimizer):
    """Hyperparameter optimizer for the defrag backend"""

    def _prepare(self, n_jobs: int = 1) -> dict[str, Any]:
        project, params = self._backend.project, self._backend.params
        corpus = project.transform.transform_corpus(self._corpus)
        return {
            "params": params,
            "docs": bridge.labelled(project, corpus, params),
            "subjects": project.subjects,
            "metric": self._metric,
        }

    def _postprocess(self, study: Any) -> hyperopt.HPRecommendation:
        lines = [f"{name}={value}" for name, value in study.best_params.items()]
        return hyperopt.HPRecommendation(lines=lines, score=study.best_value)


class DefragBackend(backend.AnnifLearningBackend, hyperopt.AnnifHyperoptBackend):
    """defrag backend for Annif"""

    name = "defrag"

    # defaults for uninitialized instances
    _model: TextClassifier | None = None

    MODEL_FILE = "defrag-model.safetensors"
    TRAIN_FILE = "defrag-train.jsonl"

    DEFAULT_PARAMETERS = {"answers": False, "names": True}

    def _existing(self, name: str) -> str:
        path = os.path.join(self.datadir, name)
        if not os.path.exists(path):
            message = f"{path} not found"
            raise NotInitializedException(message, backend_id=self.backend_id)
        return path

    @property
    def model(self) -> TextClassifier:
        """the trained classifier, for the present vocabulary"""
        if self._model is None:
            model = load(self._existing(self.MODEL_FILE))
            self._model = bridge.follow_vocabulary(model, self.project.subjects)
        return self._model

    def initialize(self, parallel: bool = False) -> None:
        self.model  # loaded before processes are forked, which then share it

    def _keep(self, corpus: DocumentCorpus, params: dict[str, Any], more: bool) -> None:
        texts, uris, _ = bridge.labelled(self.project, corpus, params)
        path = os.path.join(self.datadir, self.TRAIN_FILE)
        bridge.keep_documents(path, texts, uris, more=more)

    def _create_model(self, params: dict[str, Any], jobs: int = 0) -> None:
        for name in unknown_settings(params):
            self.warning(f"unknown setting {name}")
        documents = self._existing(self.TRAIN_FILE)
        try:
            model = bridge.train(self.project, params, documents, jobs or -1)
        except ValueError as err:
            raise ConfigurationException(str(err), self.project.project_id) from err
        model.save(os.path.join(self.datadir, self.MODEL_FILE))
        self._model = model

    def _train(
        self, corpus: DocumentCorpus, params: dict[str, Any], jobs: int = 0
    ) -> None:
        if corpus == "cached":
            self.info("Reusing cached training data from previous run.")
        elif corpus.is_empty():
            raise NotSupportedException("Cannot train defrag project with no documents")
        else:
            self._keep(corpus, params, more=False)
        self._create_model(params, jobs)

    def _learn(self, corpus: DocumentCorpus, params: dict[str, Any]) -> None:
        self._existing(self.TRAIN_FILE)
        self._keep(corpus, params, more=True)
        self._create_model(params)

    def _suggest_batch(
        self, docs: list[Document], params: dict[str, Any]
    ) -> SuggestionBatch:
        texts = bridge.texts_of(self.project, docs, params)
        chosen = {"limit": int(params["limit"]), "answers": boolean(params["answers"])}
        found = bridge.suggested(self.model, texts, self.project.subjects, **chosen)
        return SuggestionBatch(found)

    def get_hp_optimizer(self, corpus: DocumentCorpus, metric: str) -> DefragOptimizer:
        if corpus.is_empty():
            raise NotSupportedException("Cannot optimize defrag without documents")
        return DefragOptimizer(self, corpus, metric, DefragHPObjective)
