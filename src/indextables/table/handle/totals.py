"""Counts and other totals over the rows of a version."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import keys
from indextables.errors import InputError
from indextables.schema import Field
from indextables.table.answers import ColumnStats, check_values, column_stats, histogram, top_values
from indextables.table.arguments import ANY_FIELDS, check_flag, to_count
from indextables.table.grouping import COUNT_ROWS, buckets_of
from indextables.table.handle.version import TableVersion
from indextables.table.scans import ScanPlan, ScanRequest


class TableTotals(TableVersion):
    """The part of a handle that counts rows and adds up columns."""

    def count(self, query: str | None = None, *, where: str | None = None) -> int:
        """Count the rows that match the query and satisfy `where`; without either, all rows.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"message": ["disk full", "disk slow", "login ok"]})
        >>> _ = it.write("memory://doc-count", rows, text=["message"])
        >>> table = it.open("memory://doc-count")
        >>> table.count(), table.count("disk"), table.count(where="message TEXTSEARCH 'login'")
        (3, 2, 1)
        """
        request = ScanRequest((), self._condition(query, where), aggregate=COUNT_ROWS)
        counts = self._read(request, ANY_FIELDS).read_all()
        return int(pc.sum(counts.column(0)).as_py())

    def histogram(
        self,
        column: str,
        *,
        every: str | float,
        query: str | None = None,
        where: str | None = None,
        by: str | None = None,
        fill: bool = False,
    ) -> pa.Table:
        """Count the rows of each bucket of a date, timestamp or number; return `bucket`, the column `by`, `count`.

        `query` and `where` select rows as for `count`. `every` is the width of a bucket. For numbers it is a number.
        For timestamps it is a number and a unit: seconds, minutes, hours, days, weeks, months or years, as in `"1s"`,
        `"15m"`, `"1h"`, `"1d"`, `"1w"`, `"1 month"`, `"1y"`. Dates take days and longer. Times are UTC. Buckets are
        counted from 1970-01-01, those of weeks from the Monday before it, those of numbers from 0.

        `bucket` is the start of the bucket: a date, a timestamp, a long for integers, a double for floating-point
        numbers. `by` counts the rows of each of its values separately. Rows whose value is null are in a bucket null,
        which is last; NaN and the infinities have buckets of their own. Rows are in the order of bucket and `by`. A
        bucket without rows is left out; with `fill=True` it has a row of count 0, for each value of `by`, if it is
        between others. InputError if the buckets take more than `spark.indextables.aggregation.maxMemory`.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"ms": [3, 12, 17, 41], "level": ["INFO", "INFO", "WARN", "INFO"]})
        >>> _ = it.write("memory://doc-histogram", rows)
        >>> table = it.open("memory://doc-histogram")
        >>> table.histogram("ms", every=10, where="level = 'INFO'").to_pydict()
        {'bucket': [0, 10, 40], 'count': [1, 1, 1]}
        >>> table.histogram("ms", every=20, by="level").to_pydict()
        {'bucket': [0, 0, 40], 'level': ['INFO', 'WARN', 'INFO'], 'count': [2, 1, 1]}
        """
        field, by_field = self._column(column, "column"), None if by is None else self._column(by, "by")
        fill = check_flag(fill, "fill")
        if by_field == field:
            raise InputError(
                f"by is {field.name!r}, the column of the histogram; name another column, or leave it out"
            )
        if by_field is not None and by_field.name in ("bucket", "count"):
            raise InputError(
                f"by is {by_field.name!r}, which is the name of another column of the result; to_arrow can read it"
            )
        buckets = buckets_of(field, every)
        plan = self._aggregation(query, where, *([field] if by_field is None else [field, by_field]))
        return histogram(plan, field, buckets, by_field, fill=fill, max_bytes=self._max_bytes())

    def top_values(
        self, column: str, *, n: int | None = 10, query: str | None = None, where: str | None = None
    ) -> pa.Table:
        """Return the `n` most frequent values of a column: `value` and `count`, the most frequent first.

        `query` and `where` select rows as for `count`. `n=None` returns all values. Counts are exact; equal counts are
        in the order of values. A null is a value, the last one; all NaN are one value. InputError if the distinct
        values take more than `spark.indextables.aggregation.maxMemory`.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-top-values", pa.table({"host": ["db1", "web1", "db1", "db2"]}))
        >>> it.open("memory://doc-top-values").top_values("host", n=2).to_pylist()
        [{'value': 'db1', 'count': 2}, {'value': 'db2', 'count': 1}]
        """
        field, number = self._column(column, "column"), to_count(n, "n", "values")
        return top_values(self._aggregation(query, where, field), field, number, max_bytes=self._max_bytes())

    def stats(
        self, column: str, *, query: str | None = None, where: str | None = None, distinct: bool = True
    ) -> ColumnStats:
        """Return the number of values and of nulls of a column, its minimum and maximum, and the sum of numbers.

        `query` and `where` select rows as for `count`. The figures are exact. The distinct values are counted in
        memory: InputError if they take more than `spark.indextables.aggregation.maxMemory`. `distinct=False` does not
        count them.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-stats", pa.table({"ms": [3, 12, None, 3]}))
        >>> it.open("memory://doc-stats").stats("ms")
        ColumnStats(count=3, nulls=1, distinct=2, min=3, max=12, sum=18, mean=6.0)
        """
        field, distinct = self._column(column, "column"), check_flag(distinct, "distinct")
        plan = self._aggregation(query, where, field)
        return column_stats(plan, field, distinct=distinct, max_bytes=self._max_bytes())

    def __len__(self) -> int:
        """Return the number of rows.

        >>> import indextables as it, pyarrow as pa
        >>> _ = it.write("memory://doc-len", pa.table({"n": [1, 2]}))
        >>> len(it.open("memory://doc-len"))
        2
        """
        return self.count()

    def __bool__(self) -> bool:
        """Return True: a table is there, whether it has rows or not."""
        return True

    def _column(self, name: str, argument: str) -> Field:
        if not isinstance(name, str):
            raise InputError(f"{argument} is {name!r}; it takes the name of a column")
        return check_values(self._snapshot.schema.field(name))

    def _max_bytes(self) -> int:
        return self._settings.get(keys.AGGREGATION_MAX_MEMORY)

    def _aggregation(self, query: str | None, where: str | None, *columns: Field) -> ScanPlan:
        """Plan a scan of these columns, of the rows that `count` counts."""
        request = ScanRequest(tuple(column.name for column in columns), self._condition(query, where))
        return self._plan(request, ANY_FIELDS)
