"""Candidate labels as a retriever of LangChain, in front of any chat model.

The chat model here is a stand-in that answers offline; put your own in its place.
"""

import sys
from typing import Any

from defrag import TextClassifier, load_dataset

try:
    from langchain_core.documents import Document
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.output_parsers import CommaSeparatedListOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnablePassthrough
except ImportError:
    sys.exit("this example needs LangChain: pip install langchain-core")


class LabelRetriever(BaseRetriever):
    """The fewest candidate labels that hold a share of those within reach."""

    classifier: Any
    recall: float = 0.8
    words: int = 2

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        found = self.classifier.shortlist([query], self.recall, words=self.words)[0]
        return [
            Document(one.description or one.name or one.label, metadata=one._asdict())
            for one in found
        ]


model = TextClassifier(random_state=0).fit(*load_dataset("debian").texts("train", 10_000))
retriever = LabelRetriever(classifier=model)
chat = FakeListChatModel(responses=["python3, libc6"])
prompt = ChatPromptTemplate.from_template(
    "Choose labels for the text, separated by commas.\nText: {text}\nLabels: {labels}"
)


def as_list(found: list[Document]) -> str:
    """Return candidates as lines of a prompt."""
    return "\n".join(f"{one.metadata['label']} {one.metadata['words']}" for one in found)


labels = {"text": RunnablePassthrough(), "labels": retriever | as_list}
chain = labels | prompt | chat | CommaSeparatedListOutputParser()
text = "a python module to parse xml documents"
print(f"{len(retriever.invoke(text))} candidates, the first {retriever.invoke(text)[0].metadata}")
print("chosen:", chain.invoke(text))
