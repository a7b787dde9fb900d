"""How columns stand in the Tantivy index of a split.

Text columns are tokenised with positions; string columns are one exact term. Numbers are fast fields only, all
of them signed 64-bit integers: dates as days, timestamps as microseconds, booleans as 0 and 1, and floats as
integers that sort alike, because a float that passes through Tantivy's JSON comes out a bit off one time in
five. Three fields belong to no column: the ordinal of the row, the columns that are null in it, and the columns in
which it has a word or value that is too long for Tantivy. Nothing is stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import tantivy

from indextables.schema import CUTTING_TOKENIZER, TOKENIZER, FieldMapping, MappedField

ROW: Final = "__row"
NULLS: Final = "__nulls"
UNINDEXED: Final = "__unindexed"
MAX_TERM_BYTES: Final = 65530
"""Tantivy drops longer terms, so the index cannot answer for words and strings beyond this."""

MAX_CUT_BYTES: Final = 39
"""The longest word that `CUTTING_TOKENIZER` keeps, measured before it is lower-cased."""

_PLAIN_NAME: Final = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class IndexField:
    """A column and its field: by its own name where Tantivy's path syntax cannot misread it, else by number."""

    mapped: MappedField
    name: str
    ordinal: int

    @property
    def null_term(self) -> str:
        return str(self.ordinal)

    @property
    def unindexed_term(self) -> str:
        return str(self.ordinal)


@dataclass(frozen=True)
class IndexFields:
    """The fields of a mapping, in the order of its columns."""

    mapping: FieldMapping

    @cached_property
    def all(self) -> tuple[IndexField, ...]:
        return tuple(
            IndexField(
                mapped, mapped.name if _PLAIN_NAME.fullmatch(mapped.name) else f"__f{ordinal}", ordinal
            )
            for ordinal, mapped in enumerate(self.mapping.fields)
        )

    @cached_property
    def _by_column(self) -> dict[str, IndexField]:
        return {field.mapped.name: field for field in self.all}

    def of(self, mapped: MappedField) -> IndexField:
        return self._by_column[mapped.name]

    def tantivy_schema(self) -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field(ROW, fast=True)
        builder.add_text_field(NULLS, tokenizer_name="raw", index_option="basic")
        builder.add_text_field(UNINDEXED, tokenizer_name="raw", index_option="basic")
        for field in self.all:
            match field.mapped.kind:
                case "text":
                    builder.add_text_field(field.name, tokenizer_name=TOKENIZER, index_option="position")
                case "string":
                    builder.add_text_field(field.name, tokenizer_name="raw", index_option="basic")
                case "i64" | "f64" | "bool":
                    builder.add_integer_field(field.name, fast=True)
                case "none":
                    pass
        return builder.build()


def sortable(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Floats as integers in Spark's order: minus infinity first, the two zeros equal, NaN last.

    >>> sortable(np.array([-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan])).argsort(stable=True).tolist()
    [0, 1, 2, 3, 4, 5, 6]
    """
    canonical = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = canonical.view(np.int64)
    return np.asarray(bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)))


def sortable_float(value: float) -> int:
    return int(sortable(np.array([value], dtype=np.float64))[0])


@cache
def analyzer() -> tantivy.TextAnalyzer:
    """Return what text columns and queries are tokenised with."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.lowercase()).build()


def register_tokenizers(index: tantivy.Index) -> None:
    """Let the index tokenise text that it is given as this package does.

    In an older split this is not how its words were cut, but the words of a query must stay whole there too.
    """
    for name in (TOKENIZER, CUTTING_TOKENIZER):
        index.register_tokenizer(name, analyzer())
