"""Compiling bound queries, and the leaves of predicates, to Tantivy queries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import tantivy
from tantivy import FieldType, Query

from indextables.errors import QueryError
from indextables.schema import MappedField, Value
from indextables.split.index import NULLS, ROW, UNINDEXED, IndexFields, register_tokenizers, wide_term
from indextables.split.query import bound as kinds
from indextables.split.query.constant_values import holds_value
from indextables.split.query.patterns import escape, prefix_regex, regex
from indextables.split.query.regexes import Expression, engine_form
from indextables.split.query.tree import Limit, Occur, Pieces, Wildcard
from indextables.split.query.word_tests import Fits

Clauses: TypeAlias = list[tuple[Occur, Query]]

_OCCUR: Final = {
    Occur.MUST: tantivy.Occur.Must,
    Occur.SHOULD: tantivy.Occur.Should,
    Occur.MUST_NOT: tantivy.Occur.MustNot,
}
_MAX_EXPANSIONS: Final = 50
"""Tantivy expands the last word of a phrase to at most this many words, and silently ignores the others."""

_MAX_ANY: Final = 10_000
"""The most words of a column among which a `*` that stands for a whole word is looked up; Tantivy refuses 16,384."""

_MAX_LISTED: Final = 1000
"""The most words that are enumerated for a pattern that is too long for Tantivy's automata."""

_LENIENT_ESCAPES: Final = frozenset("^`:{}\"'[]()\\-")


