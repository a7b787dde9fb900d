"""Binding a query tree to the columns of a table: resolve names, tokenise words, convert values.

Every error in a query is found here, without opening a split, so that it is raised when the query is planned. The bound
query needs no further decisions: `compiler` turns each part into one Tantivy query.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from indextables.errors import QueryError
from indextables.predicates import ALL_FIELDS, QueryLimits, TextQuery
from indextables.schema import (
    TIME_TYPES,
    FieldMapping,
    IndexKind,
    MappedField,
    element_type,
    shorten,
    value_kind,
)
from indextables.split.index import tokenizer, tokens
from indextables.split.query import tree as ast
from indextables.split.query.bound import (
    NOTHING,
    All,
    BoundQuery,
    Matching,
    Near,
    Numbers,
    Part,
    Parts,
    Present,
    Regexes,
    Scaled,
    TermRange,
    Terms,
    TermSet,
)
from indextables.split.query.moments import span
from indextables.split.query.numbers import LiteralError
from indextables.split.query.parser import parse
from indextables.split.query.patterns import PatternError, pattern_words, token_characters
from indextables.split.query.regexes import check_engines, lower_case, single_characters
from indextables.split.query.scanner import QuerySyntaxError
from indextables.split.query.special import bind_special, has_key, is_plain, special_name
from indextables.split.query.tree import Occur
from indextables.split.query.word_tests import positioned_tests

_KINDS: Final[dict[str, tuple[IndexKind, ...]]] = {
    "TEXTSEARCH": ("text",),
    "FIELDMATCH": ("string", "ip", "map"),
    "INDEXQUERY": ("text", "string", "i64", "i128", "f64", "bool", "ip", "struct", "map"),
}
MAX_FUZZY_LETTERS: Final = 1000
"""Tantivy needs about 20 kB and 50 µs for each letter of a fuzzy word."""
_DIGITS: Final = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_LEAST: Final = {"i128": -(1 << 127), "ip": 0}
_SHOWN: Final = 1000
"""How many characters of a query an error message shows."""

_EVERY: Final[dict[str, tuple[IndexKind, ...]]] = {
    "TEXTSEARCH": ("text",),
    "FIELDMATCH": ("string",),
    "INDEXQUERY": ("text", "string"),
}


def check_text_query(
    query: TextQuery,
    mapping: FieldMapping,
    *,
    partition_columns: tuple[str, ...] | list[str] = (),
    max_all_fields: int = 10,
    limits: QueryLimits | None = None,
) -> None:
    """Check a query against the columns of a table.

    QueryError, with the column and the position, if no split could answer the query or it exceeds the limits.
    """
    _check(query, mapping, tuple(partition_columns), max_all_fields, limits)


@lru_cache(maxsize=256)  # a query is often asked again, of the same columns; an error is not cached
def _check(
    query: TextQuery,
    mapping: FieldMapping,
    partition_columns: tuple[str, ...],
    max_all_fields: int,
    limits: QueryLimits | None,
) -> None:
    bind_query(
        query, mapping, partition_columns=partition_columns, max_all_fields=max_all_fields, limits=limits
    )


def bind_query(
    query: TextQuery,
    mapping: FieldMapping,
    *,
    partition_columns: tuple[str, ...] | list[str] = (),
    max_all_fields: int = 0,
    limits: QueryLimits | None = None,
) -> BoundQuery:
    """Resolve the columns of a query and tokenise its words.

    Tasks pass no limits: the limits were checked when the query was planned. QueryError as in `check_text_query`.
    """
    binder = _Binder(query, mapping, tuple(partition_columns))
    defaults = binder.defaults(max_all_fields)
    try:
        tree = parse(query.query, limits)
        part = binder.whole(tree, defaults)
    except QuerySyntaxError as reason:
        raise binder.error(f"cannot parse the query: {reason.reason}", reason.position) from None
    except RecursionError:
        raise binder.error("the query is nested too deep; remove parentheses or NOTs") from None
    columns = tuple(dict.fromkeys([*defaults, *binder.named]))
    return BoundQuery(part, columns[0] if len(columns) == 1 and query.column != ALL_FIELDS else None, columns)


class _Binder:
    """Binds one query; `named` collects the columns that it names itself."""

    def __init__(self, query: TextQuery, mapping: FieldMapping, partition_columns: tuple[str, ...]) -> None:
        self._query = query
        self._mapping = mapping
        self._partition_columns = partition_columns
        self.named: list[MappedField] = []
        self._dropped: ast.Leaf | None = None

    def error(self, reason: str, position: int | None = None) -> QueryError:
        """Return the error for a reason, with the place in the query if a position is given."""
        op, column, text = self._query.op, self._query.column, self._query.query
        subject = f"{op} on all columns" if column == ALL_FIELDS else f"{op} on column {column!r}"
        if position is None:
            return QueryError(f"{subject}: {reason}", column=column)
        line, offset = _excerpt(text, position)
        return QueryError(
            f"{subject} at position {position}: {reason}\n  {line}\n  {' ' * offset}^",
            column=column,
            position=position,
        )

    def defaults(self, max_all_fields: int) -> list[MappedField]:
        """Return the columns that are searched for words that name none; 0 allows any number of them.

        There may be none in the table: then every word has to name its column.
        """
        op, name = self._query.op, self._query.column
        if name != ALL_FIELDS:
            column = self._column(name, None)
            return [*_words_inside(column)] if column.kind == "struct" else [column]
        columns = self._mapping.of_kind(*_EVERY[op])
        if max_all_fields and len(columns) > max_all_fields:
            raise self.error(
                f"the table has {len(columns)} columns to search, more than {max_all_fields}; name the columns, or "
                "raise spark.indextables.indexquery.indexall.maxUnqualifiedFields"
            )
        return columns

    def _column(self, name: str, position: int | None) -> MappedField:
        if name.lower() in (partition.lower() for partition in self._partition_columns):
            raise self.error(
                f"{name!r} is a partition column, which is not indexed: compare it in WHERE instead", position
            )
        column = self._mapping.get(name)
        if column is None:
            names = [field.name for field in self._mapping.of_kind(*_KINDS[self._query.op])]
            close = get_close_matches(name, names, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else ":"
            hint = "" if position is None else "; quote or escape the ':' to search for the text"
            raise self.error(
                f"unknown column {name!r}{meant} {self._query.op} can search {', '.join(names) or 'no column'}{hint}",
                position,
            )
        if column.kind not in _KINDS[self._query.op]:
            raise self.error(f"column {column.name!r} {_misfit(self._query.op, column)}", position)
        return column

    def whole(self, node: ast.Node, defaults: list[MappedField]) -> Part:
        """Bind a query. It must have more than stop words."""
        part = self.node(node, defaults)
        if part == NOTHING and self._dropped is not None:
            raise self.error(
                "nothing to search for: stop words are not indexed, and the query has no other word",
                self._dropped.position,  # type: ignore[union-attr]
            )
        return part

    def node(self, node: ast.Node, defaults: list[MappedField]) -> Part:
        """Bind a node and everything below it."""
        match node:
            case ast.Clause(children, least):
                operands = [_exclusion(child) if o is None else (o, child) for o, child in children]
                bound = [(o or Occur.SHOULD, self.node(child, defaults)) for o, child in operands]
                bound = [(o, part) for o, part in bound if part != NOTHING]
                if operands and not bound:
                    return NOTHING
                alternatives = sum(o is Occur.SHOULD for o, _ in bound)
                if least > alternatives:
                    raise self.error(
                        f"'@{least}' needs {least} alternatives, and the group has {alternatives}: do not join by AND, "
                        "and do not count stop words",
                        node.position,
                    )
                return Parts(tuple(bound), least)
            case ast.Boost(child, factor):
                part = self.node(child, defaults)
                return part if part == NOTHING else Scaled(part, factor)
            case ast.Everything():
                return All()
            case ast.Exists(name, position):
                column = self._resolve(name, position)
                return _present(column) if column.key is None else has_key(column)
            case ast.Literal():
                return self._over(node, defaults, lambda column: self._literal(node, column))
            case ast.Pattern():
                return self._over(node, defaults, lambda column: self._pattern(node, column))
            case ast.Regex():
                self._refuse_impossible(node, defaults)
                return self._over(node, defaults, lambda column: self._regex(node, column))
            case ast.Fuzzy():
                return self._over(node, defaults, lambda column: self._fuzzy(node, column))
            case ast.Range():
                return self._over(node, self._sole(node, defaults), lambda column: self._range(node, column))
            case ast.OneOf():
                return self._over(node, self._sole(node, defaults), lambda column: self._one_of(node, column))

    def _resolve(self, name: str, position: int) -> MappedField:
        column = self._column(name, position)
        self.named.append(column)
        return column

    def _over(
        self,
        node: ast.Literal | ast.Pattern | ast.Regex | ast.Fuzzy | ast.Range | ast.OneOf,
        defaults: list[MappedField],
        bind: Callable[[MappedField], Part],
    ) -> Part:
        """Bind a leaf to each column that it searches; a row matches if one of the columns does."""
        columns = (
            _with_such_words(node, defaults)
            if node.field is None
            else [self._resolve(node.field, node.position)]
        )
        if not columns:
            kinds = " or ".join(_EVERY[self._query.op])
            raise self.error(
                f"the table has no {kinds} column: name the column to search, as in column:value",
                node.position,
            )
        if isinstance(node, ast.Literal) and node.minus:
            self._refuse_minus(node, columns)
        bound = (bind(column) if is_plain(column) else self._special(node, column) for column in columns)
        parts = [part for part in bound if part != NOTHING]
        if not parts and _are_stop_words(node, columns):
            self._dropped = node
            return NOTHING
        if not parts:
            raise self.error(
                "nothing to search for: text is indexed by its letters and digits, without the stop words and long "
                "words that its column may exclude; remove this, or quote it together with a word",
                node.position,
            )
        return parts[0] if len(parts) == 1 else Parts(tuple((Occur.SHOULD, part) for part in parts))

    def _refuse_minus(self, node: ast.Literal, columns: list[MappedField]) -> None:
        """Reject `n:(-5)` over numbers: it would match all other numbers."""
        numeric = [column for column in columns if column.kind in ("i64", "i128", "f64")]
        signed = [column for column in numeric if column.value_type not in (*TIME_TYPES, "date")]
        if signed and _DIGITS.fullmatch(node.text):
            raise self.error(
                f"a '-' before an operand excludes it, and column {signed[0].name!r} has numbers: quote the number, "
                f'"-{node.text}", or write NOT {node.text} to exclude it',
                node.position,
            )

    def _special(self, node: ast.Leaf, column: MappedField) -> Part:
        """Bind a leaf to a column that is neither words nor numbers."""
        try:
            return bind_special(node, column, self._query.zone, self._query.now)
        except LiteralError as reason:
            position = None if isinstance(node, ast.Everything) else node.position
            raise self.error(
                f"column {column.name!r} is {special_name(column)}: {reason}", position
            ) from None

    def _sole(self, node: ast.Range | ast.OneOf, defaults: list[MappedField]) -> list[MappedField]:
        """Return the one column of a range or set that names none."""
        if node.field is None and (self._query.op == "TEXTSEARCH" or len(defaults) != 1):
            example = defaults[0].name if defaults else "column"
            raise self.error(
                f"a range or set needs a column: write {example}: before it, or quote it to search for its words",
                node.position,
            )
        return defaults

    def _literal(self, node: ast.Literal, column: MappedField) -> Part:
        if column.kind not in ("text", "string"):
            if node.slop or node.prefix:
                raise self.error(
                    f"column {column.name!r} is {column.type_name}: '~' and '*' after quotes need a column of words",
                    node.position,
                )
            return Numbers(column, *self._span(node.text, column, node.position))
        words = _words(node.text, column)
        if len(words) > 1:
            self._must_have_positions(column, node.position)
        if node.prefix and column.kind == "text" and tokenizer(column.tokenizer).recipe.grams:
            raise self.error(
                f"column {column.name!r} is indexed by runs of characters: leave the '*' out", node.position
            )
        return Terms(column, words, node.slop, node.prefix) if words else NOTHING

    def _must_have_positions(self, column: MappedField, position: int) -> None:
        if column.record != "position":
            raise self.error(
                f"column {column.name!r} is indexed without positions (indexrecordoption is {column.record}), and this "
                "is a phrase: join its words by AND",
                position,
            )

    def _single_word(self, text: str, column: MappedField, position: int, what: str) -> str:
        words = _words(text, column)
        if len(words) != 1:
            raise self.error(f"{what} takes one word, and {shorten(text)!r} has {len(words)}", position)
        return words[0][1]

    def _pattern(self, node: ast.Pattern, column: MappedField) -> Part:
        """Bind a pattern. One in quotes finds its text too, in which `*` and `?` are characters."""
        self._must_be_string(column, "wildcards", node.position)
        if column.kind == "string":
            return Regexes(column, (node.pieces,))  # `*` and `?` match themselves
        try:
            pattern = self._words_that_fit(node, column)
        except PatternError as reason:
            if not node.quote:
                raise self.error(f"column {column.name!r}: {reason}", node.position) from None
            pattern = NOTHING  # the column has no patterns there: the quotes have a text
        text = self._quoted_text(node, column) if node.quote else NOTHING
        if text == NOTHING or (isinstance(text, Terms) and _covers(pattern, text)):
            return pattern
        if pattern == NOTHING:
            return text
        return Parts(((Occur.SHOULD, pattern), (Occur.SHOULD, text)))

    def _words_that_fit(self, node: ast.Pattern, column: MappedField) -> Part:
        letters = "".join(piece for piece in node.pieces if isinstance(piece, str))
        if letters and not pattern_words((letters,), column.tokenizer):
            return (
                NOTHING  # only punctuation and wildcards: without the punctuation it would match every word
            )
        words = pattern_words(node.pieces, column.tokenizer)
        if len(words) > 1:
            self._must_have_positions(column, node.position)
        return Regexes(column, words, node.slop if len(words) > 1 else 0) if words else NOTHING

    def _quoted_text(self, node: ast.Pattern, column: MappedField) -> Part:
        """Return the part for the words between the quotes, with the signs of wildcards as characters."""
        pieces = node.pieces[:-1] if node.prefix else node.pieces
        words = _words("".join(piece if isinstance(piece, str) else piece.value for piece in pieces), column)
        if len(words) > 1 and column.record != "position":
            raise self.error(
                f"column {column.name!r} is indexed without positions (indexrecordoption is {column.record}), and text "
                "in quotes is a phrase too: leave the quotes out, or join its words by AND",
                node.position,
            )
        is_prefix = node.prefix and not tokenizer(column.tokenizer).recipe.grams
        return Terms(column, words, node.slop, is_prefix) if words else NOTHING

    def _regex(self, node: ast.Regex, column: MappedField) -> Part:
        self._must_be_string(column, "regular expressions", node.position)
        expression = node.expression
        if column.kind == "text":
            name = column.tokenizer
            expression = lower_case(
                expression, lambda character: token_characters(character, name) or character
            )
        try:
            check_engines(expression)
        except ValueError as reason:
            raise self.error(
                f"the regular expression is too complex: use * or + instead of counts ({reason})",
                node.position,
            ) from None
        return Matching(column, expression)

    def _refuse_impossible(self, node: ast.Regex, defaults: list[MappedField]) -> None:
        """Reject an expression over text that names a character which no word has."""
        columns = (
            _with_such_words(node, defaults)
            if node.field is None
            else [self._column(node.field, node.position)]
        )
        if any(column.kind == "text" and tokenizer(column.tokenizer).recipe.grams for column in columns):
            raise self.error(
                "a column is indexed by runs of characters, not by words: write the characters without slashes",
                node.position,
            )
        if columns and all(column.kind == "text" for column in columns):
            for character in sorted(single_characters(node.expression)):
                if any(tokenizer(column.tokenizer).is_single(character) for column in columns):
                    raise self.error(
                        f"{character!r} is a word of its own, as all characters of Chinese, Japanese and Thai: write "
                        "it without slashes",
                        node.position,
                    )
                if not any(token_characters(character, column.tokenizer) for column in columns):
                    raise self.error(
                        f"a regular expression is compared with single words, and no word has {character!r}: write a "
                        'phrase, "web conn*", or remove the character',
                        node.position,
                    )

    def _fuzzy(self, node: ast.Fuzzy, column: MappedField) -> Part:
        self._must_be_string(column, "fuzzy words", node.position)
        word = self._single_word(node.text, column, node.position, "'~'")
        if len(word) > MAX_FUZZY_LETTERS:
            raise self.error(
                f"a fuzzy word has at most {MAX_FUZZY_LETTERS} letters, not {len(word)}", node.position
            )
        return Near(column, word, node.distance) if node.distance else Terms(column, ((0, word),))

    def _must_be_string(self, column: MappedField, what: str, position: int) -> None:
        if column.kind not in ("text", "string"):
            raise self.error(
                f"column {column.name!r} is {column.type_name}: {what} need a column of words or strings",
                position,
            )

    def _range(self, node: ast.Range, column: MappedField) -> Part:
        lower, upper = node.lower, node.upper
        if lower is None and upper is None:
            return _present(column)
        if column.kind in ("text", "string"):
            return TermRange(column, self._limit(lower, column, node), self._limit(upper, column, node))
        low = high = None
        if lower is not None:
            first, last = self._span(lower.text, column, node.position)
            low = first if lower.inclusive else last + 1
        if upper is not None:
            first, last = self._span(upper.text, column, node.position)
            high = last if upper.inclusive else first - 1
        return Numbers(column, low, high)

    def _limit(self, limit: ast.Limit | None, column: MappedField, node: ast.Range) -> ast.Limit | None:
        if limit is None:
            return None
        word = self._single_word(limit.text, column, node.position, "the end of a range")
        if word in ("", "*"):
            raise self.error(
                f"a range of words cannot end at {word!r}: write * without quotes for no limit", node.position
            )
        return ast.Limit(word, limit.inclusive)

    def _one_of(self, node: ast.OneOf, column: MappedField) -> Part:
        if column.kind in ("text", "string"):
            words = [self._single_word(value, column, node.position, "a set") for value in node.values]
            return TermSet(column, tuple(words))
        spans = [self._span(value, column, node.position) for value in node.values]
        return Parts(tuple((Occur.SHOULD, Numbers(column, *values)) for values in spans))

    def _span(self, text: str, column: MappedField, position: int) -> tuple[int, int]:
        """Return the first and last integer of the index that a value denotes: a day of timestamps is many."""
        try:
            return span(text, column.value_type, self._query.zone, self._query.now)
        except LiteralError as reason:
            raise self.error(f"column {column.name!r} is {column.type_name}: {reason}", position) from None


def _exclusion(node: ast.Node) -> tuple[Occur | None, ast.Node]:
    """Return what an operand of a list without operators is: NOT x excludes x, also in parentheses or a boost."""
    inner = node
    while isinstance(inner, ast.Boost):
        inner = inner.node
    if isinstance(inner, ast.Clause) and len(set(inner.children)) == 1 and not inner.least:
        ((occur, child),) = set(inner.children)
        if occur is Occur.MUST_NOT:
            return occur, child
    return None, node


def _with_such_words(node: ast.Leaf, columns: list[MappedField]) -> list[MappedField]:
    """Return the columns that a leaf without a column searches.

    A column of runs of characters has no words that could match a pattern. It is left out, unless all are like that.
    """
    is_text = isinstance(node, ast.Literal) and not node.prefix
    if is_text or (isinstance(node, ast.Pattern) and node.quote):
        return columns
    has_words = [c for c in columns if c.kind != "text" or not tokenizer(c.tokenizer).recipe.grams]
    return has_words or columns


def _are_stop_words(node: ast.Leaf, columns: list[MappedField]) -> bool:
    """Return True for a literal of stop words only. Its columns have none of its words, and any row may have had it."""
    return isinstance(node, ast.Literal) and any(
        column.kind == "text" and tokenizer(column.tokenizer).has_only_stop_words(node.text)
        for column in columns
    )


def _present(column: MappedField) -> Part:
    """Return the part for the rows with a value; an array has one if it has an element that is not null."""
    if element_type(column.spark_type) is None:
        return Present(column)
    if column.kind in ("text", "string"):
        return Regexes(column, ((ast.Wildcard.ANY,),))
    return Numbers(column, _LEAST.get(column.kind, -(1 << 63)), None)


def _covers(pattern: Part, text: Terms) -> bool:
    """Return True if the pattern matches wherever the text does: each of its words fits a word of the pattern."""
    if not isinstance(pattern, Regexes) or [at for at, _ in text.words] != [*range(len(pattern.patterns))]:
        return False
    if text.prefix and pattern.patterns[-1][-1] is not ast.Wildcard.ANY:
        return False
    tests = positioned_tests(pattern)
    return all(test.accepts(word) for (_, test), (_, word) in zip(tests, text.words, strict=True))


def _words_inside(column: MappedField) -> list[MappedField]:
    """Return the fields of a struct that have words, which a search of the struct looks for."""
    fields = [field for inner in column.inner for field in (inner, *_words_inside(inner))]
    return [field for field in fields if field.kind in ("text", "string")]


def _words(text: str, column: MappedField) -> tuple[tuple[int, str], ...]:
    if column.kind == "string":
        return ((0, text),)
    words = tokens(text, column.tokenizer)
    return tuple((at - words[0][0], word) for at, word in words)


def _excerpt(text: str, position: int) -> tuple[str, int]:
    """Return one printable line of the query around a position, and the offset of the position in it."""
    start = 0 if len(text) <= _SHOWN else max(0, position - _SHOWN // 2)
    shown = text[start : start + _SHOWN]
    return "".join(c if c.isprintable() else " " for c in shown), position - start


def _misfit(op: str, column: MappedField) -> str:
    """Explain why an operator cannot search a column, and what can."""
    if column.kind == "none":
        if value_kind(column.spark_type) != "none":
            return (
                "is stored and not indexed (storeonlyfields or nonfastfields of the table): compare it in WHERE, or "
                "write the table without the option"
            )
        return f"is {column.type_name}, which is not indexed"
    if op == "TEXTSEARCH" and column.kind == "string":
        return f"is not tokenised: {_hint(op, column.name)}"
    if op == "FIELDMATCH" and column.kind == "text":
        return "is tokenised text: use TEXTSEARCH, or compare it with ="
    return f"is {column.type_name}: use INDEXQUERY, or compare it in WHERE"


def _hint(op: str, name: str) -> str:
    if op == "TEXTSEARCH":
        return (
            f"use FIELDMATCH or =, or write the table with spark.indextables.indexing.typemap.{name} = text"
        )
    return "FIELDMATCH searches string columns that are not text"
