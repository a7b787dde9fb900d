"""Fragments of a text: which parts of it show the most of what matched, with the matches marked."""

from __future__ import annotations

import html
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from indextables.errors import InputError

MAX_CHARS: Final = 1_000_000
MAX_FRAGMENTS: Final = 1000

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Snippet:
    """How `_snippet` shows the matches of a text column; without a name, of the first one in which a word matches.

    A snippet has up to `fragments` parts of the text, of at most `max_chars` characters each, that begin and end at
    words: those with the most different matches. They are in the order of the text, with `separator` between them. A
    match is between `pre` and `post`. The text itself is escaped for HTML, unless `escape` is False.

    >>> import indextables as it, pyarrow as pa
    >>> text = "disk 1 is full, and after a long while of nothing at all disk 2 is full as well"
    >>> _ = it.write("memory://doc-snippet", pa.table({"message": [text]}), text=["message"])
    >>> shown = it.Snippet("message", max_chars=15, fragments=2, pre="[", post="]", escape=False)
    >>> it.open("memory://doc-snippet").search("disk full", snippet=shown).column("_snippet").to_pylist()
    ['[disk] 1 is [full] … [disk] 2 is [full]']
    """

    column: str | None = None
    max_chars: int = 150
    fragments: int = 1
    pre: str = "<b>"
    post: str = "</b>"
    separator: str = " … "
    escape: bool = True

    def __post_init__(self) -> None:
        for name, most in (("max_chars", MAX_CHARS), ("fragments", MAX_FRAGMENTS)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
                raise InputError(f"{name} is {number!r}; it takes a whole number from 1 to {most}")
        for name in ("pre", "post", "separator"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} is {getattr(self, name)!r}; it takes a string")
        if not isinstance(self.escape, bool):
            raise InputError(f"escape is {self.escape!r}; it takes True or False")
        if self.column is not None and not isinstance(self.column, str):
            raise InputError(f"column is {self.column!r}; it takes the name of a text column")


class Mark(NamedTuple):
    """The characters of a match, and the number of the part of the query that it matches."""

    start: int
    end: int
    part: int


def render(text: str, marks: Sequence[Mark], words: Sequence[Span], shown: Snippet) -> str:
    """Return the best fragments of a text with its marks, of which there is at least one.

    `words` are where the words of the text begin and end, in its order.
    """
    ordered = sorted(marks)
    spans = _spans(ordered)
    pieces = [_mark(text, fragment, spans, shown) for fragment in _fragments(text, ordered, words, shown)]
    return shown.separator.join(pieces)


def _fragments(text: str, marks: Sequence[Mark], words: Sequence[Span], shown: Snippet) -> list[Span]:
    if len(text) <= shown.max_chars:
        return [(0, len(text))]
    cores = sorted(_best_cores(marks, shown))
    starts, ends = [start for start, _ in words], [end for _, end in words]
    fragments: list[Span] = []
    for number, (first, last) in enumerate(cores):
        before = fragments[-1][1] if fragments else 0
        after = cores[number + 1][0] if number + 1 < len(cores) else len(text)
        room = shown.max_chars - (last - first)
        end = min(after, last + room - min(room // 2, first - before))
        start = max(before, end - shown.max_chars)
        # A fragment begins and ends at a word, or else at the match.
        if start > before and (at := bisect_left(starts, start)) < len(starts):
            start = min(first, starts[at])
        if end < after and (at := bisect_right(ends, end)):
            end = max(last, ends[at - 1])
        fragments.append((start, end))
    return fragments


def _best_cores(marks: Sequence[Mark], shown: Snippet) -> list[Span]:
    """Return where the chosen fragments must begin and end at least: those with the most different matches first."""
    candidates: list[tuple[int, int, int, int]] = []
    inside: Counter[int] = Counter()
    last = 0
    for first, mark in enumerate(marks):
        while last < len(marks) and (last <= first or marks[last].end - mark.start <= shown.max_chars):
            inside[marks[last].part] += 1
            last += 1
        candidates.append((-len(inside), first - last, first, last))
        inside[mark.part] -= 1
        if not inside[mark.part]:
            del inside[mark.part]
    cores: list[Span] = []
    for _, _, first, last in sorted(candidates):
        start = marks[first].start
        end = min(start + shown.max_chars, max(mark.end for mark in marks[first:last]))
        if all(end <= other_start or other_end <= start for other_start, other_end in cores):
            cores.append((start, end))
            if len(cores) == shown.fragments:
                break
    return cores


def _spans(marks: Sequence[Mark]) -> list[Span]:
    """Return the marked characters: marks that touch or overlap are one."""
    spans: list[Span] = []
    for start, end, _ in marks:
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _mark(text: str, fragment: Span, spans: Sequence[Span], shown: Snippet) -> str:
    first, last = fragment
    quote = html.escape if shown.escape else str
    pieces: list[str] = []
    at = first
    for span in spans[bisect_right(spans, first, key=lambda span: span[1]) :]:
        start, end = max(span[0], first), min(span[1], last)
        if start >= end:
            break
        pieces += [quote(text[at:start]), shown.pre, quote(text[start:end]), shown.post]
        at = end
    pieces.append(quote(text[at:last]))
    return "".join(pieces)
