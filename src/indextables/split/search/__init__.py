"""Searching one open split: planning a predicate, rows, scores and snippets, and words that the index lacks."""

from indextables.split.search.explanations import EXPLANATION_TYPE, explanation
from indextables.split.search.fragments import Snippet
from indextables.split.search.global_ranking import Corpus, Weighting, Word, scored_words
from indextables.split.search.index_search import NO_HITS, Hits, IndexSearch, Positions, Scores
from indextables.split.search.missing_words import MissingWords
from indextables.split.search.plan import Plan, plan_predicate, positive_text_queries
from indextables.split.search.possible_scores import Ceiling, PossibleScores
from indextables.split.search.snippets import Highlighter
from indextables.split.search.text_answers import TextAnswers

__all__ = [
    "EXPLANATION_TYPE",
    "NO_HITS",
    "Ceiling",
    "Corpus",
    "Highlighter",
    "Hits",
    "IndexSearch",
    "MissingWords",
    "Plan",
    "Positions",
    "PossibleScores",
    "Scores",
    "Snippet",
    "TextAnswers",
    "Weighting",
    "Word",
    "explanation",
    "plan_predicate",
    "positive_text_queries",
    "scored_words",
]
