"""Tokens of a command's text, by the rules of Spark's own lexer: comments, strings with escapes, quoted names.

Each token has its position, and `misplaced` makes an error that points at a position.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from indextables.errors import CommandError

Kind = Literal["word", "string", "name", "symbol", "end"]

_SPACE: Final = re.compile(r"\s+|--(?:\\\n|[^\r\n])*")
_WORD: Final = re.compile(r"\w+")
_RAW: Final = re.compile(r"""[rR](?:'([^']*)'|"([^"]*)")""")
_NAME: Final = re.compile(r"`((?:[^`]|``)*)`")
_QUOTED: Final = {
    "'": re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL),
    '"': re.compile(r'"((?:[^"\\]|\\.|"")*)"', re.DOTALL),
}
_COMMENT_EDGE: Final = re.compile(r"/\*|\*/")
_ESCAPE: Final = re.compile(
    r"""\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))|''|\"\"""", re.DOTALL
)
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_AROUND: Final = 60
"""The number of characters that an error shows on each side of its position."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, string, quoted name or other character. `value` is its meaning, without quotes and escapes."""

    kind: Kind
    value: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.value.upper() in words


def tokenize(sql: str) -> list[Token]:
    """Return the tokens of a text. The last one is of kind `end`.

    >>> [token.value for token in tokenize("DROP /* all */ FROM 'it''s' -- done")]
    ['DROP', 'FROM', "it's", '']
    """
    return list(_tokens(sql))


def misplaced(message: str, sql: str, position: int) -> CommandError:
    """Return an error that shows the line of a position, with a mark below it.

    >>> print(misplaced("expected LOG, found 'x'", "DESCRIBE x", 9))
    expected LOG, found 'x' (line 1, column 10)
    DESCRIBE x
             ^
    """
    line = sql.count("\n", 0, position) + 1
    begin = sql.rfind("\n", 0, position) + 1
    end = sql.find("\n", position)
    first = max(begin, position - _AROUND)
    shown = sql[first : min(len(sql) if end < 0 else end, position + _AROUND)]
    shown = "".join(character if character.isprintable() else " " for character in shown)
    mark = " " * (position - first) + "^"
    return CommandError(
        f"{message} (line {line}, column {position - begin + 1})\n{shown}\n{mark}", position=position
    )


def _tokens(sql: str) -> Iterator[Token]:
    at = 0
    while at < len(sql):
        space = _SPACE.match(sql, at)
        if space:
            at = space.end()
        elif sql.startswith("/*", at):
            at = _comment_end(sql, at)
        else:
            token = _token(sql, at)
            yield token
            at = token.end
    yield Token("end", "", at, at)


def _token(sql: str, at: int) -> Token:
    if raw := _RAW.match(sql, at):
        return Token("string", raw[1] if raw[1] is not None else raw[2], at, raw.end())
    if word := _WORD.match(sql, at):
        return Token("word", word[0], at, word.end())
    if name := _NAME.match(sql, at):
        return Token("name", name[1].replace("``", "`"), at, name.end())
    quote = sql[at]
    if quote in _QUOTED:
        if string := _QUOTED[quote].match(sql, at):
            return Token("string", _unescaped(string[1], quote), at, string.end())
        raise misplaced("a string begins here and is not closed", sql, at)
    if quote == "`":
        raise misplaced("a name begins here and is not closed", sql, at)
    return Token("symbol", quote, at, at + 1)


def _comment_end(sql: str, at: int) -> int:
    """Return the end of a comment. Comments nest, as in Spark."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise misplaced("a comment begins here and is not closed", sql, at)


def _unescaped(body: str, quote: str) -> str:
    r"""Return the value of a string. `\%` and `\_` stay as they are: they belong to LIKE."""

    def character(escape: re.Match[str]) -> str:
        if escape[0][0] != "\\":
            return quote if escape[0][0] == quote else escape[0]
        short, long, octal, other = escape.groups()
        if other is not None:
            return _ESCAPED.get(other, other)
        code = int(octal, 8) if octal else int(short or long, 16)
        return chr(code) if code <= sys.maxunicode else escape[0]

    return _ESCAPE.sub(character, body)
