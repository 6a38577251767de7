"""Text in, label names out."""

from __future__ import annotations

from defrag.text.classifier import TextClassifier
from defrag.text.conversion import text_matrices
from defrag.text.vectorizer import TextVectorizer

__all__ = ["TextClassifier", "TextVectorizer", "text_matrices"]
