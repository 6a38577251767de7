"""Labels chosen by a language model among a shortlist, as a module of DSPy.

The language model here is a stand-in that answers offline; put your own in its place, and let
DSPy's optimisers improve the prompt: ``metric`` is what they need.
"""

import sys
from typing import Any

from defrag import TextClassifier, load_dataset

try:
    import dspy
    from dspy.utils import DummyLM
except ImportError:
    sys.exit("this example needs DSPy: pip install dspy")


class ChooseLabels(dspy.Module):
    """Choose labels among the fewest candidates that hold a share of those within reach."""

    def __init__(self, classifier: TextClassifier, recall: float = 0.8) -> None:
        super().__init__()
        self.classifier, self.recall = classifier, recall
        self.choose = dspy.Predict("text, candidates: list[str] -> chosen: list[str]")

    def forward(self, text: str) -> dspy.Prediction:
        """Return the chosen labels; what is not among the candidates is made up, and left out."""
        found = [one.label for one in self.classifier.shortlist([text], self.recall)[0]]
        chosen = self.choose(text=text, candidates=found).chosen
        return dspy.Prediction(chosen=[one for one in chosen if one in found], candidates=found)


def metric(example: Any, prediction: Any, _: Any = None) -> float:
    """Return the F1 of the labels of a text."""
    right = len({*example.chosen} & {*prediction.chosen})
    return 2 * right / max(1, len(example.chosen) + len(prediction.chosen))


model = TextClassifier(random_state=0).fit(*load_dataset("debian").texts("train", 10_000))
dspy.configure(lm=DummyLM([{"chosen": '["python3", "libc6", "made-up"]'}]))
example = dspy.Example(text="a python module to parse xml documents", chosen=["python3"])
answer = ChooseLabels(model)(text=example.text)
print(
    f"{len(answer.candidates)} candidates, chosen {answer.chosen}, F1 {metric(example, answer):.2f}"
)
