"""The words of a text, and the words that an index lacks because they are too long for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.schema import TOKENIZER, MappedField
from indextables.split.index.fields import MAX_CUT_BYTES, MAX_TERM_BYTES, analyzer
from indextables.split.index.string_values import strings
from indextables.split.index.tokenizers import as_written, tokenizer

_RUN: Final = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]{10,}")
"""Matches every word of 40 bytes and more: words have no other ASCII characters, and at least 10 characters."""

_MAY_BE_CUT: Final = f"[0-9A-Za-z]{{{MAX_CUT_BYTES + 1}}}|[^\\x00-\\x7f]"
"""Matches texts that may have a word of 40 bytes, in the regular expressions of Arrow."""

_MAX_GROWTH: Final = 1.5
"""Lower-casing turns some letters of two bytes into letters of three."""

_SHRINKING: Final = frozenset("ßωåɐɑɒɜɡɥɦɪɫɬɱɽɀȿʂʇʝʞ")
"""Lower-case letters of two bytes whose capital has three. `k` is the only letter of one byte with such a capital."""


def tokens(text: str, name: str = TOKENIZER) -> tuple[tuple[int, str], ...]:
    """Return the words of a text with their positions, as the tokenizer of that name makes them.

    >>> tokens("Timed-out, twice")
    ((0, 'timed'), (1, 'out'), (2, 'twice'))
    """
    return tokenizer(name).tokens(text)


def unindexed_rows(column: MappedField, values: pa.Array) -> list[int]:
    """Return the rows in which a word, or a value of a string column, is too long for Tantivy."""
    if pa.types.is_list(values.type):
        parents = pc.list_parent_indices(values)
        places = unindexed_rows(column, values.flatten())
        return sorted({parents[place].as_py() for place in places})
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    if column.kind == "string":
        return [int(row) for row in np.flatnonzero(lengths > MAX_TERM_BYTES)]
    rows = np.flatnonzero(lengths * _MAX_GROWTH > MAX_TERM_BYTES)
    texts, words = strings(values.take(pa.array(rows))), tokenizer(column.tokenizer).words
    return [
        int(row)
        for row, text in zip(rows, texts, strict=True)
        if any(word is not None and len(word.encode()) > MAX_TERM_BYTES for word in words(text or ""))
    ]


def cut_words(values: pa.Array) -> Iterator[tuple[int, str]]:
    """Yield the words that `CUTTING_TOKENIZER` drops, lower-cased, each with its row.

    >>> list(cut_words(pa.array([None, "id " + "A" * 40, "id " + "a" * 39])))
    [(1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')]
    """
    may_match = pc.fill_null(pc.match_substring_regex(values, pattern=_MAY_BE_CUT), fill_value=False)
    rows = np.flatnonzero(may_match.to_numpy(zero_copy_only=False))
    for row, text in zip(rows.tolist(), strings(values.take(pa.array(rows))), strict=True):
        for run in _RUN.finditer(text or ""):
            if len(run[0].encode()) > MAX_CUT_BYTES:
                words = zip(as_written().analyze(run[0]), analyzer().analyze(run[0]), strict=True)
                yield from ((row, word) for written, word in words if len(written.encode()) > MAX_CUT_BYTES)


def bytes_as_written(word: str) -> int:
    """Return the most bytes that a word can have had before it was lower-cased.

    >>> bytes_as_written("ok"), bytes_as_written("日本")
    (4, 6)
    """
    # The Kelvin sign, three bytes, becomes `k`.
    shrunk = 2 * word.count("k") + sum(character in _SHRINKING for character in word)
    return len(word.encode("utf-8", "surrogatepass")) + shrunk
