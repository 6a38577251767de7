"""Clusterings of features that the paper compares DEFRAG with, and three trivial ones."""
