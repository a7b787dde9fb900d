"""Searching one open split: planning a predicate, rows, scores and snippets, and words that the index lacks."""

from indextables.split.search.index_search import Hits, IndexSearch, Positions, Scores
from indextables.split.search.missing_words import MissingWords
from indextables.split.search.plan import Plan, plan_predicate, positive_text_queries
from indextables.split.search.snippets import Highlighter
from indextables.split.search.text_answers import TextAnswers

__all__ = [
    "Highlighter",
    "Hits",
    "IndexSearch",
    "MissingWords",
    "Plan",
    "Positions",
    "Scores",
    "TextAnswers",
    "plan_predicate",
    "positive_text_queries",
]
