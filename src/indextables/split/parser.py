"""Query text to tree. Written by hand: Tantivy's own parser gives no positions and knows no `conn*`.

What Tantivy's grammar accepts means the same here, down to its mixtures of AND, OR and bare words, but for:
wildcards and `~1` in words, which it takes as letters; a NOT in front of a part (`a AND NOT b`), which it
parses and never matches; and quotes inside words, `/paths/` and closed-up parentheses, which it refuses.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn, TypeAlias
from typing import Literal as OneOfThese

from indextables.split.query import (
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

MAX_DEPTH: Final = 100
MAX_FUZZY: Final = 2

_FIELD_STOPS: Final = frozenset("+^`:{}\"'[]()!\\* ")
_WORD_STOPS: Final = frozenset('^:{}"[]()')
_WORD_START_STOPS: Final = _WORD_STOPS | frozenset("'`-")
_STANDALONE_STOPS: Final = _WORD_STOPS | frozenset("'`")
_KEYWORDS: Final = frozenset({"AND", "OR", "NOT"})

_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-\d+(?:\.\d+)?")
_FACTOR: Final = re.compile(r"\d+(?:\.\d+)?")
_DISTANCE: Final = re.compile(r"~(\d+)(?=[\s)^]|$)")
_SLOP: Final = re.compile(r"~(\d+)")
_COMPARISON: Final = re.compile(r"(>=|<=|<|>)\s*(?=[^\s{}\[\]()])")
_RANGE_WORD: Final = re.compile(r'[^\s{}"\[\]()]+')
_TO: Final = re.compile(r"\s+TO\s+")
_IN: Final = re.compile(r"IN\s+\[\s*")
_WILDCARDS: Final = {"*": Wildcard.ANY, "?": Wildcard.ONE}


class QuerySyntaxError(ValueError):
    """What is wrong, and the 0-based character of the query where it is."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def parse(text: str) -> Node:
    """The tree of a query; QuerySyntaxError when it has none.

    >>> parse("title:b*").field
    'title'
    >>> parse('a AND "b')
    Traceback (most recent call last):
        ...
    indextables.split.parser.QuerySyntaxError: unclosed quote
    """
    return without_repeats(_Parser(text).whole())


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._clause()
        if self._at < len(self._text):
            self._fail("')' closes nothing; escape it as \\) if it is meant")
        return node

    def _clause(self) -> Node:
        """Everything up to the end or a closing parenthesis."""
        items: list[Item] = []
        while True:
            self._skip_space()
            if self._peek() in ("", ")"):
                return _joined(items)
            items.append(self._item(first=not items))

    def _item(self, *, first: bool) -> Item:
        start, operator = self._at, self._operator()
        if operator is not None:
            if first:
                self._fail(f"{operator} needs something in front of it", start)
            self._skip_space()
            if self._peek() in ("", ")"):
                self._fail(f"{operator} needs something after it", start)
        occur = {"+": Occur.MUST, "-": Occur.MUST_NOT}.get(self._peek())
        if occur is not None:
            self._at += 1
            if self._peek() in ("", ")") or self._peek().isspace():
                self._fail(f"{occur.value!r} needs a word, phrase or group right after it", self._at - 1)
        node = self._leaf()
        if self._peek() == "^":
            node = self._boosted(node)
        return operator, occur, node

    def _operator(self) -> Operator | None:
        for operator in ("AND", "OR"):
            if self._keyword(operator):
                return operator
        return None

    def _keyword(self, word: str) -> bool:
        end = self._at + len(word)
        after = self._text[end : end + 1]
        if self._text.startswith(word, self._at) and (after in ("", "(", ")", '"') or after.isspace()):
            self._at = end
            return True
        return False

    def _boosted(self, node: Node) -> Node:
        found = _FACTOR.match(self._text, self._at + 1)
        if not found:
            self._fail("'^' needs a number after it, such as ^2 or ^0.5")
        self._at = found.end()
        factor = float(found[0])
        return node if abs(factor - 1.0) <= 2.0**-52 else Boost(node, factor)

    def _leaf(self) -> Node:
        start = self._at
        if self._peek() == "(":
            return self._group()
        if self._standalone_star():
            return Everything()
        if self._keyword("NOT"):
            self._skip_space()
            if self._peek() in ("", ")"):
                self._fail("NOT needs something after it", start)
            return Clause(((Occur.MUST_NOT, self._leaf()),))
        name = self._field_name()
        if name is None:
            return self._term(None, start)
        if self._peek() == "(":
            return with_default_field(self._group(), name, start)
        if self._standalone_star():
            return Exists(name, start)
        return self._term(name, start)

    def _group(self) -> Node:
        start = self._at
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"parentheses are nested more than {MAX_DEPTH} deep", start)
        node = self._clause()
        if self._peek() != ")":
            self._fail("unclosed parenthesis", start)
        if node == Clause(()):
            self._fail("nothing between the parentheses", start)
        self._at += 1
        self._depth -= 1
        return node

    def _term(self, name: str | None, start: int) -> Node:
        if found := _IN.match(self._text, self._at):
            self._at = found.end()
            return OneOf(self._set_values(start), name, start)
        if found := _COMPARISON.match(self._text, self._at):
            self._at = found.end()
            limit = Limit(self._limit(stop_at_boost=True), found[1].endswith("="))
            return Range(limit, None, name, start) if found[1][0] == ">" else Range(None, limit, name, start)
        if self._peek() in ("[", "{"):
            return self._range(name, start)
        if self._peek() in ('"', "'"):
            return self._phrase(name, start)
        if found := _NUMBER.match(self._text, self._at):
            self._at = found.end()
            return Literal(found[0], name, position=start)
        return self._word(name, start)

    def _phrase(self, name: str | None, start: int) -> Node:
        quote, text = self._peek(), self._quoted()
        if self._peek() == "*":
            self._at += 1
            return Literal(text, name, quote, prefix=True, position=start)
        if self._peek() == "~":
            found = _SLOP.match(self._text, self._at)
            if not found:
                self._fail("'~' after a phrase needs a number of words, such as ~2")
            self._at = found.end()
            return Literal(text, name, quote, slop=int(found[1]), position=start)
        return Literal(text, name, quote, position=start)

    def _quoted(self) -> str:
        start, quote, text = self._at, self._peek(), []
        self._at += 1
        while (character := self._peek()) != quote:
            if character == "\\":
                self._at += 1
            if self._at >= len(self._text):
                self._fail("unclosed quote", start)
            text.append(self._peek())
            self._at += 1
        self._at += 1
        return "".join(text)

    def _range(self, name: str | None, start: int) -> Node:
        opening = self._at
        low_inclusive = self._peek() == "["
        self._at += 1
        self._skip_space()
        lower = self._limit()
        to = _TO.match(self._text, self._at)
        if not to:
            self._fail("a range is written [low TO high]: TO is missing", opening)
        self._at = to.end()
        upper = self._limit()
        self._skip_space()
        if self._peek() not in ("]", "}"):
            self._fail(f"unclosed range: {']' if low_inclusive else '}'} is missing", opening)
        high_inclusive = self._peek() == "]"
        self._at += 1
        return Range(
            None if lower == "*" else Limit(lower, low_inclusive),
            None if upper == "*" else Limit(upper, high_inclusive),
            name,
            start,
        )

    def _limit(self, *, stop_at_boost: bool = False) -> str:
        if self._peek() == '"':
            return self._quoted()
        found = _RANGE_WORD.match(self._text, self._at)
        if not found:
            self._fail("a range needs a value here")
        text = found[0].split("^")[0] if stop_at_boost else found[0]
        self._at += len(text)
        return text

    def _set_values(self, start: int) -> tuple[str, ...]:
        values: list[str] = []
        while self._peek() != "]":
            if self._at >= len(self._text):
                self._fail("unclosed set: ] is missing", start)
            if self._peek() in ('"', "'"):
                values.append(self._quoted())
            elif found := _NUMBER.match(self._text, self._at):
                self._at = found.end()
                values.append(found[0])
            else:
                values.append("".join(p if isinstance(p, str) else p.value for p in self._pieces()))
            self._skip_space()
        self._at += 1
        return tuple(values)

    def _word(self, name: str | None, start: int) -> Node:
        begin = self._at
        pieces = self._pieces()
        if self._text[begin : self._at] in _KEYWORDS:
            keyword = self._text[begin : self._at]
            self._fail(f"{keyword} stands where a word should; write it in quotes to search for it", begin)
        if found := _DISTANCE.match(self._text, self._at):
            self._at = found.end()
            return self._fuzzy(pieces, int(found[1]), name, start)
        if any(isinstance(piece, Wildcard) for piece in pieces):
            return Pattern(pieces, name, start)
        return Literal("".join(map(str, pieces)), name, position=start)

    def _fuzzy(self, pieces: Pieces, distance: int, name: str | None, start: int) -> Node:
        if distance > MAX_FUZZY:
            self._fail(f"a fuzzy word takes ~1 or ~2, not ~{distance}", start)
        if any(isinstance(piece, Wildcard) for piece in pieces):
            self._fail("a word is fuzzy or has wildcards, not both", start)
        return Fuzzy("".join(map(str, pieces)), distance, name, start)

    def _pieces(self) -> Pieces:
        """The characters of a word, escapes taken out, wildcards told from letters."""
        pieces: list[str | Wildcard] = []
        stops = _WORD_START_STOPS
        while (character := self._peek()) and not character.isspace() and character not in stops:
            stops = _WORD_STOPS
            if character == "~" and pieces and _DISTANCE.match(self._text, self._at):
                break
            if character == "\\":
                pieces.append(self._escaped())
                continue
            pieces.append(_WILDCARDS.get(character, character))
            self._at += 1
        if not pieces:
            self._fail(self._no_word())
        return tuple(_merged(pieces))

    def _escaped(self) -> str:
        following = self._text[self._at + 1 : self._at + 2]
        if not following:
            self._fail("a backslash needs a character after it; write \\\\ for the backslash itself")
        self._at += 2
        return f"\\{following}" if following.isalnum() else following

    def _no_word(self) -> str:
        character = self._peek()
        if character == "":
            return "the query ends where a word should stand"
        return f"unexpected {character!r}; quote or escape it if it is meant"

    def _field_name(self) -> str | None:
        name: list[str] = []
        at = self._at
        while at < len(self._text):
            character, following = self._text[at], self._text[at + 1 : at + 2]
            if character == "\\" and following and following in _FIELD_STOPS:
                name.append(following)
                at += 2
                continue
            if character.isspace() or (character in _FIELD_STOPS and (character != "\\" or not name)):
                break
            if character == "-" and not name:
                break
            name.append(character)
            at += 1
        colon = _SPACE.match(self._text, at).end()  # type: ignore[union-attr]
        if not name or self._text[colon : colon + 1] != ":":
            return None
        start, self._at = self._at, colon + 1
        self._skip_space()
        if self._peek() in ("", ")"):
            self._fail(f"nothing follows '{''.join(name)}:'", start)
        return "".join(name)

    def _standalone_star(self) -> bool:
        after = self._text[self._at + 1 : self._at + 2]
        if self._peek() == "*" and (after == "" or after.isspace() or after in _STANDALONE_STOPS):
            self._at += 1
            return True
        return False

    def _skip_space(self) -> None:
        self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _fail(self, reason: str, position: int | None = None) -> NoReturn:
        raise QuerySyntaxError(reason, self._at if position is None else position)


def _merged(pieces: list[str | Wildcard]) -> list[str | Wildcard]:
    merged: list[str | Wildcard] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif not (piece is Wildcard.ANY and merged and merged[-1] is Wildcard.ANY):
            merged.append(piece)
    return merged


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
