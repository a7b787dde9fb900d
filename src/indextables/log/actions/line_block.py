"""Lines of JSON as an array of bytes, with the positions of what delimits lines and strings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Positions: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_ADD_PREFIX: Final = b'{"add":{'
_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_NEWLINE: Final = ord("\n")
_FIRST_PRINTABLE: Final = 0x20


class LineBlock:
    """Lines of JSON with the positions of what delimits their values."""

    def __init__(self, text: bytes) -> None:
        """Find lines and quotes; ValueError if the text has control characters or is not valid UTF-8."""
        if not text.isascii():
            text.decode()
        self.text = text
        self.codes = np.frombuffer(text, np.uint8)
        newlines = np.flatnonzero(self.codes == _NEWLINE)
        if np.count_nonzero(self.codes < _FIRST_PRINTABLE) != len(newlines):
            raise ValueError("the text has control characters")
        self.starts = np.concatenate([[0], newlines + 1])
        self.ends: Positions = np.append(newlines, len(text))
        self.has_escapes = b"\\" in text
        self.quotes = self._unescaped_quotes()
        self.first_quotes: Positions = np.searchsorted(self.quotes, self.starts)
        self.quote_counts = np.diff(self.first_quotes, append=len(self.quotes))

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, row: int) -> bytes:
        """Return one line without its line feed."""
        return self.text[self.starts[row] : self.ends[row]]

    def runs_of_adds(self) -> Iterator[tuple[int, int, bool]]:
        """Yield runs of lines, in order: the first, the one after the last, and whether they start like adds."""
        is_add = self.ends - self.starts > len(_ADD_PREFIX)
        for place, code in enumerate(_ADD_PREFIX):
            is_add[is_add] = self.codes[self.starts[is_add] + place] == code
        changes: Positions = np.flatnonzero(np.diff(is_add)) + 1
        limits = [0, *changes.tolist(), len(self)]
        for start, end in itertools.pairwise(limits):
            yield start, end, bool(is_add[start])

    def _unescaped_quotes(self) -> Positions:
        """Return the quotes that do not follow an odd number of backslashes."""
        quotes = np.flatnonzero(self.codes == _QUOTE)
        if not self.has_escapes:
            return quotes
        slashes = np.flatnonzero(self.codes == _BACKSLASH)
        run_starts = np.flatnonzero(np.diff(slashes, prepend=-2) != 1)
        run_lengths = np.diff(run_starts, append=len(slashes))
        after_runs = slashes[run_starts] + run_lengths
        is_escaped: Flags = np.zeros(len(self.codes) + 1, bool)
        is_escaped[after_runs[run_lengths % 2 == 1]] = True
        return quotes[~is_escaped[quotes]]
