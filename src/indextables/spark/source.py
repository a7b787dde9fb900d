"""The data source as Spark's Python API sees it: it serves the requests of the jar, or Spark alone without the jar."""

from __future__ import annotations

import os

import orjson
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader
from pyspark.sql.types import StringType, StructField, StructType

from indextables.config import Settings, of_options
from indextables.errors import ConfigError
from indextables.schema import TableSchema
from indextables.spark.commands import COMMANDS, answer, error_answer
from indextables.spark.formats import table_reader, table_writer
from indextables.spark.request import Request, refused
from indextables.spark.request_json import OPTION, parse_request
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
        try:
            request = self._request()
        except ConfigError as error:  # an option that is wrong by itself
            reply = orjson.dumps(error_answer(error)).decode()
        else:
            if request is None:
                return StructType.fromJson(
                    orjson.loads(self._table().snapshot.schema.without_identities().to_json())
                )
            reply = orjson.dumps(answer(request)).decode()
        return StructType([StructField(ANSWER, StringType(), True, {ANSWER: reply})])

    def reader(self, schema: StructType) -> DataSourceReader:
        request = self._request()
        if request is None:
            return self._reader_without_jar(schema)
        read = COMMANDS[request.command].read
        if read is None:
            raise refused(f"command {request.command!r} does not read rows")
        return read(request)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        request = self._request()
        if request is None:
            return self._writer_without_jar(schema, overwrite=overwrite)
        write = COMMANDS[request.command].write
        if write is None:
            raise refused(f"command {request.command!r} does not write rows")
        return write(request)

    def _request(self) -> Request | None:
        text = self.options.get(OPTION)
        return None if text is None else parse_request(text)

    def _path(self) -> str:
        path = self.options.get("path")
        if path is None:
            raise ConfigError('indextables takes one path, as in load("/data/logs") or save("/data/logs")')
        return str(path)

    def _table(self) -> Table:
        version = self.options.get("versionasof")
        if version is not None and not version.strip().isdecimal():
            raise ConfigError(
                f"versionAsOf is {version!r}; it takes the number of a version, and 0 is the first"
            )
        return open_table(
            self._path(),
            version=None if version is None else int(version),
            as_of=self.options.get("timestampasof"),
            settings=of_options(self.options),
        )

    def _reader_without_jar(self, schema: StructType) -> DataSourceReader:
        table = self._table()
        request = ScanRequest(columns=tuple(schema.fieldNames()))
        parallelism = os.cpu_count() or 1
        plan = plan_scan(table.uri, table.snapshot, request, table.settings, parallelism=parallelism)
        return table_reader(plan.tasks)

    def _writer_without_jar(self, schema: StructType, *, overwrite: bool) -> DataSourceArrowWriter:
        plan = plan_write(
            table_uri(self._path()),
            TableSchema.from_json(schema.json()),
            mode="overwrite" if overwrite else "append",
            partition_by=None,
            settings=Settings(of_options(self.options)),
        )
        return table_writer(plan)
