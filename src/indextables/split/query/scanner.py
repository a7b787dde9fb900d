"""Scanning the characters of a query: words with escapes and wildcards, quoted text, names of columns."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final, NoReturn

from indextables.split.query.tree import Pieces, Wildcard
from indextables.split.query.windows_paths import begins_as_share, is_windows_path

DISTANCE: Final = re.compile(r"~(\d{0,9})(?=[\s)^]|$)")

FIELD_STOPS: Final = frozenset("+^`:{}\"'[]()!\\* ")
_WORD_STOPS: Final = frozenset('^:{}"[]()')
_WORD_START_STOPS: Final = _WORD_STOPS | frozenset("'`-")
_STANDALONE_STOPS: Final = _WORD_STOPS | frozenset("'`")
_SPACE: Final = re.compile(r"\s*")
_UNICODE_ESCAPE: Final = re.compile(r"\\u[0-9A-Fa-f]{4}(?![0-9A-Za-z])")
_REGEX: Final = re.compile(r"/((?:[^/\\]|\\.)*)/", re.DOTALL)
_WORD: Final = re.compile(r"\S*")
_SYMBOLS: Final = {"&&": "AND", "||": "OR"}
_DATE_ANCHOR: Final = re.compile(r"\|\|(?=[-+]\d|/[yMwdhHms])")
_WILDCARDS: Final = {"*": Wildcard.ANY, "?": Wildcard.ONE}


class QuerySyntaxError(ValueError):
    """A query that cannot be parsed: the reason, and the 0-based position of the character it is about."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class Scanner:
    """A position in a query that moves forward. What cannot stand there raises QuerySyntaxError.

    Syntax of other query languages that would mean something else here is rejected with the syntax to use instead.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip_space(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def keyword(self, word: str) -> bool:
        """Consume a keyword if it stands here as a whole word."""
        end = self.at + len(word)
        after = self.text[end : end + 1]
        if self.text.startswith(word, self.at) and (after in ("", "(", ")", '"') or after.isspace()):
            self.at = end
            return True
        return False

    def symbol(self, symbol: str) -> bool:
        """Consume `&&` or `||` if an operand begins after it, or nothing does."""
        after = self.text[self.at + 2 : self.at + 3]
        if self.text.startswith(symbol, self.at) and (
            after in ("", "(", ")", '"', "'", "!") or after.isspace()
        ):
            self.at += 2
            return True
        return False

    def exclamation(self) -> bool:
        """Consume a `!` in front of an operand."""
        if self.peek() != "!":
            return False
        if self.text[self.at + 1 : self.at + 2] == "=":
            self.fail("'!=' is not an operator: write NOT col:value, or quote the text that contains it")
        self.at += 1
        return True

    def regex(self) -> tuple[str, int] | None:
        """Consume `/expression/`; return the text between the slashes and its position, or None for a path.

        An expression ends at the first slash without a backslash, as in Lucene. `/var/log` is a path: its second slash
        ends no word.
        """
        if self.peek() != "/":
            return None
        whole = _REGEX.match(self.text, self.at)
        if whole is None:
            return None
        after = self.text[whole.end() : whole.end() + 1]
        if after in ("", ")", "^") or after.isspace():
            start, self.at = self.at + 1, whole.end()
            if not whole[1]:
                self.fail('nothing between the slashes: write a regular expression, or quote "//"', start - 1)
            return whole[1], start
        word = _WORD.match(self.text, self.at)[0]  # type: ignore[index]
        if after == "i" and word.endswith("/i"):
            self.fail(
                "flags after a regular expression are not supported: text columns ignore case; in other columns write "
                'both cases, /[eE]rr/; quote a path, "/etc/i"'
            )
        if not any(map(str.isspace, whole[1])) and word.rstrip(")").endswith("/"):
            self.fail(
                "a regular expression ends at the first slash: write \\/ for a slash in it, or quote a path "
                '("/var/log/")'
            )
        return None

    def standalone_star(self) -> bool:
        """Consume a `*` that is not part of a word."""
        after = self.text[self.at + 1 : self.at + 2]
        if self.peek() == "*" and (after == "" or after.isspace() or after in _STANDALONE_STOPS):
            self.at += 1
            return True
        return False

    def quoted_text(self, what: str) -> str:
        """Return the text between quotes, which must have no wildcards: `what` takes whole values."""
        start, pieces = self.at, self.quoted()
        for wildcard in pieces:
            if isinstance(wildcard, Wildcard):
                sign = wildcard.value
                self.fail(
                    f"{what} takes whole values, and {sign!r} is a wildcard: write \\{sign} for it", start
                )
        return "".join(map(str, pieces))

    def quoted(self) -> Pieces:
        """Return the pieces between quotes. A backslash before a letter or digit is kept, and all of a Windows path."""
        start, quote = self.at, self.peek()
        text: list[str | Wildcard] = []
        self.at += 1
        is_path = is_windows_path(self.text, self.at, quote)
        while (character := self.peek()) != quote:
            if not character:
                self._fail_unclosed(start, quote)
            if character == "\\" and not is_path:
                if self.at + 1 >= len(self.text):
                    self._fail_unclosed(start, quote)
                text.append(self._escape())
                continue
            if _is_control(character):
                self.fail(
                    f"control character {character!r} inside quotes: write a space instead, or, if a backslash in a "
                    'string literal produced it, double the backslash ("C:\\\\temp")'
                )
            is_prefix = is_path and self.text[start + 1 : self.at + 2] == "\\\\?\\"  # of a long path
            text.append(character if is_prefix else _WILDCARDS.get(character, character))
            self.at += 2 if is_path and self.text.startswith(f"\\\\{quote}", self.at) else 1
        self.at += 1
        if not is_path:
            self._refuse_half_path(start, quote)
        return tuple(_merge(text))

    def _refuse_half_path(self, start: int, quote: str) -> None:
        r"""Reject a text that begins as `\\server\share` and is no such path: others of its characters are escaped."""
        if begins_as_share(self.text, start + len(quote), quote):
            self.fail(
                "a path that begins with two backslashes has single and doubled ones after them: write it as it is, "
                r'"\\server\share\dir", or every backslash doubled, "\\\\server\\share\\dir"',
                start,
            )

    def _fail_unclosed(self, start: int, quote: str) -> NoReturn:
        if self.text.endswith(f"\\{quote}"):
            self.fail(
                f"unclosed quote: \\{quote} is an escaped quote; write \\\\ for a backslash before the closing {quote}",
                start,
            )
        self.fail(f"unclosed quote: add the closing {quote}", start)

    def pieces(self) -> Pieces:
        """Return the pieces of a word: text without escapes, and wildcards."""
        pieces: list[str | Wildcard] = []
        start, is_path = self.at, is_windows_path(self.text, self.at)
        stops = _WORD_START_STOPS
        while (character := self.peek()) and not character.isspace() and character not in stops:
            stops = _WORD_STOPS
            if character == "~" and pieces and DISTANCE.match(self.text, self.at):
                break
            if character == "\\" and not is_path:
                pieces.append(self._escape())
                continue
            self._refuse_in_word(character)
            pieces.append(_WILDCARDS.get(character, character))
            self.at += 1
        if not pieces:
            self.fail(self._no_word())
        if not is_path:
            self._refuse_half_path(start, "")
        return tuple(_merge(pieces))

    def _refuse_in_word(self, character: str) -> None:
        operator = self.text[self.at : self.at + 2]
        if operator in _SYMBOLS and not _DATE_ANCHOR.match(self.text, self.at):
            self.fail(
                f"'{operator}' inside a word: write {_SYMBOLS[operator]} or {operator} between spaces, or quote the "
                "text that contains it"
            )
        if character == "!" and operator[1:].isalnum():
            self.fail(
                "'!' inside a word: write a space before it to negate, or quote the text that contains it"
            )
        if character == "~":
            self.fail(
                "'~' makes a word fuzzy and stands at its end, as in word~, word~1 or word~2: quote the text that "
                "contains it"
            )
        if _is_control(character):
            self.fail(
                f"control character {character!r}: remove it, or quote the word and escape it with a backslash"
            )

    def _escape(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            self.fail("a backslash must be followed by a character: write \\\\ for the backslash itself")
        if escape := _UNICODE_ESCAPE.match(self.text, self.at):
            self.fail(
                f"{escape[0]} is not an escape sequence: write the character itself, or \\\\ for the backslash"
            )
        self.at += 2
        return f"\\{following}" if following.isalnum() else following

    def must_end(self, reason: str) -> None:
        """Fail unless a space, a closing parenthesis, a boost or the end comes next."""
        following = self.peek()
        if following and not following.isspace() and following not in ")^":
            self.fail(reason)

    def _no_word(self) -> str:
        character = self.peek()
        if character == "":
            return "the query ends where a word is expected"
        return f"unexpected {character!r}: quote it, or escape it with a backslash, to search for it"

    def field_name(self) -> str | None:
        """Consume `name:` and return the name, or return None if no column is named here."""
        name: list[str] = []
        at = self.at
        while at < len(self.text):
            character, following = self.text[at], self.text[at + 1 : at + 2]
            if character == "\\" and following and following in FIELD_STOPS:
                name.append(following)
                at += 2
                continue
            if character.isspace() or (character in FIELD_STOPS and (character != "\\" or not name)):
                break
            if character == "-" and not name:
                break
            name.append(character)
            at += 1
        colon = _SPACE.match(self.text, at).end()  # type: ignore[union-attr]
        if not name or self.text[colon : colon + 1] != ":":
            return None
        start, self.at = self.at, colon + 1
        self.skip_space()
        if self.peek() in ("", ")"):
            self.fail(f"a value is missing after '{''.join(name)}:'", start)
        return "".join(name)

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        raise QuerySyntaxError(reason, self.at if position is None else position)


def _is_control(character: str) -> bool:
    return character < " " or character == "\x7f"


def _merge(pieces: list[str | Wildcard]) -> list[str | Wildcard]:
    """Join adjacent characters to texts, and adjacent `*` to one."""
    merged: list[str | Wildcard] = []
    for is_text, run in groupby(pieces, lambda piece: isinstance(piece, str)):
        if is_text:
            merged.append("".join(map(str, run)))
            continue
        for wildcard in run:
            if wildcard is not Wildcard.ANY or merged[-1:] != [Wildcard.ANY]:
                merged.append(wildcard)
    return merged
