"""Regular expressions between slashes, `/err(or)?s?/`: their grammar, and their form for two engines.

The engine of the index (Rust) and that of Arrow (RE2) disagree about classes, case, line breaks and limits, and both
disagree with Lucene. So an expression is parsed here, everything on which they differ is rejected, and what remains is
written with groups, repetitions and classes of explicit characters only, which mean the same to both. Neither engine
backtracks: the time is linear in the length of a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.split.query.scanner import QuerySyntaxError

MAX_SIZE: Final = 300
"""The most characters and classes of an expression, with repetitions written out."""

MAX_REPEAT: Final = 250
_MAX_NESTING: Final = 20
_LAST: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)
_CASED_RANGE: Final = 2048
"""A larger range of characters is not lower-cased one by one."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class OneCharacter:
    """One character of some ranges of code points, both ends inclusive; negated, one of none of them."""

    ranges: Ranges
    negated: bool = False

    @property
    def single(self) -> str | None:
        """The character, if there is but one."""
        ((low, high), *others) = self.ranges or ((0, 1),)
        return chr(low) if low == high and not others and not self.negated else None


@dataclass(frozen=True)
class Sequence:
    """Expressions one after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """One of several expressions."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Repeat:
    """An expression `least` to `most` times; without `most`, any number of times."""

    part: Expression
    least: int
    most: int | None


Expression: TypeAlias = OneCharacter | Sequence | Choice | Repeat

_CLASSES: Final[dict[str, Ranges]] = {
    "d": ((0x30, 0x39),),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "s": ((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20)),
}
_COUNT: Final = re.compile(r"\{(\d{1,9})(,(\d{1,9})?)?\}")
_LUCENE_ONLY: Final = {
    "~": "the complement",
    "&": "the intersection",
    "@": "any string",
    "#": "the empty language",
    "<": "a range of numbers",
    ">": "a range of numbers",
    '"': "quotes",
}


def parse_regex(text: str, start: int) -> Expression:
    """Parse the text between the slashes, which begins at `start` of the query. QuerySyntaxError with the place."""
    parser = _Parser(text, start)
    expression = parser.choice()
    if parser.at < len(text):
        parser.fail("')' has no matching '(' in the regular expression: write \\) for the character itself")
    if _size(expression) > MAX_SIZE:
        raise QuerySyntaxError(
            f"the regular expression is too large: with repetitions written out it has more than {MAX_SIZE} "
            "characters; use * or + instead of counts, or shorten it",
            start,
        )
    return expression


@lru_cache(maxsize=256)
def check_engines(expression: Expression) -> None:
    """Compile the expression with both engines. ValueError if one of them cannot: it has too many states."""
    tantivy.Query.regex_query(_schema(), "word", engine_form(expression))
    matching_words(expression, [""])


def matching_words(expression: Expression, words: Iterable[str]) -> set[str]:
    """Return the words that the expression matches as a whole, without an index.

    >>> matching_words(parse_regex("t[io]+me?", 0), ["tiom", "atom"])
    {'tiom'}
    """
    candidates = pa.array(words, pa.string())
    matched = pc.match_substring_regex(candidates, pattern=f"^(?:{engine_form(expression)})$")
    return set(candidates.filter(matched).to_pylist())


@cache
def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("word", tokenizer_name="raw", index_option="basic")
    return builder.build()


@lru_cache(maxsize=256)
def engine_form(expression: Expression) -> str:
    """Return the expression as both engines understand it. It matches a whole word.

    >>> engine_form(parse_regex("(a|[b-d_])?x{2,}", 0))
    '(?:(?:a|[_b-d]))?(?:x){2,}'
    """
    match expression:
        case OneCharacter(ranges, negated):
            if expression.single is not None:
                return _code(ranges[0][0])
            explicit = _complement(ranges) if negated else ranges
            return f"[{''.join(_range(low, high) for low, high in explicit)}]"
        case Sequence(parts):
            return "".join(map(engine_form, parts))
        case Choice(parts):
            return f"(?:{'|'.join(map(engine_form, parts))})"
        case Repeat(part, least, most):
            sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
            limit = "" if most is None else most
            return f"(?:{engine_form(part)}){sign or f'{{{least},{limit}}}'}"


