"""The contents of an open split: its columns, its rows, and its index, which is opened when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import orjson
import pyarrow as pa

from indextables.config import Settings
from indextables.errors import CorruptTableError, ProtocolError, SchemaError
from indextables.predicates import TRUE, Constant, Predicate, bind, may_match
from indextables.rows import RowIds
from indextables.runtime import lazy_property
from indextables.schema import (
    CUTTING_TOKENIZER,
    WORDS_TOKENIZER,
    FieldMapping,
    TableSchema,
    Value,
    parse_recipe,
    tokenizers,
)
from indextables.split.container import MANIFEST, MAPPING, RANKING, ROW_RUNS, Bundle, SplitBlooms
from indextables.split.deleted_rows import NONE_DELETED, DeletedRows
from indextables.split.index import META, RankingStatistics, RowRuns
from indextables.split.index_cache import entry_name, is_cached, open_index
from indextables.split.rows import RowsMember, RowStore, Window
from indextables.split.search import IndexSearch, MissingWords, Plan, TextAnswers, plan_predicate
from indextables.split.split_columns import SplitColumns, TableRows

if TYPE_CHECKING:
    from indextables.columns import ColumnGroup

_MAX_META_BYTES: Final = 16 << 20
"""The description of an index has a few kilobytes, and some more for each column."""


class Rows(Protocol):
    """The rows of a split by ordinal, in Parquet or as documents. A group is a unit that is read at once."""

    def windows(self, wanted: RowIds | None, predicate: Predicate, /) -> Iterator[Window]:
        """Yield the groups with a wanted row for which the predicate may be TRUE; None wants all rows."""

    def row_ids(self, groups: Sequence[int]) -> RowIds:
        """Return the rows of some groups, in the order of `read`."""

    def read(self, groups: Sequence[int], columns: Sequence[str]) -> pa.RecordBatch:
        """Return all rows of some groups."""

    def fetch(self, rows: RowIds, columns: Sequence[str]) -> pa.RecordBatch:
        """Return some rows, which must be ascending."""


class Contents(Protocol):
    """The parts of a split that reading needs, whichever writer it is from. `num_rows` counts the deleted rows too."""

    mapping: FieldMapping
    schema: TableSchema
    num_rows: int
    deleted: DeletedRows

    @property
    def identity(self) -> str:
        """A name that no other split has, nor this one as the columns of another version of its table."""

    @property
    def rows(self) -> Rows: ...

    @property
    def constants(self) -> Mapping[str, Value | None]:
        """The columns that have one value in all rows, because the split was written before they were added."""

    @property
    def search(self) -> IndexSearch: ...

    @property
    def answers(self) -> TextAnswers: ...

    @property
    def ranking(self) -> RankingStatistics | None: ...

    def may_match(self, predicate: Predicate, /) -> bool:
        """Return False only if no row can match, as far as this is known without rows and index."""

    def plan(self, predicate: Predicate, *, counting: bool = False) -> Plan:
        """Split a predicate into the part that the index decides and the part for the rows."""

    def is_ready(self, *, searching: bool, may_extract: bool) -> bool:
        """Return True if the rows, and for a search the index, can be read now.

        `may_extract` allows extracting an index first.
        """

    def close(self) -> None:
        """Close what is open."""


class SplitContents:
    """The contents of a split that this package wrote."""

    deleted = NONE_DELETED

    def __init__(self, bundle: Bundle, settings: Settings, table: FieldMapping | None = None) -> None:
        """Read what describes the split. `table` has the columns of its table; None: the split by itself."""
        from indextables.columns import Manifest  # noqa: PLC0415 - opening a table does not need it

        self._bundle = bundle
        self._settings = settings
        mapping, manifest = bundle.read(MAPPING), bundle.read(MANIFEST)
        try:
            columns = SplitColumns.of(FieldMapping.from_json(mapping.decode()), table)
            self._columns = columns
            self.mapping, self.schema = columns.mapping, columns.schema
            used = tokenizers(mapping.decode())
            groups = Manifest.from_bytes(manifest).column_groups
            stored_rows = RowStore(_members(bundle, groups, columns.stored_schema))
            self.rows: Rows = stored_rows if columns.is_plain else TableRows(stored_rows, columns)
            self.num_rows = groups[0].num_rows
            self.row_runs = _row_runs(bundle, self.num_rows)
            self._blooms = SplitBlooms(bundle, columns.stored_schema)
        except (ValueError, KeyError, IndexError, TypeError, SchemaError, CorruptTableError) as reason:
            raise bundle.damaged(reason) from reason
        for name in used.values():
            try:
                parse_recipe(WORDS_TOKENIZER if name == CUTTING_TOKENIZER else name)
            except ValueError as reason:
                raise ProtocolError(
                    f"{bundle.name} has text of the tokenizer {name!r}, which this release does not support "
                    f"({reason}); upgrade indextables to read it"
                ) from None
        self._cut = frozenset(name for name, tokenizer in used.items() if tokenizer == CUTTING_TOKENIZER)

    @property
    def constants(self) -> Mapping[str, Value | None]:
        return self._columns.constants

    @lazy_property
    def identity(self) -> str:
        if self._columns.is_plain:
            return entry_name(self._bundle)
        # A name of the table is another column of the split, or none, after a change of columns.
        return entry_name(self._bundle, repr((self._columns.names, self.constants, self.schema.to_json())))

    @lazy_property
    def search(self) -> IndexSearch:
        opened = open_index(self._bundle, self._settings, check=self._check_documents)
        return IndexSearch(opened, self._columns, self._bundle, self.row_runs)

    @lazy_property
    def answers(self) -> TextAnswers:
        missing = MissingWords(
            search=lambda: self.search,
            rows=lambda: self.rows,
            bundle=self._bundle,
            settings=self._settings,
            cut=self._cut,
            stored_name=self._columns.stored_name,
        )
        return TextAnswers(self.mapping, lambda: self.search, lambda: self.rows, missing)

    @lazy_property
    def ranking(self) -> RankingStatistics | None:
        """The ranking statistics; None if the split was written before they were."""
        if RANKING not in self._bundle.members:
            return None
        try:
            stored = RankingStatistics.from_bytes(
                self._bundle.read(RANKING), self._columns.stored, self.num_rows
            )
        except ValueError as reason:
            raise self._bundle.damaged(reason) from reason
        if self._columns.is_plain:
            return stored
        columns = [field.name for field in self.mapping.of_kind("string", "text")]
        tokens = {name: stored.tokens.get(self._columns.stored_name(name), 0) for name in columns}
        return RankingStatistics(stored.documents, tokens)

    def _check_documents(self, index: Path) -> None:
        """Check that the index has one document for each row: the engine allocates memory for as many as it claims."""
        if (size := self._bundle.member(META).content_length) > _MAX_META_BYTES:
            raise self._bundle.damaged(
                f"its {META} has {size} bytes, more than the limit of {_MAX_META_BYTES}"
            )
        try:
            segments = orjson.loads((index / META).read_bytes())["segments"]
            documents = [segment["max_doc"] for segment in segments]
            deleted = any(segment.get("deletes") for segment in segments)
        except (ValueError, KeyError, TypeError, AttributeError) as reason:
            raise self._bundle.damaged(f"its {META} cannot be read ({reason!r})") from reason
        if (
            deleted
            or not all(isinstance(count, int) and count >= 0 for count in documents)
            or sum(documents) != self.num_rows
        ):
            raise self._bundle.damaged(
                f"its index does not claim one document for each of its {self.num_rows} rows"
            )

    def may_match(self, predicate: Predicate) -> bool:
        if self.constants:
            predicate = bind(predicate, self.constants)
            if isinstance(predicate, Constant):
                return predicate.value is True
        return not self._blooms or may_match(
            predicate, lambda name: self._blooms.bounds(self._columns.stored_name(name))
        )

    def plan(self, predicate: Predicate, *, counting: bool = False) -> Plan:
        if self.constants and (predicate := bind(predicate, self.constants)) == TRUE:
            return Plan((), TRUE)
        return plan_predicate(predicate, self.mapping, self.answers.index_decides, counting=counting)

    def is_ready(self, *, searching: bool, may_extract: bool) -> bool:
        return not searching or may_extract or is_cached(entry_name(self._bundle), self._settings)

    def close(self) -> None:
        self.__dict__.pop("search", None)
        self.__dict__.pop("answers", None)


def _row_runs(bundle: Bundle, num_rows: int) -> RowRuns:
    """Return the runs of row ids. ValueError if they are not those of that many rows."""
    if ROW_RUNS not in bundle.members:
        return RowRuns.single(0, num_rows)
    runs = RowRuns.from_bytes(bundle.read(ROW_RUNS))
    if runs.num_rows != num_rows:
        raise ValueError(f"it has row ids of {runs.num_rows} rows and {num_rows} rows")
    return runs


def _members(bundle: Bundle, groups: Sequence[ColumnGroup], schema: TableSchema) -> dict[str, RowsMember]:
    """Return the member that has each column: every group is one Parquet file."""
    members: dict[str, RowsMember] = {}
    for group in groups:
        member = RowsMember(bundle, group.files[0].path)
        members |= dict.fromkeys(group.columns, member)
    if missing := [name for name in schema.names if name not in members]:
        raise ValueError(f"no column group has {', '.join(map(repr, missing))}")
    return members
