"""The query language: from text to a tree, to columns and words, to a Tantivy query."""

from indextables.split.query.binding import bind_query, check_text_query
from indextables.split.query.bound import (
    BoundQuery,
    Part,
    Parts,
    Regexes,
    Scaled,
    Terms,
    WordLeaf,
    build_clauses,
    flatten,
    leaves,
    with_default_tokenizer,
)
from indextables.split.query.compiler import Compiler, boolean, unscored
from indextables.split.query.moments import span
from indextables.split.query.numbers import index_number
from indextables.split.query.query_text import clause_text, part_text
from indextables.split.query.tree import Occur
from indextables.split.query.word_tests import WordTest, accepted_words, positioned_tests

__all__ = [
    "BoundQuery",
    "Compiler",
    "Occur",
    "Part",
    "Parts",
    "Regexes",
    "Scaled",
    "Terms",
    "WordLeaf",
    "WordTest",
    "accepted_words",
    "bind_query",
    "boolean",
    "build_clauses",
    "check_text_query",
    "clause_text",
    "flatten",
    "index_number",
    "leaves",
    "part_text",
    "positioned_tests",
    "span",
    "unscored",
    "with_default_tokenizer",
]
