"""Small tables' worth of actions, for tests of the log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from indextables.log import Action, AddFile, Metadata, Protocol, Snapshot, encode_version, version_key
from indextables.schema import REGISTRY_PREFIX, TYPEMAP_PREFIX, Field, FieldMapping, TableSchema, mapping_hash

COLUMNS = {"id": "long", "message": "string", "day": "string"}


def metadata(
    columns: dict[str, str] = COLUMNS,
    partition_columns: tuple[str, ...] = ("day",),
    text: tuple[str, ...] = (),
    **more: Any,
) -> Metadata:
    schema = TableSchema(tuple(Field(name, kind) for name, kind in columns.items()))
    mapping = FieldMapping.of(schema, partition_columns, dict.fromkeys(text, "text")).to_json()
    configuration = {f"{REGISTRY_PREFIX}{mapping_hash(mapping)}": mapping}
    configuration |= {f"{TYPEMAP_PREFIX}{name}": "text" for name in text}
    return Metadata(more.pop("id", "table"), schema.to_json(), partition_columns, configuration, **more)


def mapping_ref(table: Metadata) -> str:
    return next(key for key in table.configuration if key.startswith(REGISTRY_PREFIX)).removeprefix(
        REGISTRY_PREFIX
    )


def add(path: str, day: str | None = "mon", rows: int = 1, **more: Any) -> AddFile:
    more.setdefault("doc_mapping_ref", mapping_ref(metadata()))
    return AddFile(path, {} if day is None else {"day": day}, size=10, num_records=rows, **more)


def put_version(store: Any, version: int, actions: Iterable[Action]) -> None:
    store.create(version_key(version), encode_version(actions))


def put_table(store: Any, *versions: Iterable[Action], protocol: Protocol | None = None) -> None:
    """A log as some other writer might have left it: protocol and metadata, then the versions given."""
    put_version(store, 0, [protocol or Protocol(4, 4), metadata()])
    for version, actions in enumerate(versions, 1):
        put_version(store, version, actions)


def live(snapshot: Snapshot) -> list[str]:
    return [file.path for file in snapshot.files.values()]
