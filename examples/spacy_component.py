"""A component of spaCy: `doc.cats` from thousands of labels, where a `textcat` has dozens.

The pipeline is saved with the model file, and loaded where this component is registered.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from defrag import TextClassifier, load_dataset
from defrag.hub import from_pretrained, save_pretrained

try:
    import spacy
    from spacy.tokens import Doc
except ImportError:
    sys.exit("this example needs spaCy: pip install spacy")


@spacy.Language.factory("defrag", default_config={"path": None})
class Labels:
    """Sets the scores of the best three labels of documents; `path` is a folder or of the Hub."""

    def __init__(self, nlp: spacy.Language, name: str, path: str | None) -> None:  # noqa: ARG002
        self.model = None if path is None else from_pretrained(path)

    def __call__(self, doc: Doc) -> Doc:
        """Label one document."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """Label many documents, a batch at a time."""
        for docs in spacy.util.minibatch(stream, batch_size):
            names, scores = self.model.predict_topk([doc.text for doc in docs], k=3)
            for doc, *found in zip(docs, names.tolist(), scores.tolist(), strict=True):
                doc.cats = {label: score for label, score in zip(*found, strict=True) if label}
                yield doc

    def to_disk(self, path: Path, **_: Any) -> None:
        """Write the model where spaCy writes the pipeline."""
        save_pretrained(self.model, path)

    def from_disk(self, path: Path, **_: Any) -> None:
        """Read the model."""
        self.model = from_pretrained(path)


folder = Path(tempfile.mkdtemp())
model = TextClassifier(random_state=0).fit(*load_dataset("debian").texts("train", 5000))
nlp = spacy.blank("en")
nlp.add_pipe("defrag", config={"path": str(save_pretrained(model, folder / "model"))})
nlp.to_disk(folder / "pipeline")
again = spacy.load(folder / "pipeline", config={"components": {"defrag": {"path": None}}})
for doc in again.pipe(["a GTK image viewer", "bindings of a C library for Python"]):
    print(doc.text, {label: round(score, 2) for label, score in doc.cats.items()})
print("same before it was saved:", nlp("an editor").cats == again("an editor").cats)
