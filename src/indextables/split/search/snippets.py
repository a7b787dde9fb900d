"""Snippets: fragments of the text of a row with the words that match.

The words are found in the text by the column's own tokenizer, and matched as the index matches them: patterns and fuzzy
words too, and the words of a phrase only where they are the phrase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from indextables.predicates import TextQuery
from indextables.schema import FieldMapping, MappedField
from indextables.split.index import PlacedWord, placed_words, strings
from indextables.split.query import (
    Occur,
    Part,
    Parts,
    Regexes,
    Scaled,
    Terms,
    WordLeaf,
    accepted_words,
    positioned_tests,
)
from indextables.split.search.fragments import Mark, Snippet, render
from indextables.split.search.index_search import bound_query
from indextables.split.search.sloppy_phrases import sloppy_matches


class Highlighter:
    """Makes the snippet of a row from the first text column in which a word matches, or from the one of `shown`."""

    def __init__(self, mapping: FieldMapping, queries: Sequence[TextQuery], shown: Snippet) -> None:
        self._shown = shown
        self._leaves: dict[MappedField, list[WordLeaf]] = {}
        for query in dict.fromkeys(queries):
            bound = bound_query(query, mapping)
            for column in bound.columns:
                if (column.kind, column.spark_type, column.root) == ("text", "string", None) and (
                    shown.column is None or column.name.lower() == shown.column.lower()
                ):
                    self._leaves.setdefault(column, [])
            for leaf in _positive_leaves(bound.part):
                if leaf.column in self._leaves:
                    self._leaves[leaf.column].append(leaf)

    @property
    def columns(self) -> list[str]:
        """The columns that snippets are made from, in this order."""
        return [column.name for column in self._leaves]

    def snippets(self, columns: Mapping[str, pa.Array], rows: int) -> list[str | None]:
        """Return the snippet of each row, or None where no word matches."""
        snippets: list[str | None] = [None] * rows
        for column, leaves in self._leaves.items():
            for row, text in enumerate(strings(columns[column.name])):
                if text and snippets[row] is None:
                    snippets[row] = self._snippet(text, column, leaves)
        return snippets

    def _snippet(self, text: str, column: MappedField, leaves: Sequence[WordLeaf]) -> str | None:
        words = placed_words(text, column.tokenizer)
        marks = [mark for part, leaf in enumerate(leaves) for mark in _marks(leaf, words, part)]
        if not marks:
            return None
        return render(text, marks, [(word.start, word.end) for word in words], self._shown)


def _positive_leaves(part: Part) -> Iterator[WordLeaf]:
    match part:
        case Parts(children):
            for occur, child in children:
                if occur is not Occur.MUST_NOT:
                    yield from _positive_leaves(child)
        case Scaled(inner):
            yield from _positive_leaves(inner)
        case _ if isinstance(part, WordLeaf):
            yield part


def _marks(leaf: WordLeaf, words: Sequence[PlacedWord], part: int) -> Iterator[Mark]:
    """Yield the places in a text that match a leaf."""
    tests = positioned_tests(leaf)
    if len(tests) == 1:
        accepted = accepted_words(tests[0][1], (word.word for word in words))
        yield from (Mark(word.start, word.end, part) for word in words if word.word in accepted)
        return
    at = {word.position: word for word in words}
    for positions in _phrases(leaf, words):
        yield from (Mark(at[position].start, at[position].end, part) for position in positions)


def _phrases(leaf: WordLeaf, words: Sequence[PlacedWord]) -> Iterator[list[int]]:
    """Yield the positions of the words of each phrase in a text."""
    tests = positioned_tests(leaf)
    if isinstance(leaf, Terms | Regexes) and leaf.slop:
        yield from sloppy_matches(tests, leaf.slop, [(word.position, word.word) for word in words])
        return
    starts: set[int] | None = None
    for offset, test in tests:
        accepted = accepted_words(test, (word.word for word in words))
        here = {word.position - offset for word in words if word.word in accepted}
        starts = here if starts is None else starts & here
        if not starts:
            return
    yield from ([start + offset for offset, _ in tests] for start in sorted(starts or ()))
