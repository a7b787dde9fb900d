"""The characters of a query: words with their escapes and wildcards, quotes, names of fields."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final, NoReturn

from indextables.split.query.tree import Pieces, Wildcard

DISTANCE: Final = re.compile(r"~(\d{1,9})(?=[\s)^]|$)")

_FIELD_STOPS: Final = frozenset("+^`:{}\"'[]()!\\* ")
_WORD_STOPS: Final = frozenset('^:{}"[]()')
_WORD_START_STOPS: Final = _WORD_STOPS | frozenset("'`-")
_STANDALONE_STOPS: Final = _WORD_STOPS | frozenset("'`")
_SPACE: Final = re.compile(r"\s*")
_UNICODE_ESCAPE: Final = re.compile(r"\\u[0-9A-Fa-f]{4}(?![0-9A-Za-z])")
_CLOSING_SLASH: Final = re.compile(r"/(?=[\s)^~]|$)")
_REFUSED_IN_WORDS: Final = {"&&": "AND", "||": "OR"}
_WILDCARDS: Final = {"*": Wildcard.ANY, "?": Wildcard.ONE}


class QuerySyntaxError(ValueError):
    """What is wrong, and the 0-based character of the query where it is."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class Scanner:
    """A place in a query, which moves forward. What does not fit there is a QuerySyntaxError.

    Spellings of other query languages that have no meaning here are refused with the spelling that has one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        # A regular expression may hold spaces: a word that begins with a slash is one if any later slash ends a word.
        self._last_closing_slash = max((found.start() for found in _CLOSING_SLASH.finditer(text)), default=-1)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip_space(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def keyword(self, word: str) -> bool:
        end = self.at + len(word)
        after = self.text[end : end + 1]
        if self.text.startswith(word, self.at) and (after in ("", "(", ")", '"') or after.isspace()):
            self.at = end
            return True
        return False

    def standalone_star(self) -> bool:
        after = self.text[self.at + 1 : self.at + 2]
        if self.peek() == "*" and (after == "" or after.isspace() or after in _STANDALONE_STOPS):
            self.at += 1
            return True
        return False

    def quoted(self) -> str:
        """The text between quotes. A backslash before a letter or digit stays, as in a Windows path."""
        start, quote, text = self.at, self.peek(), []
        self.at += 1
        while (character := self.peek()) != quote:
            if not character:
                self._fail_unclosed(start, quote)
            if character == "\\":
                if self.at + 1 >= len(self.text):
                    self.fail("unclosed quote", start)
                text.append(self._escaped())
                continue
            if character in _WILDCARDS:
                self.fail(
                    f"{character!r} inside quotes is no wildcard: write \\{character} for the character itself, "
                    'a word without quotes for a wildcard (conn*), "web conn"* for a phrase whose last word goes on'
                )
            if _is_control(character):
                self.fail(
                    f"the character {character!r} inside quotes: write a space for it, or, if it comes from a "
                    'backslash in a string literal, double the backslash ("C:\\\\temp")'
                )
            text.append(character)
            self.at += 1
        self.at += 1
        return "".join(text)

    def _fail_unclosed(self, start: int, quote: str) -> NoReturn:
        if self.text.endswith(f"\\{quote}"):
            self.fail(
                f"unclosed quote: \\{quote} is a quote inside it; write \\\\ for a backslash at its end",
                start,
            )
        self.fail("unclosed quote", start)

    def pieces(self) -> Pieces:
        """The characters of a word, escapes taken out, wildcards told from letters."""
        pieces: list[str | Wildcard] = []
        stops = _WORD_START_STOPS
        self._refuse_word_start()
        while (character := self.peek()) and not character.isspace() and character not in stops:
            stops = _WORD_STOPS
            if character == "~" and pieces and DISTANCE.match(self.text, self.at):
                break
            if character == "\\":
                pieces.append(self._escaped())
                continue
            self._refuse_in_word(character)
            pieces.append(_WILDCARDS.get(character, character))
            self.at += 1
        if not pieces:
            self.fail(self._no_word())
        return tuple(_merged(pieces))

    def _refuse_word_start(self) -> None:
        if self.peek() == "!":
            self.fail("'!' does not negate: write NOT or '-' before a word, or quote it if it is meant")
        if self.peek() == "/" and self.at < self._last_closing_slash:
            self.fail(
                "a regular expression between slashes is not supported: write wildcards (conn*, t?meout), "
                'or quote a path ("/var/log/")'
            )

    def _refuse_in_word(self, character: str) -> None:
        operator = self.text[self.at : self.at + 2]
        if operator in _REFUSED_IN_WORDS:
            self.fail(
                f"'{operator}' is no operator: write {_REFUSED_IN_WORDS[operator]} between spaces, "
                "or quote it if it is meant"
            )
        if character == "~":
            self.fail(
                "'~' makes a word fuzzy and needs a distance: write ~1 or ~2, or quote it if it is meant"
            )
        if _is_control(character):
            self.fail(f"the control character {character!r}; quote and escape it if it is meant")

    def _escaped(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if not following:
            self.fail("a backslash needs a character after it; write \\\\ for the backslash itself")
        if found := _UNICODE_ESCAPE.match(self.text, self.at):
            self.fail(f"{found[0]} is no escape: write the character itself, or \\\\ for the backslash")
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
            return "the query ends where a word should stand"
        return f"unexpected {character!r}; quote or escape it if it is meant"

    def field_name(self) -> str | None:
        name: list[str] = []
        at = self.at
        while at < len(self.text):
            character, following = self.text[at], self.text[at + 1 : at + 2]
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
        colon = _SPACE.match(self.text, at).end()  # type: ignore[union-attr]
        if not name or self.text[colon : colon + 1] != ":":
            return None
        start, self.at = self.at, colon + 1
        self.skip_space()
        if self.peek() in ("", ")"):
            self.fail(f"nothing follows '{''.join(name)}:'", start)
        return "".join(name)

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        raise QuerySyntaxError(reason, self.at if position is None else position)


def _is_control(character: str) -> bool:
    return character < " " or character == "\x7f"


def _merged(pieces: list[str | Wildcard]) -> list[str | Wildcard]:
    """Join neighbouring letters, and `*` that follow each other."""
    merged: list[str | Wildcard] = []
    for is_text, run in groupby(pieces, lambda piece: isinstance(piece, str)):
        if is_text:
            merged.append("".join(map(str, run)))
            continue
        for wildcard in run:
            if wildcard is not Wildcard.ANY or merged[-1:] != [Wildcard.ANY]:
                merged.append(wildcard)
    return merged
