"""What is inside an open split: its columns, its rows, and its index, which is opened when first needed."""

from __future__ import annotations

from functools import cached_property

from indextables.columns import Manifest
from indextables.config import Settings
from indextables.errors import CorruptTableError, SchemaError
from indextables.schema import Field, FieldMapping, TableSchema
from indextables.split.bundle import Bundle
from indextables.split.cache import open_index
from indextables.split.members import MANIFEST, MAPPING
from indextables.split.rows import RowStore
from indextables.split.search import IndexSearch


class SplitContents:
    def __init__(self, bundle: Bundle, settings: Settings) -> None:
        self._bundle = bundle
        self._settings = settings
        mapping, manifest = bundle.read(MAPPING), bundle.read(MANIFEST)
        try:
            self.mapping = FieldMapping.from_json(mapping.decode())
            self.schema = TableSchema(tuple(Field(f.name, f.spark_type) for f in self.mapping.fields))
            group = Manifest.from_bytes(manifest).column_groups[0]
            self.rows = RowStore(bundle, group.files[0].path, self.schema)
        except (ValueError, KeyError, IndexError, TypeError, SchemaError, CorruptTableError) as reason:
            raise bundle.damaged(reason) from reason
        self.num_rows = group.num_rows

    @cached_property
    def search(self) -> IndexSearch:
        return IndexSearch(open_index(self._bundle, self._settings), self.mapping, self._bundle)

    def close(self) -> None:
        self.__dict__.pop("search", None)
