"""Splits of other writers: a Quickwit bundle whose rows are stored documents.

Their term dictionaries are in a format that this engine cannot search. So the rows come from the document store,
conditions on them are evaluated there, and a text query is answered by an index of our kind that is made of the rows
when first needed, and kept in the cache like every other. All else is as with splits of ours.
"""

from __future__ import annotations

import hashlib
import shutil
from functools import cached_property
from pathlib import Path

import orjson

from indextables.config import Settings, keys
from indextables.errors import SchemaError
from indextables.predicates import TRUE, Predicate, conjunction, conjuncts, normalize, text_queries
from indextables.schema import Field, FieldMapping, TableSchema
from indextables.split.container import Bundle
from indextables.split.foreign.document_fields import DocumentFields, Meta, stored_fields
from indextables.split.foreign.document_rows import DocumentRows
from indextables.split.index import META, IndexBuilder, IndexFields
from indextables.split.index_cache import checksum, entry_name, is_cached, open_cached, open_index
from indextables.split.search import IndexSearch, MissingWords, Plan, TextAnswers, plan_predicate

_INDEX_VERSION = 2
"""Raised whenever the index that is made of the rows changes, so that no older one is found in a cache."""

COMPANION = "_parquet_manifest.json"
"""The member of a split that indexes rows which stay in Parquet files elsewhere."""


def is_foreign(bundle: Bundle) -> bool:
    return META in bundle.members


class ForeignContents:
    """What is inside such a split, by the columns of the table: `mapping` or at least `schema` tells them."""

    def __init__(
        self,
        bundle: Bundle,
        settings: Settings,
        schema: TableSchema | None = None,
        mapping: FieldMapping | None = None,
    ) -> None:
        if COMPANION in bundle.members:
            raise SchemaError(
                f"{bundle.name} indexes the rows of Parquet files that lie elsewhere and holds none itself; "
                "read those files instead"
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
            raise bundle.damaged(f"its {META} cannot be understood ({reason!r})") from reason
        self.schema = self._fields.schema
        self.mapping = self._fields.mapping(mapping)

    @cached_property
    def rows(self) -> DocumentRows:
        opened = open_index(self._bundle, self._settings, documents=True)
        return DocumentRows(opened, self._fields, self.num_rows, self._bundle)

    @cached_property
    def search(self) -> IndexSearch:
        opened = open_cached(self._search_name, self._bundle, self._index_rows, self._settings)
        return IndexSearch(opened, self.mapping, self._bundle)

    @cached_property
    def answers(self) -> TextAnswers:
        missing = MissingWords(lambda: self.search, lambda: self.rows, self._bundle, self._settings)
        return TextAnswers(self.mapping, lambda: self.search, lambda: self.rows, missing)

    @property
    def _search_name(self) -> str:
        made_of = f"{entry_name(self._bundle)}\0{_INDEX_VERSION}\0{self.mapping.to_json()}"
        return hashlib.sha256(made_of.encode()).hexdigest()[:40]

    def may_match(self, _: Predicate) -> bool:
        return True

    def plan(self, predicate: Predicate, *, counting: bool = False) -> Plan:
        """Without a text query there is nothing that would pay for indexing all rows first."""
        if text_queries(predicate):
            return plan_predicate(predicate, self.mapping, self.answers.index_decides, counting=counting)
        return Plan((), conjunction(conjuncts(normalize(predicate))))

    def is_at_hand(self, *, searching: bool, may_unpack: bool) -> bool:
        """Rows lie in an index too, which is unpacked; the one that is searched is made of them, which takes long."""
        has_rows = may_unpack or is_cached(entry_name(self._bundle), self._settings)
        return has_rows and (not searching or is_cached(self._search_name, self._settings))

    def close(self) -> None:
        self.__dict__.pop("search", None)
        self.__dict__.pop("answers", None)
        self.__dict__.pop("rows", None)

    def _index_rows(self, directory: Path) -> dict[str, int]:
        """Index every row that can be read, in order, into `directory`. Return the CRC-32 of each file there."""
        columns = [mapped.name for mapped in self.mapping.fields]
        building = directory / "building"
        builder = IndexBuilder(IndexFields(self.mapping), building, self._settings.get(keys.HEAP_SIZE))
        try:
            for window in self.rows.windows(None, TRUE):
                builder.add(self.rows.read(window.groups, columns))
            files = builder.finish()
        except BaseException:
            builder.abort()
            raise
        for file in files:
            file.rename(directory / file.name)
        shutil.rmtree(building)
        return {file.name: checksum(directory / file.name) for file in files}


def _num_rows(meta: Meta) -> int:
    """The documents of all segments but the deleted ones."""
    counts = [
        segment["max_doc"] - (segment.get("deletes") or {}).get("num_deleted_docs", 0)
        for segment in meta["segments"]
    ]
    return int(sum(counts))
