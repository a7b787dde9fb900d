"""The parser of the query language: from text to the tree of `tree`.

It is written by hand because Tantivy's own parser reports no positions and does not support wildcards (`conn*`). What
Tantivy's grammar accepts means the same here, including mixtures of AND, OR and words without an operator, except for:

- wildcards, `~1` and the syntax of Lucene (`!a`, `a && b`, `/a.*/`, `"a*"`, `a~`, `(a b c)@2`), which Tantivy treats
  as letters;
- NOT in front of an operand (`a AND NOT b`), which Tantivy parses and never matches;
- quotes inside words, paths and adjacent parentheses, which Tantivy rejects;
- a backslash before a letter inside quotes, which Tantivy drops.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, TypeAlias
from typing import Literal as OneOfThese

from indextables.predicates import QueryLimits
from indextables.schema import shorten
from indextables.split.query.regexes import parse_regex
from indextables.split.query.scanner import DISTANCE, QuerySyntaxError, Scanner
from indextables.split.query.tree import (
    Boost,
    Clause,
    Everything,
    Exists,
    Fuzzy,
    Limit,
    Literal,
    Node,
    Occur,
    OneOf,
    Pattern,
    Pieces,
    Range,
    Regex,
    Wildcard,
    with_default_field,
    without_repeats,
)

Operator: TypeAlias = OneOfThese["AND", "OR"]
Item: TypeAlias = tuple[Operator | None, Occur | None, Node]

MAX_FUZZY: Final = 2
"""The most edits of a fuzzy word, and how many `word~` allows, as in Lucene."""

MAX_SLOP: Final = 1000
MAX_BOOST: Final = 1_000_000

_KEYWORDS: Final = frozenset({"AND", "OR", "NOT"})

_NUMBER: Final = re.compile(r"-(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_NUMBER_END: Final = re.compile(r"(?=[\s)^\]]|$)")
_NUMBER_PART: Final = re.compile(r"-\.?\d[^\s()\[\]^]*")
_FIRST_OF_NUMBER: Final = frozenset(".0123456789")
_FACTOR: Final = re.compile(r"\d+(?:\.\d+)?")
_SLOP: Final = re.compile(r"~(\d+)")
_SIGNED_COMPARISON: Final = re.compile(r"[-+][<>=]+")
_COMPARISON: Final = re.compile(r"(>=|<=|<|>)\s*(?=[^\s{}\[\]()])")
_RANGE_WORD: Final = re.compile(r'[^\s{}"\[\]()]+')
_TO: Final = re.compile(r"\s+TO\s+")
_IN: Final = re.compile(r"IN\s+\[\s*")
_LEAST: Final = re.compile(r"@(\d{1,9})(?=[\s)^]|$)")
_EXISTS: Final = "_exists_"
_MISSING: Final = "_missing_"


def parse(text: str, limits: QueryLimits | None = None) -> Node:
    """Parse a query. QuerySyntaxError if its syntax is wrong or it exceeds the limits.

    >>> parse("title:b*").field
    'title'
    >>> parse('a AND "b')
    Traceback (most recent call last):
        ...
    indextables.split.query.scanner.QuerySyntaxError: unclosed quote: add the closing "
    """
    if limits is not None and len(text) > limits.length:
        raise QuerySyntaxError(limits.too_long(len(text)), 0)
    try:
        text.encode()
    except UnicodeEncodeError as reason:
        raise QuerySyntaxError("a lone surrogate is not a character: remove it", reason.start) from None
    try:
        return without_repeats(_Parser(text, limits).whole())
    except RecursionError:
        raise QuerySyntaxError("the query is nested too deep: remove parentheses or NOTs", 0) from None


class _Parser(Scanner):
    def __init__(self, text: str, limits: QueryLimits | None) -> None:
        super().__init__(text)
        self._limits = limits
        self._depth = 0
        self._terms = 0
        self._patterns = 0

    def whole(self) -> Node:
        node, _ = self._clause()
        if self.at < len(self.text):
            self.fail("')' has no matching '(': remove it, or write \\) for the character itself")
        if node == Clause(()):
            self.fail("the query is empty: write * to match every row", 0)
        return node

    def _clause(self) -> tuple[Node, int]:
        """Parse up to the end of the query or to a closing parenthesis. Return also the number of operands."""
        items: list[Item] = []
        while True:
            self.skip_space()
            if self.peek() in ("", ")"):
                return _combine(items), len(items)
            items.append(self._item(first=not items))

    def _item(self, *, first: bool) -> Item:
        start, operator = self.at, self._operator()
        if operator is not None:
            if first:
                self.fail(
                    f'{operator} needs an operand before it: write "{operator}" in quotes to search for the word',
                    start,
                )
            self.skip_space()
            if self.peek() in ("", ")"):
                self.fail(
                    f'{operator} needs an operand after it: write "{operator}" in quotes to search for the word',
                    start,
                )
        occur = {"+": Occur.MUST, "-": Occur.MUST_NOT}.get(self.peek())
        if occur is not None:
            if sign := _SIGNED_COMPARISON.match(self.text, self.at):
                self.fail(f"nothing to search for in '{sign[0]}': quote it together with a word")
            self.at += 1
            if self.peek() in ("", ")") or self.peek().isspace():
                self.fail(
                    f"{occur.value!r} must be directly followed by a word, phrase or group", self.at - 1
                )
        begin, node = self.at, self._leaf()
        if occur is Occur.MUST_NOT and isinstance(node, Literal) and self.text[begin] in _FIRST_OF_NUMBER:
            node = replace(node, minus=True)
        if self.peek() == "^":
            node = self._boost(node)
        return operator, occur, node

    def _operator(self) -> Operator | None:
        if self.keyword("AND") or self.symbol("&&"):
            return "AND"
        if self.keyword("OR") or self.symbol("||"):
            return "OR"
        return None

    def _boost(self, node: Node) -> Node:
        number = _FACTOR.match(self.text, self.at + 1)
        if not number:
            self.fail("'^' must be followed by a number, such as ^2 or ^0.5")
        self.at = number.end()
        self.must_end(f"unexpected {self.peek()!r} after the boost: '^' takes a number such as ^2 or ^0.5")
        factor = float(number[0])
        if factor > MAX_BOOST:
            self.fail(f"the boost is too large: it can be at most {MAX_BOOST}", number.start() - 1)
        return node if abs(factor - 1.0) <= 2.0**-52 else Boost(node, factor)

    def _leaf(self) -> Node:
        start = self.at
        if self.peek() == "(":
            return self._group()
        if self.standalone_star():
            if self.peek() == ":":
                self.at += 1
                if not self.standalone_star():
                    self.fail(
                        "'*:' does not name a column: write the word alone to search all columns, or * for every row",
                        start,
                    )
            return Everything()
        if self.keyword("NOT") or self.exclamation():
            sign = self.text[start : self.at]
            self.skip_space()
            if self.peek() in ("", ")"):
                self.fail(
                    f'{sign} needs an operand after it: write "{sign}" in quotes to search for it', start
                )
            self._descend(start)
            negated = self._leaf()
            self._depth -= 1
            return Clause(((Occur.MUST_NOT, negated),))
        name = self.field_name()
        if name is None:
            return self._term(None, start)
        if name == _EXISTS:
            return self._existing(start)
        if name == _MISSING:
            self.fail("'_missing_:' is not supported: write NOT col:* for the rows without a value", start)
        if self.peek() == "!":
            self.fail(f"'!' stands before the column: write NOT {name}:value or !{name}:value")
        if self.peek() == "(":
            return with_default_field(self._group(), name, start)
        if self.standalone_star():
            return Exists(name, start)
        return self._term(name, start)

    def _group(self) -> Node:
        start = self.at
        self.at += 1
        self._descend(start)
        node, operands = self._clause()
        if self.peek() != ")":
            self.fail(
                "unclosed parenthesis: add the closing ')', or write \\( for the character itself", start
            )
        if node == Clause(()):
            self.fail("empty parentheses: write a query between them, or remove them", start)
        self.at += 1
        self._depth -= 1
        return self._at_least(node, operands) if self.peek() == "@" else node

    def _at_least(self, node: Node, operands: int) -> Node:
        """Parse the number of alternatives of a group that must match, as Lucene writes it: `(a b c)@2`."""
        least = _LEAST.match(self.text, self.at)
        if not least or int(least[1]) < 1:
            self.fail("'@' after a group takes the number of its alternatives that must match: (a b c)@2")
        clause = replace(
            node if isinstance(node, Clause) and operands > 1 else Clause(((None, node),)),
            least=int(least[1]),
            position=self.at,
        )
        self.at = least.end()
        return clause

    def _existing(self, start: int) -> Node:
        """Parse the column after `_exists_:`."""
        pieces = self.pieces()
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self.fail("'_exists_:' takes the name of one column: write col:* OR other:*", start)
        self.must_end("'_exists_:' takes the name of one column")
        return Exists("".join(map(str, pieces)), start)

    def _descend(self, start: int) -> None:
        self._depth += 1
        if self._limits is not None and self._depth > self._limits.depth:
            self.fail(self._limits.too_deep(), start)

    def _count_term(self, start: int) -> None:
        self._terms += 1
        if self._limits is not None and self._terms > self._limits.terms:
            self.fail(self._limits.too_many_terms(), start)

    def _count_pattern(self, start: int) -> None:
        self._patterns += 1
        if self._limits is not None and self._patterns > self._limits.patterns:
            self.fail(self._limits.too_many_patterns(), start)

    def _term(self, name: str | None, start: int) -> Node:
        self._count_term(start)
        if opening := _IN.match(self.text, self.at):
            self.at = opening.end()
            return OneOf(self._set_values(start), name, start)
        if comparison := _COMPARISON.match(self.text, self.at):
            self.at = comparison.end()
            limit = Limit(self._limit(stop_at_boost=True), comparison[1].endswith("="))
            if comparison[1].startswith(">"):
                return Range(limit, None, name, start)
            return Range(None, limit, name, start)
        if self.peek() in ("[", "{"):
            return self._range(name, start)
        if self.peek() in ('"', "'"):
            return self._phrase(name, start)
        if expression := self.regex():
            self._count_pattern(start)
            return Regex(parse_regex(*expression), name, start)
        if (number := self._negative_number()) is not None:
            return Literal(number, name, position=start)
        return self._word(name, start)

    def _negative_number(self) -> str | None:
        """Consume a negative number; other text that begins as one is refused."""
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            return None
        if _NUMBER_END.match(self.text, number.end()) is None:
            text = _NUMBER_PART.match(self.text, self.at)[0]  # type: ignore[index]
            self.fail(f'{shorten(text)} begins as a negative number and goes on: quote it, "{shorten(text)}"')
        self.at = number.end()
        return number[0]

    def _phrase(self, name: str | None, start: int) -> Node:
        quote, pieces = self.peek(), self.quoted()
        wild = any(isinstance(piece, Wildcard) for piece in pieces)
        text = "" if wild else "".join(map(str, pieces))
        if wild:
            self._count_pattern(start)
        if self.peek() == "*":
            self.at += 1
            self.must_end(f"unexpected {self.peek()!r} after the '*' of a phrase: write a space after it")
            self._count_pattern(start)
            if wild:
                return Pattern((*pieces, Wildcard.ANY), name, quote=quote, position=start, prefix=True)
            return Literal(text, name, quote=quote, prefix=True, position=start)
        if self.peek() == "~":
            slop = _SLOP.match(self.text, self.at)
            if not slop:
                self.fail("'~' after a phrase must be followed by a number of words, such as ~2")
            if len(slop[1]) > len(str(MAX_SLOP)) or int(slop[1]) > MAX_SLOP:
                self.fail(f"the words of a phrase can be at most ~{MAX_SLOP} apart")
            self.at = slop.end()
            self.must_end(
                f"unexpected {self.peek()!r} after '{slop[0]}': '~' after a phrase takes a whole number of words"
            )
            if wild:
                return Pattern(pieces, name, quote=quote, slop=int(slop[1]), position=start)
            return Literal(text, name, quote=quote, slop=int(slop[1]), position=start)
        if wild:
            return Pattern(pieces, name, quote=quote, position=start)
        return Literal(text, name, quote=quote, position=start)

    def _range(self, name: str | None, start: int) -> Node:
        opening = self.at
        low_inclusive = self.peek() == "["
        self.at += 1
        self.skip_space()
        lower = self._limit()
        to = _TO.match(self.text, self.at)
        if not to:
            self.fail("a range is written as [low TO high]: TO is missing", opening)
        self.at = to.end()
        upper = self._limit()
        self.skip_space()
        if self.peek() not in ("]", "}"):
            self.fail(f"unclosed range: {']' if low_inclusive else '}'} is missing", opening)
        high_inclusive = self.peek() == "]"
        self.at += 1
        return Range(
            None if lower == "*" else Limit(lower, low_inclusive),
            None if upper == "*" else Limit(upper, high_inclusive),
            name,
            start,
        )

    def _limit(self, *, stop_at_boost: bool = False) -> str:
        if self.peek() in ('"', "'"):
            return self.quoted_text("a range")
        word = _RANGE_WORD.match(self.text, self.at)
        if not word:
            self.fail("a range needs a value here, or * for no limit")
        text = word[0].split("^")[0] if stop_at_boost else word[0]
        if text != "*" and any(character in text for character in "*?\\"):
            self.fail(
                "the end of a range is a whole value, or * alone: quote a value with a wildcard or a backslash"
            )
        self.at += len(text)
        return text

    def _set_values(self, start: int) -> tuple[str, ...]:
        values: list[str] = []
        while self.peek() != "]":
            if self.at >= len(self.text):
                self.fail("unclosed set: ] is missing", start)
            if self.peek() in ('"', "'"):
                values.append(self.quoted_text("a set"))
            elif (number := self._negative_number()) is not None:
                values.append(number)
            else:
                values.append(self._set_word())
            self._count_term(start)
            self.skip_space()
        self.at += 1
        if not values:
            self.fail("empty set: write values between the brackets, as in IN [a b]", start)
        return tuple(values)

    def _set_word(self) -> str:
        begin, pieces = self.at, self.pieces()
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self.fail("a set takes whole values: join words with wildcards by OR, as in err* OR warn*", begin)
        if self.peek() not in ("", "]") and not self.peek().isspace():
            self.fail(f"unexpected {self.peek()!r} in a set: quote the value")
        return "".join(map(str, pieces))

    def _word(self, name: str | None, start: int) -> Node:
        begin = self.at
        pieces = self.pieces()
        if self.text[begin : self.at] in _KEYWORDS:
            keyword = self.text[begin : self.at]
            self.fail(
                f'{keyword} is an operator, and a word is expected: write "{keyword}" in quotes to search for it',
                begin,
            )
        if distance := DISTANCE.match(self.text, self.at):
            self.at = distance.end()
            self._count_pattern(start)
            return self._fuzzy(pieces, int(distance[1] or MAX_FUZZY), name, start)
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self._count_pattern(start)
            return Pattern(pieces, name, position=start)
        return Literal("".join(map(str, pieces)), name, position=start)

    def _fuzzy(self, pieces: Pieces, distance: int, name: str | None, start: int) -> Node:
        if distance > MAX_FUZZY:
            self.fail(f"a fuzzy word takes ~1 or ~2, not ~{distance}", start)
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self.fail("a word cannot be fuzzy and have wildcards: remove the '~' or the wildcards", start)
        return Fuzzy("".join(map(str, pieces)), distance, name, start)


def _combine(items: list[Item]) -> Node:
    """Combine operands. AND binds tighter than OR and than no operator: each run of ANDs is one alternative."""
    clauses: list[list[tuple[Occur | None, Node]]] = []
    for index, (operator, occur, node) in enumerate(items):
        following = items[index + 1][0] if index + 1 < len(items) else None
        if operator == "AND":
            clauses[-1].append((occur or Occur.MUST, node))
            continue
        default = Occur.MUST if following == "AND" else None
        if default is None and "OR" in (operator, following):
            default = Occur.SHOULD
        if occur is Occur.MUST_NOT and default is Occur.SHOULD:
            occur, node = Occur.SHOULD, Clause(((Occur.MUST_NOT, node),))  # noqa: PLW2901
        clauses.append([(occur or default, node)])
    if len(clauses) == 1:
        only = clauses[0]
        if len(only) == 1 and only[0][0] is not Occur.MUST_NOT:
            return only[0][1]
        return Clause(tuple(only))
    return Clause(tuple(run[0] if len(run) == 1 else (Occur.SHOULD, Clause(tuple(run))) for run in clauses))