class Compiler:
    """Builds queries for one open index.

    `constants` are the columns that the index does not have, with the value that all rows have: null matches nothing.
    """

    def __init__(
        self,
        index: tantivy.Index,
        searcher: tantivy.Searcher,
        fields: IndexFields,
        constants: Mapping[str, Value | None] = MappingProxyType({}),
    ) -> None:
        register_tokenizers(index, fields)  # for Tantivy's parser and for snippets
        self._index = index
        self._searcher = searcher
        self._schema = index.schema
        self._fields = fields
        self._constants = constants
        self._has_many_words: dict[str, bool] = {}

    def query(self, bound: kinds.BoundQuery) -> Query:
        """Return the query for the rows where a text query is TRUE, scored as by Tantivy's own parser."""
        built = self.part(bound.part)
        if built is None:
            return Query.empty_query()
        if bound.column is not None and _reaches_nulls(bound.part):
            return boolean([(Occur.MUST, built), (Occur.MUST_NOT, self.is_null(bound.column))])
        return built

    def is_null(self, column: MappedField) -> Query:
        """Return the query for the rows in which the column is null."""
        if self._fields.get(column) is None:
            is_null = self._constants.get(column.name) is None
            return Query.all_query() if is_null else Query.empty_query()
        return Query.term_query(self._schema, NULLS, self._fields.of(column).null_term, index_option="basic")

    def unindexed(self, column: MappedField) -> Query | None:
        """Return the query for the rows with a word or value too long for Tantivy; None if they are not recorded."""
        if self._fields.get(column) is None:
            return Query.empty_query()
        try:
            return Query.term_query(
                self._schema, UNINDEXED, self._fields.of(column).unindexed_term, index_option="basic"
            )
        except ValueError:
            return None

    def any_term(self, column: MappedField) -> Query:
        """Return the query for the rows in which the column has a word."""
        return Query.regex_query(self._schema, self._name(column), regex((Wildcard.ANY,)))

    def term(self, column: MappedField, text: str) -> Query:
        """Return the query for one word."""
        if self._fields.get(column) is None:
            return Query.empty_query()  # of the leaves of predicates, which have a null here: see `part`
        return Query.term_query(self._schema, self._name(column), text, index_option="freq")

    def term_set(self, column: MappedField, words: list[str]) -> Query:
        """Return the query for any of some words."""
        if self._fields.get(column) is None:
            return Query.empty_query()
        return Query.term_set_query(self._schema, self._name(column), words)

    def numbers(self, column: MappedField, low: int | None, high: int | None) -> Query:
        """Return the query for a range of integers, both ends inclusive; without limits, for all but null."""
        if low is None and high is None:
            return boolean([(Occur.MUST, Query.all_query()), (Occur.MUST_NOT, self.is_null(column))])
        if self._fields.get(column) is None:
            return Query.empty_query()
        if column.kind in ("i128", "ip"):
            return self._wide_numbers(column, low, high)
        if (low is not None and low > I64_MAX) or (high is not None and high < I64_MIN):
            return Query.empty_query()
        if low is not None and high is not None and low > high:
            return Query.empty_query()
        # Numbers of a wider type than this split has may be outside of the range.
        low, high = (None if n is None else min(max(n, I64_MIN), I64_MAX) for n in (low, high))
        return Query.range_query(self._schema, self._name(column), FieldType.Integer, low, high)

    def _wide_numbers(self, column: MappedField, low: int | None, high: int | None) -> Query:
        if low is not None and high is not None and low > high:
            return Query.empty_query()
        lower, upper = (None if n is None else wide_term(n, column.kind) for n in (low, high))
        return self._terms_between(column, lower, upper)

    def _terms_between(self, column: MappedField, low: str | None, high: str | None) -> Query:
        """Return the query for a range of terms, both ends inclusive, with the score of a range."""
        if low is not None and low == high:
            return Query.const_score_query(self.term(column, low), 1.0)
        if low is not None and high is not None and low > high:
            return Query.empty_query()
        lower, upper = (None if term is None else Limit(term, inclusive=True) for term in (low, high))
        return self._term_range(column, lower, upper)

    def among_rows(self, query: Query, low: int, high: int) -> Query:
        """Restrict a query to the rows with ids from `low` to `high`, without changing scores."""
        rows = Query.range_query(self._schema, ROW, FieldType.Unsigned, low, high)
        return boolean([(Occur.MUST, query), (Occur.MUST, unscored(rows))])

    def _name(self, column: MappedField) -> str:
        return self._fields.of(column).name

    def part(self, part: kinds.Part) -> Query | None:
        """Return the query of one part; None if it matches nothing."""
        match part:
            case kinds.Parts():
                clauses = kinds.build_clauses(part, self.part, lambda: unscored(Query.all_query()))
                return None if clauses is None else boolean(clauses, part.least)
            case kinds.Scaled(inner, factor):
                return Query.boost_query(self.part(inner) or Query.empty_query(), factor)
            case kinds.All():
                return Query.all_query()
            case _ if self._fields.get(part.column) is None:
                return self._constant(part)
            case kinds.Present(column):
                return self.numbers(column, None, None)
            case kinds.Terms():
                return self._terms(part)
            case kinds.Regexes(column, patterns, slop):
                return self._regexes(column, patterns, slop)
            case kinds.Matching(column, expression):
                return self.matching(column, expression)
            case kinds.Near(column, word, distance):
                return Query.fuzzy_term_query(self._schema, self._name(column), word, distance)
            case kinds.Numbers(column, low, high):
                return self.numbers(column, low, high)
            case kinds.Entry(column, low, high):
                return self._terms_between(column, low, high)
            case kinds.TermSet(column, words):
                return self.term_set(column, list(words))
            case kinds.TermRange(column, lower, upper):
                return self._term_range(column, lower, upper)

    def _constant(self, part: kinds.Leaf) -> Query:
        """Return the query for a column that the index does not have: all rows match its value, or none does."""
        value = self._constants.get(part.column.name)
        if value is None or not holds_value(part, value):
            return Query.empty_query()
        is_word = (
            isinstance(part, kinds.Terms) and not part.prefix
        )  # other parts have the score 1 in every split
        return Query.const_score_query(Query.all_query(), 0.0 if is_word else 1.0)

    def _terms(self, part: kinds.Terms) -> Query:
        name, words = self._name(part.column), part.words
        if len(words) == 1:
            word = words[0][1]
            return (
                self._regexes(part.column, ((word, Wildcard.ANY),))
                if part.prefix
                else self.term(part.column, word)
            )
        if not part.prefix:
            return Query.phrase_query(self._schema, name, list(words), part.slop)
        last = words[-1][1]
        if len(self._searcher.terms_with_prefix(name, last, limit=_MAX_EXPANSIONS + 1)) <= _MAX_EXPANSIONS:
            return Query.phrase_prefix_query(self._schema, name, list(words))
        patterns = [(position, escape(word)) for position, word in words[:-1]]
        patterns.append((words[-1][0], prefix_regex(last)))
        return Query.const_score_query(Query.regex_phrase_query(self._schema, name, patterns), 1.0)

    def matching(self, column: MappedField, expression: Expression) -> Query:
        """Return the query for the words that match a regular expression, which binding has checked."""
        return Query.regex_query(self._schema, self._name(column), engine_form(expression))

    def pattern(self, column: MappedField, pieces: Pieces) -> Query:
        """Return the query for the words that match a pattern."""
        if self._fields.get(column) is None:
            return Query.empty_query()
        return self._regexes(column, (pieces,))

    def is_exact(self, leaf: kinds.Terms | kinds.Regexes) -> bool:
        """Return False if the query of a phrase finds rows too that do not match it.

        It does for a phrase with a `*` for any word, if the column has many words: a word need not be there.
        """
        if not isinstance(leaf, kinds.Regexes) or self._fields.get(leaf.column) is None:
            return True
        return self._without_any_word(leaf.column, leaf.patterns, leaf.slop) is None

    def _without_any_word(
        self, column: MappedField, patterns: tuple[Pieces, ...], slop: int
    ) -> list[tuple[int, str]] | None:
        """Return a phrase with its places and without the words that can be any; None to search the whole phrase."""
        kept = [(place, regex(p)) for place, p in enumerate(patterns) if p != (Wildcard.ANY,)]
        if slop or not kept or len(kept) == len(patterns):
            return None
        name = self._name(column)
        if name not in self._has_many_words:
            some = self._searcher.terms_with_prefix(name, "", limit=_MAX_ANY + 1)
            self._has_many_words[name] = len(some) > _MAX_ANY
        first = kept[0][0]
        return [(place - first, pattern) for place, pattern in kept] if self._has_many_words[name] else None

    def _regexes(self, column: MappedField, patterns: tuple[Pieces, ...], slop: int = 0) -> Query:
        name = self._name(column)
        try:
            if (kept := self._without_any_word(column, patterns, slop)) is not None:
                if len(kept) == 1:
                    return Query.regex_query(self._schema, name, kept[0][1])
                return Query.const_score_query(Query.regex_phrase_query(self._schema, name, kept), 1.0)
            if len(patterns) == 1:
                return Query.regex_query(self._schema, name, regex(patterns[0]))
            phrase = Query.regex_phrase_query(self._schema, name, list(map(regex, patterns)), slop)
            return Query.const_score_query(phrase, 1.0)  # as one pattern: the same in every split
        except ValueError as reason:
            if len(patterns) == 1 and (query := self._enumerate(column, patterns[0])) is not None:
                return query
            raise QueryError(
                f"column {column.name!r}: a pattern is too complex, use fewer wildcards: {reason}"
            ) from reason

    def _enumerate(self, column: MappedField, pieces: Pieces) -> Query | None:
        """Return the query for the words that match a pattern too long for Tantivy.

        None if the pattern begins with a wildcard, or too many words have its prefix.
        """
        if not isinstance(pieces[0], str):
            return None
        terms = self._searcher.terms_with_prefix(self._name(column), pieces[0], limit=_MAX_LISTED + 1)
        if len(terms) > _MAX_LISTED:
            return None
        return self.term_set(column, [term for term, _ in terms if Fits(pieces).accepts(term)])

    def _term_range(self, column: MappedField, lower: Limit | None, upper: Limit | None) -> Query:
        # Only Tantivy's parser builds ranges of terms, and only its lenient form accepts every character.
        opening = "[" if lower is None or lower.inclusive else "{"
        closing = "]" if upper is None or upper.inclusive else "}"
        text = f"{self._name(column)}:{opening}{_lenient(lower)} TO {_lenient(upper)}{closing}"
        built, problems = self._index.parse_query_lenient(text, [])
        if problems:
            raise QueryError(f"column {column.name!r}: the engine rejects the range: {problems[0]}")
        return built


I64_MIN: Final = -(1 << 63)
I64_MAX: Final = (1 << 63) - 1


def boolean(clauses: Clauses, least: int = 0) -> Query:
    """Return the Boolean query of some clauses, of whose optional ones at least so many must match."""
    return Query.boolean_query([(_OCCUR[occur], query) for occur, query in clauses], least or None)


def unscored(query: Query) -> Query:
    """Return the query with a score of 0 for every row."""
    return Query.const_score_query(query, 0.0)


def _lenient(limit: Limit | None) -> str:
    if limit is None:
        return "*"
    return "".join(f"\\{c}" if c.isspace() or c in _LENIENT_ESCAPES else c for c in limit.text)


def _reaches_nulls(part: kinds.Part) -> bool:
    """Return True if a part can match rows in which all the columns that it names are null."""
    match part:
        case kinds.All():
            return True
        case kinds.Scaled(inner):
            return _reaches_nulls(inner)
        case kinds.Parts(children):
            return any(o is Occur.MUST_NOT or _reaches_nulls(child) for o, child in children)
        case _:
            return False