def lower_case(expression: Expression, fold: Callable[[str], str]) -> Expression:
    """Return the expression for words that `fold` has changed, such as to lower case."""
    match expression:
        case OneCharacter(ranges, negated):
            if expression.single is not None:
                folded = [OneCharacter(((ord(c), ord(c)),)) for c in fold(expression.single)]
                return folded[0] if len(folded) == 1 else Sequence(tuple(folded))
            return OneCharacter(_fold_ranges(ranges, fold), negated)
        case Sequence(parts):
            return Sequence(tuple(lower_case(part, fold) for part in parts))
        case Choice(parts):
            return Choice(tuple(lower_case(part, fold) for part in parts))
        case Repeat(part, least, most):
            return Repeat(lower_case(part, fold), least, most)


def single_characters(expression: Expression) -> set[str]:
    """Return the characters that the expression names one by one."""
    match expression:
        case OneCharacter():
            return set() if expression.single is None else {expression.single}
        case Sequence(parts) | Choice(parts):
            return set[str]().union(*map(single_characters, parts))
        case Repeat(part):
            return single_characters(part)


def longest_match(expression: Expression) -> float:
    """Return the most characters of a word that matches."""
    match expression:
        case OneCharacter():
            return 1
        case Sequence(parts):
            return sum(map(longest_match, parts))
        case Choice(parts):
            return max(map(longest_match, parts))
        case Repeat(part, _, most):
            inner = longest_match(part)
            return inner * most if most is not None else (inner and float("inf"))


def _size(expression: Expression) -> int:
    match expression:
        case OneCharacter():
            return 1
        case Sequence(parts) | Choice(parts):
            return sum(map(_size, parts))
        case Repeat(part, least, most):
            return _size(part) * max(1, least if most is None else most)


def _fold_ranges(ranges: Ranges, fold: Callable[[str], str]) -> Ranges:
    folded: list[tuple[int, int]] = []
    for low, high in ranges:
        if high - low >= _CASED_RANGE:
            folded.append((low, high))
            continue
        for code in range(low, high + 1):
            character = fold(chr(code)) or chr(code)
            folded.append((ord(character), ord(character)) if len(character) == 1 else (code, code))
    return _union(folded)


def _code(code: int) -> str:
    character = chr(code)
    return (
        character if character.isascii() and (character.isalnum() or character == "_") else f"\\x{{{code:x}}}"
    )


def _range(low: int, high: int) -> str:
    return _code(low) if low == high else f"{_code(low)}-{_code(high)}"


def _union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    rest: list[tuple[int, int]] = []
    after = 0
    for low, high in _union([*ranges, _SURROGATES]):
        if after < low:
            rest.append((after, low - 1))
        after = high + 1
    if after <= _LAST:
        rest.append((after, _LAST))
    return tuple(rest)


