"""Files of earlier versions as the columns of one version: what feeds of changes and streams read.

An overwrite or a restore may give a table other columns, types or partition columns. A file has those of the version
that it is live in. So it is planned and read by the metadata of that version, and shown as the table of the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from indextables.config import Settings
from indextables.errors import SchemaError, VersionNotFoundError
from indextables.log import AddFile, Metadata, Snapshot, load_snapshot
from indextables.log.snapshots import mapping_of
from indextables.log.versions import VersionActions
from indextables.predicates import ALL_FIELDS, TextQuery, columns_of, text_queries
from indextables.runtime import lazy_property
from indextables.schema import (
    IDENTITY,
    REGISTRY_PREFIX,
    TYPEMAP_PREFIX,
    Presentation,
    TableSchema,
    mapping_hash,
    own_refs,
    present,
)
from indextables.storage import Store
from indextables.table.scans import ScanRequest

_NAMED: Final = 3


@dataclass(frozen=True)
class PastTable:
    """The table of a reader, for files of an earlier version.

    `snapshot` has the columns of the reader, as these files have them, and the partition columns of these files. Its
    own files are not those. `kinds` says how columns were indexed then that are indexed in another way now.
    """

    snapshot: Snapshot
    version: int
    partition_columns: tuple[str, ...]
    shown: Presentation | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)

    def file(self, file: AddFile) -> AddFile:
        """Return a file with its partition values under the names that the columns of the reader have."""
        if self.shown is None:
            return file
        names = self.shown.partition_columns
        values = {names[name]: value for name, value in file.partition_values.items() if name in names}
        return replace(file, partition_values=values)

    def check(self, request: ScanRequest, advice: str) -> None:
        """Raise SchemaError if the files have a column that the request reads or searches in another way."""
        if self.shown is None:
            return
        schema, predicate = self.snapshot.schema, request.predicate
        searched = {name for query in text_queries(predicate) for name in _searched_columns(query, schema)}
        compared = searched | {schema.root(name) for name in columns_of(predicate)}
        others = [
            f"column {name!r} is {schema.field(name).type_name} now and was {old.type_name}"
            for olds, names in (
                (self.shown.unreadable, compared | set(request.columns)),
                (self.shown.unsearchable, compared),
            )
            for name, old in olds.items()
            if name in names
        ]
        others += [
            f"the index of column {name!r} is another one now, and it was {kind}"
            for name, kind in self.kinds.items()
            if name in searched
        ]
        if others:
            raise SchemaError(
                f"{', '.join(others[:_NAMED])} in version {self.version} of {self.snapshot.uri}: rows of that version "
                f"cannot be read as those of now. {advice}"
            )


@dataclass
class PastColumns:
    """The columns that a table had in a range of versions, as the columns of `table`, which is newer.

    The versions pass through `follow` before `at` is asked for one of them, or for the one before the first.
    """

    store: Store
    table: Snapshot
    settings: Settings
    _changes: dict[int, Metadata | None] = field(default_factory=dict)
    _first: int | None = None
    _last: int | None = None
    _loaded: dict[int, Metadata] = field(default_factory=dict)
    _tables: dict[tuple[str, tuple[str, ...], frozenset[str]], PastTable] = field(default_factory=dict)

    @lazy_property
    def newest(self) -> PastTable:
        """The table of the reader for files that have its columns."""
        return PastTable(self.table, self.table.version, self.table.partition_columns)

    @lazy_property
    def own_ref(self) -> str | None:
        """The name of the mapping of files that certainly have the columns of the reader; None if there is none.

        The mapping has the stored names and types of all columns but the partition columns: none of these was another
        column in such a file.
        """
        if any(IDENTITY in column.metadata for column in self.table.schema):
            return None
        return mapping_hash(self.table.mapping.to_json())

    def follow(self, versions: Iterable[VersionActions]) -> Iterator[VersionActions]:
        """Yield the versions, which are ascending, and remember which of them change the metadata."""
        for version in versions:
            metadata = [action for action in version.actions if isinstance(action, Metadata)]
            if self._last is not None and version.version > self._last + 1:
                self._changes[self._last + 1] = None  # versions are lost, and may have changed it
            if metadata:
                self._changes[version.version] = metadata[-1]
            if self._first is None:
                self._first = version.version
            self._last = version.version
            yield version

    def at(self, version: int) -> PastTable:
        """Return the table of the reader for files that are live in a version.

        VersionNotFoundError if clean-up has deleted what tells the columns of that version.
        """
        metadata = self._metadata(version)
        if metadata == self.table.metadata:
            return self.newest
        key = (metadata.schema_string, metadata.partition_columns, frozenset(_typemap(metadata)))
        if key not in self._tables:
            self._tables[key] = _past_table(self.table, metadata, version)
        return self._tables[key]

    def _metadata(self, version: int) -> Metadata:
        changed = max((at for at in self._changes if at <= version), default=-1)
        metadata = self._changes.get(changed)
        if metadata is not None:
            return metadata
        # The metadata is the same up to its next change. Of these versions, the last one can be read for longest.
        is_followed = self._first is not None and version >= self._first - 1
        later = min((at for at in self._changes if at > version), default=None)
        last = version
        if is_followed and self._last is not None:
            last = max(version, self._last) if later is None else later - 1
        if last >= self.table.version:
            return self.table.metadata
        if last not in self._loaded:
            try:
                self._loaded[last] = load_snapshot(self.store, last, settings=self.settings).metadata
            except VersionNotFoundError:
                raise VersionNotFoundError(
                    f"the columns that {self.store.uri} had in version {version} are not known any more: clean-up has "
                    f"deleted it, and they may have changed since. Begin after version {last}"
                ) from None
        return self._loaded[last]


def _past_table(table: Snapshot, metadata: Metadata, version: int) -> PastTable:
    then, columns = TableSchema.of_table(metadata.schema_string), metadata.partition_columns
    shown = present(table.schema, then, columns)
    kinds = _other_kinds(table, metadata, then)
    if _columns(then) == _columns(table.schema) and columns == table.partition_columns and not kinds:
        return PastTable(table, version, columns)
    partition_columns = tuple(
        shown.partition_columns[name] for name in columns if name in shown.partition_columns
    )
    own = {
        key: value
        for key, value in table.metadata.configuration.items()
        if key.removeprefix(TYPEMAP_PREFIX) not in partition_columns
    }
    registry = {k: v for k, v in metadata.configuration.items() if k.startswith(REGISTRY_PREFIX)}
    seen = replace(
        table.metadata,
        schema_string=shown.schema.to_json(),
        partition_columns=partition_columns,
        configuration=registry | own,
    )
    return PastTable(replace(table, metadata=seen), version, columns, shown, kinds)


def _columns(schema: TableSchema) -> set[tuple[str, str, str, str]]:
    return {(column.name, column.type, column.stored_name, column.identity) for column in schema}


def _typemap(metadata: Metadata) -> Iterator[str]:
    return (f"{k}={v}" for k, v in metadata.configuration.items() if k.startswith(TYPEMAP_PREFIX))


def _other_kinds(table: Snapshot, metadata: Metadata, then: TableSchema) -> dict[str, str]:
    """Return how columns were indexed that are indexed in another way now.

    What other writers do is not recorded. Their splits are indexed again when they are searched.
    """
    if not own_refs(metadata.configuration):
        return {}
    was, now = mapping_of(metadata), table.mapping
    before = {column.identity: column.name for column in then}
    others: dict[str, str] = {}
    for column in table.schema:
        mapped, name = now.get(column.name), before.get(column.identity)
        if mapped is not None and name is not None:
            old = was.get(name)
            kind = "a partition column" if old is None else old.kind
            if kind != mapped.kind:
                others[column.name] = kind
    return others


def _searched_columns(query: TextQuery, schema: TableSchema) -> Iterator[str]:
    column = schema.resolve(query.column)
    if column is None or query.column == ALL_FIELDS or ":" in query.query:  # it may name others
        yield from schema.names
    else:
        yield schema.root(column.name)
