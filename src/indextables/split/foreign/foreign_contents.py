"""The contents of a split of another writer: a Quickwit bundle whose rows are stored documents.

This engine cannot search the term dictionaries of such a split. The rows are read from the document store, and
conditions are evaluated on them. For text queries, an index like that of this package's own splits is built from the
rows when it is first needed, and kept in the index cache, with the ranking statistics of its words.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import orjson

from indextables.config import Settings, keys
from indextables.errors import SchemaError
from indextables.predicates import TRUE, Predicate, conjunction, conjuncts, normalize, text_queries
from indextables.runtime import lazy_property
from indextables.schema import Field, FieldMapping, TableSchema, Value
from indextables.split.container import RANKING, Bundle
from indextables.split.deleted_rows import NONE_DELETED
from indextables.split.foreign.document_fields import DocumentFields, Meta, stored_fields
from indextables.split.foreign.document_rows import DocumentRows
from indextables.split.index import META, IndexBuilder, IndexFields, RankingStatistics
from indextables.split.index_cache import (
    checksum,
    entry_name,
    is_cached,
    open_cached,
    open_index,
    read_cached,
)
from indextables.split.search import IndexSearch, MissingWords, Plan, TextAnswers, plan_predicate
from indextables.split.split_columns import SplitColumns

_INDEX_VERSION = 3
"""Increase this when the index that is built from the rows changes, so that cached older ones are not used."""

COMPANION = "_parquet_manifest.json"
"""The member that marks a split which indexes the rows of Parquet files outside it."""


def is_foreign(bundle: Bundle) -> bool:
    """Return True if the bundle has an index of documents."""
    return META in bundle.members


class ForeignContents:
    """The contents of a split of another writer, as the columns of the table: `mapping`, or at least `schema`."""

    deleted = NONE_DELETED
    constants: Mapping[str, Value | None] = MappingProxyType({})

    def __init__(
        self,
        bundle: Bundle,
        settings: Settings,
        schema: TableSchema | None = None,
        mapping: FieldMapping | None = None,
    ) -> None:
        if COMPANION in bundle.members:
            raise SchemaError(
                f"{bundle.name} has no rows: it indexes Parquet files outside the table; read those files instead"
            )
        if mapping is not None and mapping.columns:
            raise SchemaError(
                f"{bundle.name} is of another writer, and the columns of its table were changed since; restore a "
                "version of the table before the change, and merge its splits first"
            )
        if schema is None and mapping is not None:
            schema = TableSchema(tuple(Field(f.name, f.spark_type) for f in mapping.fields))
        self._bundle = bundle
        self._settings = settings
        try:
            meta = orjson.loads(bundle.read(META))
            self._fields = DocumentFields.of(stored_fields(meta), schema)
            self.num_rows = _num_rows(meta)
        except (ValueError, KeyError, TypeError, AttributeError) as reason:
            raise bundle.damaged(f"its {META} cannot be read ({reason!r})") from reason
        self.schema = self._fields.schema
        self.mapping = self._fields.mapping(mapping)

    @lazy_property
    def identity(self) -> str:
        return entry_name(self._bundle, self.mapping.to_json())

    @lazy_property
    def rows(self) -> DocumentRows:
        opened = open_index(self._bundle, self._settings, documents=True)
        return DocumentRows(opened, self._fields, self.num_rows, self._bundle)

    @lazy_property
    def search(self) -> IndexSearch:
        opened = open_cached(self._search_name, self._bundle, self._index_rows, self._settings)
        return IndexSearch(opened, SplitColumns(self.mapping, self.mapping), self._bundle)

    @lazy_property
    def answers(self) -> TextAnswers:
        missing = MissingWords(
            search=lambda: self.search, rows=lambda: self.rows, bundle=self._bundle, settings=self._settings
        )
        return TextAnswers(self.mapping, lambda: self.search, lambda: self.rows, missing)

    @property
    def _search_name(self) -> str:
        return entry_name(self._bundle, str(_INDEX_VERSION), self.mapping.to_json())

    @lazy_property
    def ranking(self) -> RankingStatistics:
        """The ranking statistics of the index that is built from the rows, which this builds."""

        def read(directory: Path) -> RankingStatistics:
            return RankingStatistics.from_bytes(
                (directory / RANKING).read_bytes(), self.mapping, self.num_rows
            )

        return read_cached(self._search_name, self._index_rows, read, self._settings)

    def may_match(self, _: Predicate) -> bool:
        return True

    def plan(self, predicate: Predicate, *, counting: bool = False) -> Plan:
        """Plan a predicate. Without a text query, the index is not used: building it costs more than a scan."""
        if text_queries(predicate):
            return plan_predicate(predicate, self.mapping, self.answers.index_decides, counting=counting)
        return Plan((), conjunction(conjuncts(normalize(predicate))))

    def is_ready(self, *, searching: bool, may_extract: bool) -> bool:
        """Return True if the rows, and for a search the index built from them, can be read now.

        The rows are in an index, which must be extracted first. `may_extract` allows that, but not building an index.
        """
        has_rows = may_extract or is_cached(entry_name(self._bundle), self._settings)
        return has_rows and (not searching or is_cached(self._search_name, self._settings))

    def close(self) -> None:
        self.__dict__.pop("search", None)
        self.__dict__.pop("answers", None)
        self.__dict__.pop("rows", None)

    def _index_rows(self, directory: Path) -> dict[str, int]:
        """Build the index of all rows in `directory`. Return the CRC-32 of each file."""
        columns = [mapped.name for mapped in self.mapping.fields]
        building = directory / "building"
        builder = IndexBuilder(IndexFields(self.mapping), building, self._settings.get(keys.HEAP_SIZE))
        try:
            for window in self.rows.windows(None, TRUE):
                builder.add(self.rows.read(window.groups, columns))
            built = builder.finish()
        except BaseException:
            builder.abort()
            raise
        for file in built.files:
            file.rename(directory / file.name)
        shutil.rmtree(building)
        (directory / RANKING).write_bytes(built.ranking.to_bytes())
        names = [RANKING, *(file.name for file in built.files)]
        return {name: checksum(directory / name) for name in names}


def _num_rows(meta: Meta) -> int:
    """Return the number of documents in all segments, without the deleted ones."""
    counts = [
        segment["max_doc"] - (segment.get("deletes") or {}).get("num_deleted_docs", 0)
        for segment in meta["segments"]
    ]
    return int(sum(counts))