class _Parser:
    """Recursive descent over the text between the slashes."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = 0
        self._start = start
        self._nesting = 0

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise QuerySyntaxError(reason, self._start + (self.at if at is None else at))

    def choice(self) -> Expression:
        parts = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _sequence(self) -> Expression:
        start, parts = self.at, list[Expression]()
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repetition())
        if not parts:
            self.fail("a regular expression is empty here: write (a|b)? for an alternative of nothing", start)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repetition(self) -> Expression:
        part = self._single()
        while (sign := self._peek()) in ("*", "+", "?", "{") and sign:
            start, (least, most) = self.at, self._count(sign)
            if self._peek() in ("?", "+") and self._peek():
                self.fail(
                    f"'{self.text[start : self.at]}{self._peek()}' is a lazy or possessive repetition: a whole word "
                    "matches or does not, so write the repetition alone"
                )
            part = Repeat(part, least, most)
        return part

    def _count(self, sign: str) -> tuple[int, int | None]:
        if sign != "{":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        count = _COUNT.match(self.text, self.at)
        if not count:
            self.fail("'{' begins a count such as {2} or {1,3}: write \\{ for the character itself")
        least = int(count[1])
        most = least if count[2] is None else None if count[3] is None else int(count[3])
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < max(least, 1)):
            self.fail(f"a count is {{n}}, {{n,}} or {{n,m}} with m from n, 1 to {MAX_REPEAT}")
        self.at = count.end()
        return least, most

    def _single(self) -> Expression:
        character = self._peek()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return OneCharacter(self._escape())
        if character == ".":
            self.at += 1
            return OneCharacter((), negated=True)
        if character in ("*", "+", "?", "{"):
            self.fail(
                f"'{character}' repeats what stands before it, and nothing does: write \\{character} for it"
            )
        if character in ("^", "$"):
            self.fail(
                f"'{character}' is not needed: a regular expression matches a whole word or value; write .* for the "
                f"rest, or \\{character} for the character itself"
            )
        if character in ("]", "}"):
            self.fail(f"'{character}' closes nothing: write \\{character} for the character itself")
        if character in _LUCENE_ONLY:
            self.fail(
                f"'{character}' ({_LUCENE_ONLY[character]} in Lucene) is not supported: write \\{character} for the "
                "character itself"
            )
        self.at += 1
        return OneCharacter(((ord(character), ord(character)),))

    def _group(self) -> Expression:
        start = self.at
        self.at += 1
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            self.fail(f"a regular expression has at most {_MAX_NESTING} nested groups", start)
        if self._peek() == "?":
            if not self.text.startswith("?:", self.at):
                self.fail("look-around, flags and named groups are not supported: write (a|b)")
            self.at += 2
        inner = self.choice()
        if self._peek() != ")":
            self.fail(
                "unclosed '(' in the regular expression: add ')', or write \\( for the character", start
            )
        self.at += 1
        self._nesting -= 1
        return inner

    def _escape(self) -> Ranges:
        following = self.text[self.at + 1 : self.at + 2]
        if following.lower() in _CLASSES and following:
            self.at += 2
            ranges = _CLASSES[following.lower()]
            return _complement(ranges) if following.isupper() else ranges
        if not following or following.isalnum():
            self.fail(
                f"'\\{following}' is not supported in a regular expression: the classes are \\d \\D \\w \\W \\s "
                "\\S, and \\\\ is a backslash"
            )
        self.at += 2
        return ((ord(following), ord(following)),)

    def _class(self) -> OneCharacter:
        start = self.at
        self.at += 1
        negated = self._peek() == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            if not self._peek():
                self.fail("unclosed '[' in the regular expression: add ']', or write \\[ for it", start)
            ranges += self._class_item()
        self.at += 1
        if not ranges:
            self.fail("an empty class matches nothing: write characters between [ and ]", start)
        whole = _union(ranges)
        if negated and not _complement(whole):
            self.fail("the class excludes every character: it matches nothing", start)
        return OneCharacter(whole, negated)

    def _class_item(self) -> Ranges:
        start, low = self.at, self._class_character()
        following = self.text[self.at + 1 : self.at + 2]
        if self._peek() != "-" or following in ("]", ""):
            return low
        self.at += 1
        high = self._class_character()
        if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1]:
            self.fail("a range of a class is between two characters: write \\- for a hyphen", start)
        if low[0][0] > high[0][0]:
            self.fail(f"the range {self.text[start : self.at]!r} of a class is empty: swap its ends", start)
        return ((low[0][0], high[0][0]),)

    def _class_character(self) -> Ranges:
        character = self._peek()
        if character == "\\":
            return self._escape()
        if character in ("[", "&") and self.text[self.at + 1 : self.at + 2] in (":", "&"):
            self.fail(
                f"'{self.text[self.at : self.at + 2]}' in a class is not supported: list the characters"
            )
        self.at += 1
        return ((ord(character), ord(character)),)
