"""A model in MLflow: its file is an artefact, and this script the code that reads it.

MLflow runs the script ("models from code"), so that nothing is pickled. In a run of your own,
`mlflow.pyfunc.log_model` takes the same arguments.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from defrag import TextClassifier, load, load_dataset

try:
    import mlflow
except ImportError:
    sys.exit("this example needs MLflow: pip install mlflow-skinny pandas")


class Suggestions(mlflow.pyfunc.PythonModel):
    """Scores of the best labels of texts."""

    def load_context(self, context: Any) -> None:
        """Read the model file."""
        self.model = load(context.artifacts["model"])

    def predict(self, model_input: list[str]) -> list[dict[str, float]]:
        """Return the best three labels of each text."""
        names, scores = self.model.predict_topk(model_input, k=3)
        return list(map(dict, map(zip, names.tolist(), scores.tolist())))


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    file = str(folder / "model.safetensors")
    TextClassifier(random_state=0).fit(*load_dataset("debian").texts("train", 5000)).save(file)
    of_model = {"python_model": __file__, "artifacts": {"model": file}}
    mlflow.pyfunc.save_model(folder / "mlflow", **of_model, pip_requirements=["defrag"])
    print(mlflow.pyfunc.load_model(str(folder / "mlflow")).predict(["a GTK image viewer"])[0])
    print("pickles:", [path.name for path in folder.rglob("*.pkl")])
else:
    mlflow.models.set_model(Suggestions())
