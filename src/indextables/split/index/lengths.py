"""The lengths of a column in the rows of an index, as the engine stores them: rounded down to one of 256 lengths.

A file of lengths has one byte for each document and field, between tables as those of the postings (see `ranking`).
Lengths up to 40 are exact. Above, a length has three bits after its first one, as in Lucene.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from indextables.split.index.builder import META
from indextables.split.index.ranking import field_places

_LENGTHS: Final = "*.fieldnorm"
_EXACT: Final = 24
_CODES: Final = 256


def stored_lengths(directory: Path) -> dict[str, tuple[int, ...]] | None:
    """Return the codes of the lengths that each field of an index has; None if its files cannot be read."""
    codes: dict[str, set[int]] = {}
    try:
        names = [entry["name"] for entry in orjson.loads((directory / META).read_bytes())["schema"]]
        for path in sorted(directory.glob(_LENGTHS)):
            with path.open("rb") as file:
                for number, (start, end) in field_places(file).items():
                    file.seek(start)
                    counts = np.bincount(np.frombuffer(file.read(end - start), np.uint8), minlength=_CODES)
                    codes.setdefault(names[number], set()).update(np.flatnonzero(counts).tolist())
    except (OSError, ValueError, LookupError, TypeError, struct.error):
        return None
    return {name: tuple(sorted(found)) for name, found in codes.items()}


def shortest(code: int) -> int:
    """Return the least length with this code, by which the engine ranks.

    >>> [shortest(code) for code in (0, 39, 40, 41, 48, 49)]
    [0, 39, 40, 42, 56, 60]
    """
    octave, step = divmod(max(code - _EXACT, 0), 8)
    if code < _EXACT + 8:
        return code
    return _EXACT + ((8 + step) << (octave - 1))


def longest(code: int) -> int:
    """Return the greatest length with this code."""
    return shortest(code + 1) - 1
