"""Writes: what is decided once, what each task does, and the one commit at the end.

plan_write  (once)        checks mode, schema, partitioning and typemap against the table
run_write_task (anywhere) turns rows into splits in the store, which no version names yet
commit_write (once)       publishes one version that names all the splits, or none
abort_write               deletes the splits of a write that certainly did not commit
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, cast, get_args

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import (
    CommitUnknownError,
    IndexTablesError,
    InputError,
    TableExistsError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.log import (
    AddFile,
    Append,
    Metadata,
    Overwrite,
    Snapshot,
    Txn,
    commit,
    is_batch_committed,
    load_snapshot,
    store_split,
    writer_metadata,
)
from indextables.runtime import new_id, now_ms
from indextables.schema import (
    REGISTRY_PREFIX,
    TYPEMAP_PREFIX,
    Field,
    FieldMapping,
    TableSchema,
    Value,
    check_partition_columns,
    conform,
    default_value,
    element_type,
    mapping_hash,
    overwrite,
    requested_typemap,
    resolve_typemap,
)
from indextables.split import FinishedSplit, SplitWriter
from indextables.storage import ScratchDirectory, Store, open_store, options_for_tasks
from indextables.table.writes.append_rules import append_metadata
from indextables.table.writes.distribution import (
    Distribution,
    is_optimized,
    plan_distribution,
    split_row_bytes,
)
from indextables.table.writes.partitioning import PartitionKey, PartitionSpill
from indextables.table.writes.properties import properties_to_store
from indextables.table.writes.replacements import Replacement, check_replacing_rows, commit_replacement

_FEWEST_ROWS: Final = 1000
"""A batch of rows is not divided into splits of fewer rows, however small the target size."""

_OUR_APPLICATIONS: Final = "io.indextables."
"""Purges record their fence as the batch of such an application."""

WriteMode = Literal["append", "overwrite", "error", "ignore"]


@dataclass(frozen=True)
class WritePlan:
    """The plan that all tasks of one write share.

    `metadata` is the table's, or the one that this write gives it. `replaces` is the metadata that an overwrite read.
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
    schema: TableSchema
    partition_columns: tuple[str, ...]
    mapping: FieldMapping
    split_bytes: int
    replaces: Metadata | None = None
    txn: Txn | None = None
    replacement: Replacement | None = None
    base_files: int = 0
    evolves: Metadata | None = None

    @property
    def missing(self) -> dict[str, Value | None]:
        """The values of the columns that the rows may lack: those of a table that is there and is appended to."""
        if self.base_version is None or self.mode != "append":
            return {}
        return {c.name: default_value(c) for c in self.schema if c.name not in self.partition_columns}


@dataclass(frozen=True)
class TaskResult:
    """The splits that one task has stored."""

    adds: tuple[AddFile, ...]


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
    if mode not in get_args(WriteMode):
        raise InputError(f"mode is {mode!r}; it takes {', '.join(get_args(WriteMode))}")
    if replacement is not None and mode != "overwrite":
        raise InputError(
            f"replacing a part of a table is an overwrite, and the mode is {mode}; write with mode overwrite"
        )
    base = find_snapshot(open_store(uri, settings))
    sequence = _to_txn(txn)
    if base is not None and (mode == "ignore" or is_batch_committed(sequence, base)):
        return None
    if base is not None and mode == "error":
        raise TableExistsError(f"there is a table at {uri} already; write with mode append or overwrite")
    if base is not None and replacement == Replacement() and not base.partition_columns:
        replacement = None  # a table without partitions is one
    is_new = base is None or (mode == "overwrite" and replacement is None)
    properties = properties_to_store(settings, schema if base is None or is_new else base.schema)
    evolves = None
    if base is None or is_new:
        typemap = requested_typemap(schema, settings)
        metadata = _new_metadata(base, schema, partition_by, typemap, properties)
    else:
        is_complete = is_complete or replacement is not None
        metadata = append_metadata(base, schema, partition_by, settings, is_complete=is_complete)
        if TableSchema.of_table(metadata.schema_string) != base.schema:
            evolves = base.metadata
    if evolves is not None and mode != "append":
        raise InputError(
            f"{keys.MERGE_SCHEMA.key} adds columns with an append, and this write replaces a part of the table; add "
            "the columns first, with Table.alter or ALTER TABLE ADD COLUMN"
        )
    version = base.version if base is not None else None
    replaces = base.metadata if base is not None else None
    return build_write_plan(
        uri,
        settings,
        mode=mode,
        base_version=version,
        metadata=metadata,
        replaces=replaces,
        split_bytes=split_row_bytes(settings, metadata.partition_columns, _history(base, metadata)),
        txn=sequence,
        replacement=replacement,
        evolves=evolves,
        base_files=0
        if base is None or (mode == "overwrite" and replacement is None)
        else base.files.expected,
    )


