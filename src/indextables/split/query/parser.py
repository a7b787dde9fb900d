"""Query text to tree. Written by hand: Tantivy's own parser gives no positions and knows no `conn*`.

What Tantivy's grammar accepts means the same here, down to its mixtures of AND, OR and bare words, but for:
wildcards and `~1` in words, which it takes as letters; a NOT in front of a part (`a AND NOT b`), which it
parses and never matches; quotes inside words, paths and closed-up parentheses, which it refuses; a backslash
before a letter inside quotes, which it drops; and the spellings of other languages (`!a`, `a && b`, `/a.*/`,
`"a*"`, `a~`), which it takes for letters and which are refused here.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias
from typing import Literal as OneOfThese

from indextables.predicates import QueryLimits
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
    Wildcard,
    with_default_field,
    without_repeats,
)

Operator: TypeAlias = OneOfThese["AND", "OR"]
Item: TypeAlias = tuple[Operator | None, Occur | None, Node]

MAX_FUZZY: Final = 2
MAX_SLOP: Final = 1000
MAX_BOOST: Final = 1_000_000

_KEYWORDS: Final = frozenset({"AND", "OR", "NOT"})

_NUMBER: Final = re.compile(r"-\d+(?:\.\d+)?")
_FACTOR: Final = re.compile(r"\d+(?:\.\d+)?")
_SLOP: Final = re.compile(r"~(\d+)")
_SIGNED_COMPARISON: Final = re.compile(r"[-+][<>=]+")
_COMPARISON: Final = re.compile(r"(>=|<=|<|>)\s*(?=[^\s{}\[\]()])")
_RANGE_WORD: Final = re.compile(r'[^\s{}"\[\]()]+')
_TO: Final = re.compile(r"\s+TO\s+")
_IN: Final = re.compile(r"IN\s+\[\s*")


def parse(text: str, limits: QueryLimits | None = None) -> Node:
    """The tree of a query; QuerySyntaxError when it has none, or when it is larger than the limits.

    >>> parse("title:b*").field
    'title'
    >>> parse('a AND "b')
    Traceback (most recent call last):
        ...
    indextables.split.query.scanner.QuerySyntaxError: unclosed quote
    """
    if limits is not None and len(text) > limits.length:
        raise QuerySyntaxError(limits.too_long(len(text)), 0)
    try:
        text.encode()
    except UnicodeEncodeError as reason:
        raise QuerySyntaxError("half of a surrogate pair is no character", reason.start) from None
    try:
        return without_repeats(_Parser(text, limits).whole())
    except RecursionError:
        raise QuerySyntaxError("the query is nested too deep", 0) from None


class _Parser(Scanner):
    def __init__(self, text: str, limits: QueryLimits | None) -> None:
        super().__init__(text)
        self._limits = limits
        self._depth = 0
        self._terms = 0
        self._patterns = 0

    def whole(self) -> Node:
        node = self._clause()
        if self.at < len(self.text):
            self.fail("')' closes nothing; escape it as \\) if it is meant")
        if node == Clause(()):
            self.fail("the query is empty; write * for every row", 0)
        return node

    def _clause(self) -> Node:
        """Everything up to the end or a closing parenthesis."""
        items: list[Item] = []
        while True:
            self.skip_space()
            if self.peek() in ("", ")"):
                return _joined(items)
            items.append(self._item(first=not items))

    def _item(self, *, first: bool) -> Item:
        start, operator = self.at, self._operator()
        if operator is not None:
            if first:
                self.fail(f"{operator} needs something in front of it", start)
            self.skip_space()
            if self.peek() in ("", ")"):
                self.fail(f"{operator} needs something after it", start)
        occur = {"+": Occur.MUST, "-": Occur.MUST_NOT}.get(self.peek())
        if occur is not None:
            if found := _SIGNED_COMPARISON.match(self.text, self.at):
                self.fail(f"nothing to search for in '{found[0]}': quote it together with a word")
            self.at += 1
            if self.peek() in ("", ")") or self.peek().isspace():
                self.fail(f"{occur.value!r} needs a word, phrase or group right after it", self.at - 1)
        node = self._leaf()
        if self.peek() == "^":
            node = self._boosted(node)
        return operator, occur, node

    def _operator(self) -> Operator | None:
        for operator in ("AND", "OR"):
            if self.keyword(operator):
                return operator
        return None

    def _boosted(self, node: Node) -> Node:
        found = _FACTOR.match(self.text, self.at + 1)
        if not found:
            self.fail("'^' needs a number after it, such as ^2 or ^0.5")
        self.at = found.end()
        self.must_end(f"'^{found[0]}' must end here: '^' takes a number such as ^2 or ^0.5")
        factor = float(found[0])
        if factor > MAX_BOOST:
            self.fail(f"a boost is at most {MAX_BOOST}", found.start() - 1)
        return node if abs(factor - 1.0) <= 2.0**-52 else Boost(node, factor)

    def _leaf(self) -> Node:
        start = self.at
        if self.peek() == "(":
            return self._group()
        if self.standalone_star():
            if self.peek() == ":":
                self.fail(
                    "'*:' names no column: write * for every row, or col:* for rows that have a value", start
                )
            return Everything()
        if self.keyword("NOT"):
            self.skip_space()
            if self.peek() in ("", ")"):
                self.fail("NOT needs something after it", start)
            self._descend(start)
            negated = self._leaf()
            self._depth -= 1
            return Clause(((Occur.MUST_NOT, negated),))
        name = self.field_name()
        if name is None:
            return self._term(None, start)
        if self.peek() == "(":
            return with_default_field(self._group(), name, start)
        if self.standalone_star():
            return Exists(name, start)
        return self._term(name, start)

    def _group(self) -> Node:
        start = self.at
        self.at += 1
        self._descend(start)
        node = self._clause()
        if self.peek() != ")":
            self.fail("unclosed parenthesis", start)
        if node == Clause(()):
            self.fail("nothing between the parentheses", start)
        self.at += 1
        self._depth -= 1
        return node

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
        if found := _IN.match(self.text, self.at):
            self.at = found.end()
            return OneOf(self._set_values(start), name, start)
        if found := _COMPARISON.match(self.text, self.at):
            self.at = found.end()
            limit = Limit(self._limit(stop_at_boost=True), found[1].endswith("="))
            return Range(limit, None, name, start) if found[1][0] == ">" else Range(None, limit, name, start)
        if self.peek() in ("[", "{"):
            return self._range(name, start)
        if self.peek() in ('"', "'"):
            return self._phrase(name, start)
        if found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            return Literal(found[0], name, position=start)
        return self._word(name, start)

    def _phrase(self, name: str | None, start: int) -> Node:
        quote, text = self.peek(), self.quoted()
        if self.peek() == "*":
            self.at += 1
            self.must_end("a space must follow '*' after a phrase")
            self._count_pattern(start)
            return Literal(text, name, quote, prefix=True, position=start)
        if self.peek() == "~":
            found = _SLOP.match(self.text, self.at)
            if not found:
                self.fail("'~' after a phrase needs a number of words, such as ~2")
            if len(found[1]) > len(str(MAX_SLOP)) or int(found[1]) > MAX_SLOP:
                self.fail(f"the words of a phrase may be at most ~{MAX_SLOP} apart")
            self.at = found.end()
            self.must_end(f"'{found[0]}' must end here: '~' after a phrase takes a whole number of words")
            return Literal(text, name, quote, slop=int(found[1]), position=start)
        return Literal(text, name, quote, position=start)

    def _range(self, name: str | None, start: int) -> Node:
        opening = self.at
        low_inclusive = self.peek() == "["
        self.at += 1
        self.skip_space()
        lower = self._limit()
        to = _TO.match(self.text, self.at)
        if not to:
            self.fail("a range is written [low TO high]: TO is missing", opening)
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
            return self.quoted()
        found = _RANGE_WORD.match(self.text, self.at)
        if not found:
            self.fail("a range needs a value here")
        text = found[0].split("^")[0] if stop_at_boost else found[0]
        if text != "*" and any(character in text for character in "*?\\"):
            self.fail(
                "the end of a range is a whole value, or * alone: quote it if it has a wildcard or backslash"
            )
        self.at += len(text)
        return text

    def _set_values(self, start: int) -> tuple[str, ...]:
        values: list[str] = []
        while self.peek() != "]":
            if self.at >= len(self.text):
                self.fail("unclosed set: ] is missing", start)
            if self.peek() in ('"', "'"):
                values.append(self.quoted())
            elif found := _NUMBER.match(self.text, self.at):
                self.at = found.end()
                values.append(found[0])
            else:
                values.append(self._set_word())
            self._count_term(start)
            self.skip_space()
        self.at += 1
        if not values:
            self.fail("nothing between the brackets", start)
        return tuple(values)

    def _set_word(self) -> str:
        begin, pieces = self.at, self.pieces()
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self.fail("a set takes whole values: join words with wildcards by OR", begin)
        if self.peek() not in ("", "]") and not self.peek().isspace():
            self.fail(f"unexpected {self.peek()!r} in a set; quote the value")
        return "".join(map(str, pieces))

    def _word(self, name: str | None, start: int) -> Node:
        begin = self.at
        pieces = self.pieces()
        if self.text[begin : self.at] in _KEYWORDS:
            keyword = self.text[begin : self.at]
            self.fail(f"{keyword} stands where a word should; write it in quotes to search for it", begin)
        if found := DISTANCE.match(self.text, self.at):
            self.at = found.end()
            self._count_pattern(start)
            return self._fuzzy(pieces, int(found[1]), name, start)
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self._count_pattern(start)
            return Pattern(pieces, name, start)
        return Literal("".join(map(str, pieces)), name, position=start)

    def _fuzzy(self, pieces: Pieces, distance: int, name: str | None, start: int) -> Node:
        if distance > MAX_FUZZY:
            self.fail(f"a fuzzy word takes ~1 or ~2, not ~{distance}", start)
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self.fail("a word is fuzzy or has wildcards, not both", start)
        return Fuzzy("".join(map(str, pieces)), distance, name, start)


def _joined(items: list[Item]) -> Node:
    """AND binds tighter than OR and than nothing; each run of ANDs is one clause, an alternative to the rest."""
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
