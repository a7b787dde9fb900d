"""One version of a table: what it is, and how its conditions are read and its scans are planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from indextables.config import Settings
from indextables.log import Metadata, Protocol, Snapshot
from indextables.predicates import Predicate
from indextables.storage import Store, open_store
from indextables.table.arguments import parse_condition
from indextables.table.scans import ScanPlan, ScanRequest, plan_scan, record_scan, run_scan_task, scan_schema


class TableVersion:
    """One version of a table: its identity, its schema and its settings."""

    def __init__(self, uri: str, snapshot: Snapshot, settings: Settings) -> None:
        self._uri = uri
        self._snapshot = snapshot
        self._settings = settings

    @property
    def uri(self) -> str:
        """The address of the table."""
        return self._uri

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the log that the handle reads."""
        return self._snapshot

    @property
    def settings(self) -> Settings:
        """The settings with which the table was opened."""
        return self._settings

    @property
    def version(self) -> int:
        """The number of this version."""
        return self._snapshot.version

    @property
    def schema(self) -> pa.Schema:
        """The columns and their Arrow types."""
        return self._snapshot.schema.arrow

    @property
    def partition_columns(self) -> list[str]:
        """The columns whose values name the partitions."""
        return list(self._snapshot.partition_columns)

    @property
    def protocol(self) -> Protocol:
        """The versions of the format that readers and writers must support."""
        return self._snapshot.protocol

    @property
    def metadata(self) -> Metadata:
        """The table's id, schema, partitioning and configuration, as the log records them."""
        return self._snapshot.metadata

    def _store(self) -> Store:
        return open_store(self._uri, self._settings)

    def _where(self, where: str | None) -> Predicate:
        return self._condition(None, where)

    def _condition(self, query: str | None, where: str | None) -> Predicate:
        return parse_condition(query, where, self._snapshot.schema, self._settings)

    def _plan(self, request: ScanRequest, extra: Mapping[str, str] | None = None) -> ScanPlan:
        settings = Settings(dict(self._settings) | dict(extra or {}))
        plan = plan_scan(self._uri, self._snapshot, request, settings)
        record_scan(plan)
        return plan

    def _read(self, request: ScanRequest, extra: Mapping[str, str] | None = None) -> pa.RecordBatchReader:
        plan = self._plan(request, extra)

        def batches() -> Iterator[pa.RecordBatch]:
            remaining = request.limit
            for task in plan.tasks:
                for batch in run_scan_task(task):
                    yield batch if remaining is None else batch.slice(0, remaining)
                    remaining = None if remaining is None else remaining - batch.num_rows
                    if remaining is not None and remaining <= 0:
                        return

        return pa.RecordBatchReader.from_batches(scan_schema(self._snapshot.schema, request), batches())