def distribute_rows(plan: WritePlan, columns: Sequence[Field]) -> Distribution:
    """Return how Spark is to distribute rows with these columns to the tasks of a write."""
    settings = Settings(plan.options)
    base = None
    if plan.base_version is not None and is_optimized(settings, plan.partition_columns):
        base = _load_base(open_store(plan.uri, settings), plan.base_version)
    return plan_distribution(settings, columns, plan.partition_columns, _history(base, plan.metadata))


def _history(base: Snapshot | None, metadata: Metadata) -> Snapshot | None:
    """Return the table if its files tell how large those of a write with this metadata will be."""
    is_alike = base is not None and base.metadata.schema_string == metadata.schema_string
    return base if is_alike else None


def build_write_plan(
    uri: str,
    settings: Settings,
    *,
    mode: WriteMode,
    base_version: int | None,
    metadata: Metadata,
    replaces: Metadata | None,
    split_bytes: int,
    txn: Txn | None = None,
    replacement: Replacement | None = None,
    base_files: int = 0,
    evolves: Metadata | None = None,
) -> WritePlan:
    """Build a plan from decisions already made: schema, partitioning and mapping follow from the metadata."""
    schema = TableSchema.of_table(metadata.schema_string)
    return WritePlan(
        uri=uri,
        options=options_for_tasks(uri, settings.with_properties(metadata.configuration)),
        mode=mode,
        base_version=base_version,
        metadata=metadata,
        schema=schema,
        partition_columns=metadata.partition_columns,
        mapping=FieldMapping.of(schema, metadata.partition_columns, stored_typemap(metadata)),
        split_bytes=split_bytes,
        replaces=replaces,
        txn=txn,
        replacement=replacement,
        base_files=base_files,
        evolves=evolves,
    )


def find_snapshot(store: Store) -> Snapshot | None:
    """Return the newest snapshot of the table, or None if there is no table."""
    try:
        return load_snapshot(store)
    except TableNotFoundError:
        return None


def stored_typemap(metadata: Metadata) -> dict[str, str]:
    """Return how the table indexes its string columns, from its metadata."""
    return {
        key.removeprefix(TYPEMAP_PREFIX): value
        for key, value in metadata.configuration.items()
        if key.startswith(TYPEMAP_PREFIX)
    }


def run_write_task(plan: WritePlan, batches: Iterable[pa.RecordBatch]) -> TaskResult:
    """Index the rows into splits and store them. Readers see nothing of them until the commit."""
    settings = Settings(plan.options)
    store = open_store(plan.uri, settings)
    missing = plan.missing
    rows = (conform(batch, plan.schema, missing) for batch in batches)
    adds: list[AddFile] = []
    try:
        with ScratchDirectory(settings) as directory:
            for key, part in _partitions(plan, rows, directory):
                for split in _splits(plan, part, settings, directory):
                    adds.append(
                        store_split(
                            store,
                            split,
                            partition_columns=plan.partition_columns,
                            partition_values=dict(zip(plan.partition_columns, key, strict=True)),
                            mapping=plan.mapping,
                        )
                    )
                    check_replacing_rows(
                        store,
                        adds[-1],
                        plan.replacement,
                        schema=plan.schema,
                        mapping=plan.mapping,
                        partition_columns=plan.partition_columns,
                        settings=settings,
                    )
    except BaseException:
        _delete(store, adds)
        raise
    return TaskResult(tuple(adds))


def commit_write(plan: WritePlan, results: Iterable[TaskResult | None]) -> int:
    """Commit the whole write as one version; return it, or the version planned on if there is nothing to commit.

    If another process has committed the same `txn` first, this write is not committed again: its splits are deleted and
    the version of that table is returned.
    """
    return publish_write(plan, results)[0]


