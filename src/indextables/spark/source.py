"""The data source as Spark's Python API sees it: the far end of the jar's calls, or, without the jar, all there is."""

from __future__ import annotations

import os

import orjson
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader
from pyspark.sql.types import StringType, StructField, StructType

from indextables.config import Settings, of_options
from indextables.errors import ConfigError
from indextables.schema import TableSchema
from indextables.spark.columns import columns_answer, is_of_columns
from indextables.spark.columns_source import columns_reader, columns_writer
from indextables.spark.commands import answer, requested_tasks, requested_write
from indextables.spark.jobs import JobReader
from indextables.spark.reader import ScanReader
from indextables.spark.request import OPTION, Request, refused
from indextables.spark.sql import job_tasks
from indextables.spark.writer import TableWriter
from indextables.storage import table_uri
from indextables.table import ScanRequest, Table, open_table, plan_scan, plan_write

ANSWER = "__it"
"""The schema field whose metadata carries an answer."""


class IndexTablesDataSource(DataSource):
    """`format("indextables")`. With the jar, Spark asks Java, which sends a request here.

    Without it Spark asks this class: reads (every row and column, no push-down), append and overwrite work.
    """

    @classmethod
    def name(cls) -> str:
        return "indextables"

    def schema(self) -> StructType:
        request = self._request()
        if request is None:
            return StructType.fromJson(orjson.loads(self._table().snapshot.schema.to_json()))
        answered = columns_answer(request) if is_of_columns(request) else answer(request)
        if request.warnings:
            answered["warnings"] = request.warnings
        reply = orjson.dumps(answered).decode()
        return StructType([StructField(ANSWER, StringType(), True, {ANSWER: reply})])

    def reader(self, schema: StructType) -> DataSourceReader:
        request = self._request()
        if request is None:
            return self._plain_reader(schema)
        if request.command == "job":
            return JobReader(job_tasks(request.arguments["job"]))
        if request.command != "scan":
            raise refused(f"command {request.command!r} does not read rows")
        if is_of_columns(request):
            return columns_reader(request)
        return ScanReader(requested_tasks(request))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        request = self._request()
        if request is not None and request.command != "write":
            raise refused(f"command {request.command!r} does not write rows")
        if request is not None and is_of_columns(request):
            return columns_writer(request)
        if request is not None:
            return TableWriter(requested_write(request))
        return TableWriter(
            plan_write(
                table_uri(self._path()),
                TableSchema.from_json(schema.json()),
                mode="overwrite" if overwrite else "append",
                partition_by=None,
                settings=Settings(of_options(self.options)),
            )
        )

    def _request(self) -> Request | None:
        text = self.options.get(OPTION)
        return None if text is None else Request.parse(text)

    def _path(self) -> str:
        path = self.options.get("path")
        if path is None:
            raise ConfigError('indextables takes one path, as in load("/data/logs") or save("/data/logs")')
        return str(path)

    def _table(self) -> Table:
        version = self.options.get("versionasof")
        if version is not None and not version.strip().isdecimal():
            raise ConfigError(
                f"{version!r} is not a version of a table; versions are whole numbers, 0 the first"
            )
        return open_table(
            self._path(),
            version=None if version is None else int(version),
            as_of=self.options.get("timestampasof"),
            settings=of_options(self.options),
        )

    def _plain_reader(self, schema: StructType) -> ScanReader:
        table = self._table()
        request = ScanRequest(columns=tuple(schema.fieldNames()))
        parallelism = os.cpu_count() or 1
        plan = plan_scan(table.uri, table.snapshot, request, table.settings, parallelism=parallelism)
        return ScanReader(plan.tasks)
