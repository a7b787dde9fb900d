"""The plan of a write: mode, schema, partitioning and typemap, checked once against the table, for all of its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, cast, get_args

from indextables.config import Settings, keys
from indextables.errors import InputError, TableExistsError, TableNotFoundError, VersionNotFoundError
from indextables.log import Metadata, Snapshot, Txn, is_batch_committed, load_snapshot, writer_metadata
from indextables.runtime import new_id, now_ms
from indextables.schema import (
    REGISTRY_PREFIX,
    TYPEMAP_PREFIX,
    Field,
    FieldMapping,
    TableSchema,
    Value,
    check_partition_columns,
    default_value,
    element_type,
    mapping_hash,
    overwrite,
    requested_typemap,
    resolve_typemap,
)
from indextables.storage import Store, open_store, options_for_tasks
from indextables.table.writes.append_rules import append_metadata
from indextables.table.writes.distribution import (
    Distribution,
    is_optimized,
    plan_distribution,
    split_row_bytes,
)
from indextables.table.writes.properties import properties_to_store
from indextables.table.writes.replacements import Replacement

_OUR_APPLICATIONS: Final = "io.indextables."
"""Purges record their fence as the batch of such an application."""

WriteMode = Literal["append", "overwrite", "error", "ignore"]


@dataclass(frozen=True, kw_only=True)
class WritePlan:
    """The plan that all tasks of one write share.

    `options` are those of `task_options`. `metadata` is the table's, or the one that this write gives it; `schema`,
    `partition_columns` and `mapping` follow from it. `replaces` is the metadata that an overwrite read.
    `split_bytes` is the size of the rows of one split, about.
    `txn` is the number of the write in the sequence of its application: each is committed once, and in order.
    `replacement` is the part of the table that an overwrite replaces; None: all of it.
    `base_files` is the number of live files that the table has without this write, as far as it is known.
    `evolves` is the metadata that an append read, if it adds columns to the table.
    """

    uri: str
    options: dict[str, str] = field(repr=False)  # credentials may be among them
    mode: WriteMode
    base_version: int | None
    metadata: Metadata
    split_bytes: int
    replaces: Metadata | None = None
    txn: Txn | None = None
    replacement: Replacement | None = None
    base_files: int = 0
    evolves: Metadata | None = None
    schema: TableSchema = field(init=False)
    mapping: FieldMapping = field(init=False)

    def __post_init__(self) -> None:
        schema = TableSchema.of_table(self.metadata.schema_string)
        mapping = FieldMapping.of(schema, self.partition_columns, stored_typemap(self.metadata))
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "mapping", mapping)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.metadata.partition_columns

    @property
    def missing(self) -> dict[str, Value | None]:
        """The values of the columns that the rows may lack: those of a table that is there and is appended to."""
        if self.base_version is None or self.mode != "append":
            return {}
        return {c.name: default_value(c) for c in self.schema if c.name not in self.partition_columns}


def task_options(uri: str, settings: Settings, metadata: Metadata) -> dict[str, str]:
    """Return the settings that the tasks of a write need: those of the caller, then those of the table."""
    return options_for_tasks(uri, settings.with_properties(metadata.configuration))


def plan_write(
    uri: str,
    schema: TableSchema,
    *,
    mode: WriteMode,
    partition_by: list[str] | tuple[str, ...] | None,
    settings: Settings,
    txn: tuple[str, int] | None = None,
    replacement: Replacement | None = None,
    is_complete: bool = False,
) -> WritePlan | None:
    """Return the plan of a write, or None if there is nothing to do.

    That is so for mode `ignore` on a table that exists, and for a `txn` that the table already has. A `replacement`
    needs mode `overwrite`, and rows that could be appended. `is_complete` says that the rows of an append must have
    every column of the table.
    """
    _check_mode(mode, mode)
    if replacement is not None and mode != "overwrite":
        raise InputError(
            f"replacing a part of a table is an overwrite, and the mode is {mode}; write with mode overwrite"
        )
    base = find_snapshot(open_store(uri, settings))
    sequence = _to_txn(txn)
    if base is not None:
        if mode == "ignore" or is_batch_committed(sequence, base):
            return None
        if mode == "error":
            raise TableExistsError(f"there is a table at {uri} already; write with mode append or overwrite")
        if replacement == Replacement() and not base.partition_columns:
            replacement = None  # a table without partitions is one
    # The table whose columns and files stay: not one that is overwritten as a whole.
    extended = None if mode == "overwrite" and replacement is None else base
    evolves = None
    if extended is None:
        metadata = _new_metadata(base, schema, partition_by, settings)
    else:
        properties_to_store(settings, extended.schema)  # raises for properties that do not fit the table
        is_complete = is_complete or replacement is not None
        metadata = append_metadata(extended, schema, partition_by, settings, is_complete=is_complete)
        if TableSchema.of_table(metadata.schema_string) != extended.schema:
            evolves = extended.metadata
    if evolves is not None and replacement is not None:
        raise InputError(
            f"{keys.MERGE_SCHEMA.key} adds columns with an append, and this write replaces a part of the table; add "
            "the columns first, with Table.alter or ALTER TABLE ADD COLUMN"
        )
    return WritePlan(
        uri=uri,
        options=task_options(uri, settings, metadata),
        mode=mode,
        base_version=None if base is None else base.version,
        metadata=metadata,
        split_bytes=split_row_bytes(settings, metadata.partition_columns, _history(base, metadata)),
        replaces=None if base is None else base.metadata,
        txn=sequence,
        replacement=replacement,
        base_files=0 if extended is None else extended.files.expected,
        evolves=evolves,
    )


def find_snapshot(store: Store) -> Snapshot | None:
    """Return the newest snapshot of the table, or None if there is no table."""
    try:
        return load_snapshot(store)
    except TableNotFoundError:
        return None


def load_base(store: Store, version: int) -> Snapshot:
    """Return the table at the version that a write was planned on, or at the newest one if that has been deleted."""
    try:
        return load_snapshot(store, version)
    except VersionNotFoundError:
        # Clean-up deleted that version while the tasks wrote rows. The conflict rules of a change need only the newest
        # version, so it serves as the base.
        return load_snapshot(store)


def distribute_rows(plan: WritePlan, columns: Sequence[Field]) -> Distribution:
    """Return how Spark is to distribute rows with these columns to the tasks of a write."""
    settings = Settings(plan.options)
    base = None
    if plan.base_version is not None and is_optimized(settings, plan.partition_columns):
        base = load_base(open_store(plan.uri, settings), plan.base_version)
    return plan_distribution(settings, columns, plan.partition_columns, _history(base, plan.metadata))


def _history(base: Snapshot | None, metadata: Metadata) -> Snapshot | None:
    """Return the table if its files tell how large those of a write with this metadata will be."""
    is_alike = base is not None and base.metadata.schema_string == metadata.schema_string
    return base if is_alike else None


def parse_mode(text: str) -> WriteMode:
    """Return the mode for its name in Spark or here, in any case.

    >>> parse_mode("ErrorIfExists")
    'error'
    """
    folded = text.lower() if isinstance(text, str) else ""
    folded = {"errorifexists": "error", "default": "error"}.get(folded, folded)
    _check_mode(folded, text)
    return cast("WriteMode", folded)


def _check_mode(mode: object, text: object) -> None:
    if mode not in get_args(WriteMode):
        raise InputError(f"mode is {text!r}; it takes {', '.join(get_args(WriteMode))}")


def _to_txn(txn: tuple[str, int] | None) -> Txn | None:
    if txn is None:
        return None
    match txn:
        case (str(app_id), int(version)) if app_id and version >= 0 and not isinstance(version, bool):
            if not app_id.startswith(_OUR_APPLICATIONS):
                return Txn(app_id, version)
    raise InputError(
        f"txn is {txn!r}; it takes the application's name, which does not begin with {_OUR_APPLICATIONS!r}, and a "
        "number that grows from 0"
    )


def _new_metadata(
    base: Snapshot | None,
    schema: TableSchema,
    partition_by: list[str] | tuple[str, ...] | None,
    settings: Settings,
) -> Metadata:
    """Return the metadata of a new table, or of one whose rows are all replaced.

    An overwrite keeps the partitioning and the text columns that the new schema still has, unless it sets its own. It
    keeps the identity of columns too: what reads old rows later finds their values under the right names.
    """
    properties = properties_to_store(settings, schema)
    typemap = requested_typemap(schema, settings)
    if partition_by is None and base is not None:
        partition_by = [name for name in base.partition_columns if schema.get(name) is not None]
    columns = check_partition_columns(schema, partition_by or [])
    inherited: dict[str, str] = {}
    if base is not None:
        for name, kind in stored_typemap(writer_metadata(base)).items():
            column = schema.resolve(name)
            is_text = column is not None and (element_type(column.type) or column.type) == "string"
            if column is not None and (is_text or kind == "none") and column.name not in columns:
                inherited[column.name] = kind
    kinds = inherited | resolve_typemap(schema, columns, typemap)
    schema = schema.without_identities()
    if base is not None:
        texts = [name for name, kind in kinds.items() if kind.split(";")[0] in ("text", "ip")]
        schema = overwrite(base.schema, schema, columns, without_default=texts)
    mapping = FieldMapping.of(schema, columns, kinds).to_json()
    other_keys = {
        key: value
        for key, value in (base.metadata.configuration.items() if base is not None else ())
        if not key.startswith(TYPEMAP_PREFIX)
    }
    configuration = other_keys | {f"{REGISTRY_PREFIX}{mapping_hash(mapping)}": mapping}
    configuration |= {f"{TYPEMAP_PREFIX}{name}": kind for name, kind in kinds.items()} | properties
    return Metadata(
        id=base.metadata.id if base is not None else str(new_id()),
        schema_string=schema.to_json(),
        partition_columns=columns,
        configuration=configuration,
        created_time=base.metadata.created_time if base is not None else now_ms(),
    )


def stored_typemap(metadata: Metadata) -> dict[str, str]:
    """Return how the table indexes its string columns, from its metadata."""
    return {
        key.removeprefix(TYPEMAP_PREFIX): value
        for key, value in metadata.configuration.items()
        if key.startswith(TYPEMAP_PREFIX)
    }
