"""The fields of a split's Tantivy index, and the tokenizer.

Text columns are tokenised, with positions; a value of a string column is one exact term. Numbers are fast fields only,
all of them signed 64-bit integers: dates as days, timestamps as microseconds, booleans as 0 and 1, decimals as their
digits, and floats as integers that sort in the same order, because one float in five changes when it passes through
Tantivy's JSON. Decimals of more than 18 digits, addresses and the entries of maps are terms (see `values`). The fields
of a struct are fields of the index like columns. Three fields belong to no column: the id of the row (see `row_runs`),
the columns that are null in it, and the columns in which it has a word or value that is too long for Tantivy. No
documents are stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import tantivy

from indextables.runtime import lazy_property
from indextables.schema import CUTTING_TOKENIZER, WORDS_TOKENIZER, FieldMapping, MappedField
from indextables.split.index.tokenizers import tokenizer

ROW: Final = "__row"
NULLS: Final = "__nulls"
UNINDEXED: Final = "__unindexed"
MAX_TERM_BYTES: Final = 65530
"""Tantivy drops longer terms, so that the index cannot answer for longer words and strings."""

MAX_CUT_BYTES: Final = 39
"""The length of the longest word that `CUTTING_TOKENIZER` keeps, before it is lower-cased."""

_PLAIN_NAME: Final = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class IndexField:
    """A column and its field. `name` is that of the column unless Tantivy's path syntax would misread it."""

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
    """The fields of a split's mapping, in the order of its columns.

    `names` are the names of the table's columns, each with the one in the mapping, if they are not the same.
    """

    mapping: FieldMapping
    names: tuple[tuple[str, str], ...] | None = None

    @lazy_property
    def all(self) -> tuple[IndexField, ...]:
        return tuple(
            IndexField(
                mapped, mapped.name if _PLAIN_NAME.fullmatch(mapped.name) else f"__f{ordinal}", ordinal
            )
            for ordinal, mapped in enumerate(self.mapping.all)
        )

    @lazy_property
    def _by_column(self) -> dict[str, IndexField]:
        return {field.mapped.name: field for field in self.all}

    @lazy_property
    def _by_name(self) -> dict[str, IndexField]:
        if self.names is None:
            return self._by_column
        return {name: self._by_column[stored] for name, stored in self.names}

    def get(self, mapped: MappedField) -> IndexField | None:
        """Return the field of a column, None if the split does not have it. Every key of a map is in its one field."""
        return self._by_name.get(mapped.name if mapped.key is None else mapped.name[: -len(mapped.key) - 1])

    def of(self, mapped: MappedField) -> IndexField:
        """Return the field of a column that the split has."""
        field = self.get(mapped)
        if field is None:
            raise KeyError(mapped.name)
        return field

    def tantivy_schema(self) -> tantivy.Schema:
        """Return the schema of the index."""
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field(ROW, fast=True)
        builder.add_text_field(NULLS, tokenizer_name="raw", index_option="basic")
        builder.add_text_field(UNINDEXED, tokenizer_name="raw", index_option="basic")
        for field in self.all:
            match field.mapped.kind:
                case "text":
                    builder.add_text_field(
                        field.name,
                        tokenizer_name=field.mapped.tokenizer,
                        index_option=cast("Any", field.mapped.record),
                    )
                case "string" | "i128" | "ip" | "map":
                    builder.add_text_field(field.name, tokenizer_name="raw", index_option="basic")
                case "i64" | "f64" | "bool":
                    builder.add_integer_field(field.name, fast=True)
                case "struct" | "none":
                    pass
        return builder.build()


def sortable(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Convert floats to integers in Spark's order: minus infinity first, the two zeros equal, NaN last.

    >>> sortable(np.array([-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan])).argsort(stable=True).tolist()
    [0, 1, 2, 3, 4, 5, 6]
    """
    canonical = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = canonical.view(np.int64)
    return np.asarray(bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)))


def sortable_float(value: float) -> int:
    """Convert one float as `sortable` does."""
    return int(sortable(np.array([value], dtype=np.float64))[0])


@cache
def analyzer() -> tantivy.TextAnalyzer:
    """Return the tokenizer of text columns and queries."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.lowercase()).build()


def register_tokenizers(index: tantivy.Index, fields: IndexFields, *, building: bool = False) -> None:
    """Register the tokenizers of the columns with an index: for prepared texts if it is built, else for plain texts.

    An older split was written with a tokenizer that drops long words. The words of a query must be kept there too.
    """
    for name in {
        CUTTING_TOKENIZER,
        *(field.mapped.tokenizer for field in fields.all if field.mapped.tokenizer),
    }:
        used = tokenizer(WORDS_TOKENIZER if name == CUTTING_TOKENIZER else name)
        index.register_tokenizer(name, used.index_analyzer if building else used.display_analyzer)