def publish_write(plan: WritePlan, results: Iterable[TaskResult | None]) -> tuple[int, Snapshot | None]:
    """Commit the whole write as `commit_write` does. Return the version, and the table at it.

    There is no snapshot if there was nothing to commit, or if a part of the table was replaced.
    """
    stored = [result for result in results if result is not None]
    adds = tuple(add for result in stored for add in result.adds)
    adds_only = plan.mode == "append" or plan.replacement == Replacement()
    if adds_only and plan.base_version is not None and not adds and plan.txn is None:
        return plan.base_version, None
    settings = Settings(plan.options)
    store = open_store(plan.uri, settings)
    base = None if plan.base_version is None else _load_base(store, plan.base_version)
    change: Append | Overwrite
    if plan.mode == "overwrite":
        change = Overwrite(adds=adds, metadata=plan.metadata, replaces=plan.replaces, txn=plan.txn)
    else:
        create: Literal["allow", "only"] = "allow" if plan.mode == "append" else "only"
        change = Append(adds=adds, metadata=plan.metadata, create=create, txn=plan.txn, evolves=plan.evolves)
    try:
        if plan.replacement is not None and base is not None:
            version, has_adds = commit_replacement(
                store, plan.replacement, adds, metadata=plan.metadata, txn=plan.txn, settings=settings
            )
            if not has_adds:
                abort_write(plan, stored)
            return version, None
        done = commit(store, change, base=base, settings=settings)
    except CommitUnknownError:
        raise
    except IndexTablesError:
        # Any other IndexTablesError means that the commit certainly did not happen, so the splits can be deleted. After
        # an error of another kind a version may name them: they stay, and a purge finds them if none does.
        abort_write(plan, stored)
        raise
    if done.skipped:
        abort_write(plan, stored)
    return done.version, done.snapshot


def _load_base(store: Store, version: int) -> Snapshot:
    try:
        return load_snapshot(store, version)
    except VersionNotFoundError:
        # Clean-up deleted that version while the tasks wrote rows. The conflict rules of a change need only the newest
        # version, so it serves as the base.
        return load_snapshot(store)


def abort_write(plan: WritePlan, results: Iterable[TaskResult | None]) -> None:
    """Delete the splits that the tasks stored. Only for a write that certainly did not commit."""
    store = open_store(plan.uri, Settings(plan.options))
    _delete(store, [add for result in results if result is not None for add in result.adds])


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
    typemap: Mapping[str, str],
    properties: Mapping[str, str],
) -> Metadata:
    """Return the metadata of a new table, or of one whose rows are all replaced.

    An overwrite keeps the partitioning and the text columns that the new schema still has, unless it sets its own. It
    keeps the identity of columns too: what reads old rows later finds their values under the right names.
    """
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
    configuration |= {f"{TYPEMAP_PREFIX}{name}": kind for name, kind in kinds.items()} | dict(properties)
    return Metadata(
        id=base.metadata.id if base is not None else str(new_id()),
        schema_string=schema.to_json(),
        partition_columns=columns,
        configuration=configuration,
        created_time=base.metadata.created_time if base is not None else now_ms(),
    )


def _partitions(
    plan: WritePlan, rows: Iterator[pa.RecordBatch], directory: Path
) -> Iterator[tuple[PartitionKey, Iterator[pa.RecordBatch]]]:
    if not plan.partition_columns:
        yield (), rows
        return
    with PartitionSpill(directory, plan.schema, plan.partition_columns) as spill:
        for batch in rows:
            spill.add(batch)
        yield from spill.partitions()


def _splits(
    plan: WritePlan, rows: Iterator[pa.RecordBatch], settings: Settings, directory: Path
) -> Iterator[FinishedSplit]:
    """Yield splits of about the target size; none if there are no rows."""
    schema = plan.schema.without(plan.partition_columns)
    writer: SplitWriter | None = None
    try:
        for batch in rows:
            while batch.num_rows:
                if writer is None:
                    writer = SplitWriter(schema, plan.mapping, settings=settings, directory=directory)
                count = _rows_within(batch, plan.split_bytes - writer.input_bytes)
                writer.write(batch.slice(0, count))
                batch = batch.slice(count)  # noqa: PLW2901 - what is left of it
                if writer.input_bytes >= plan.split_bytes:
                    finished, writer = writer.finish(), None
                    yield finished
        if writer is not None:
            finished, writer = writer.finish(), None
            yield finished
    finally:
        if writer is not None:
            writer.abort()


def _rows_within(batch: pa.RecordBatch, size: int) -> int:
    """Return how many rows of a batch have about that size, but not so few that splits become tiny."""
    rows: int = batch.num_rows
    return min(rows, max(math.ceil(rows * size / max(int(batch.nbytes), 1)), _FEWEST_ROWS))


def _delete(store: Store, adds: Iterable[AddFile]) -> None:
    for add in adds:
        store.delete(add.path)


def parse_mode(text: str) -> WriteMode:
    """Return the mode for its name in Spark or here, in any case.

    >>> parse_mode("ErrorIfExists")
    'error'
    """
    folded = text.lower() if isinstance(text, str) else ""
    folded = {"errorifexists": "error", "default": "error"}.get(folded, folded)
    if folded not in get_args(WriteMode):
        raise InputError(f"mode is {text!r}; it takes {', '.join(get_args(WriteMode))}")
    return cast("WriteMode", folded)
