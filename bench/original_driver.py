"""The same operations on the same Parquet rows, by IndexTables for Spark or by this package: one process each.

`original_driver.py <JSON>`: the argument says which side, where its jar, the rows and a directory for its tables are,
and how often each query runs. It prints one line of JSON. It needs nothing but PySpark, and for our side this package.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.functions import count, lit, pmod, xxhash64
from pyspark.sql.functions import sum as sum_of

FORMATS: Final = {"ours": "indextables", "original": "io.indextables.provider.IndexTablesProvider"}
EXTENSIONS: Final = "io.indextables.extensions.IndexTablesSparkExtensions"
TEXT: Final = {"spark.indextables.indexing.typemap.message": "text"}
GROUPED: Final = {"spark.indextables.indexing.fastfields": "service,pid"}
"""What the original needs to group by these columns. Ours needs nothing."""

COMPLETE: Final = {"spark.indextables.read.mode": "complete"}
LIMIT: Final = "spark.indextables.read.defaultLimit"
"""Without these, the original returns at most 250 rows of each split for a search without LIMIT. They are set in the
session: it does not find the second one among the options of a reader, where Spark makes names lower-case."""

COLUMNS: Final = ("timestamp", "service", "message")
APPENDS: Final = 8


class Driver:
    """Does the operations of one side in a session, and keeps what each cost and answered."""

    def __init__(self, spark: SparkSession, asked: dict[str, Any]) -> None:
        self.spark = spark
        self.side: str = asked["side"]
        self.repeat: int = asked["repeat"]
        self.appends: int = asked.get("appends", APPENDS)
        self.words: dict[str, str] = asked["words"]
        self.home = Path(asked["home"])
        self.rows = spark.read.parquet(asked["rows"])
        self.found: dict[str, dict[str, Any]] = {}

    def run(self) -> dict[str, dict[str, Any]]:
        """Do everything. An operation that fails is recorded with its error, and the others follow."""
        self._record("write", self._write)
        self._record("bytes on disk", self._bytes)
        complete = COMPLETE | {LIMIT: str(self.rows.count())} if self.side == "original" else {}
        for key, value in complete.items():
            self.spark.conf.set(key, value)
        self._view()
        many, few = self.words["many"], self.words["few"]
        counting = f"SELECT count(*) FROM t WHERE message indexquery '{many}'"
        self._record("count, cold", lambda: self._ask(counting, repeat=1))
        self._record("count, warm", lambda: self._ask(counting))
        for name, word in (("search of few rows", few), ("search of many rows", many)):
            self._record(name, lambda word=word: self._rows(word))  # type: ignore[misc]
        grouping = (
            f"SELECT service, count(*), sum(pid) FROM t WHERE message indexquery '{many}' GROUP BY service"
        )
        self._record("GROUP BY after a search", lambda: self._ask(grouping))
        self._record("merge", self._merge)
        for key in complete:
            self.spark.conf.unset(key)
        self._view()
        self._record("search of many rows, default settings", lambda: self._rows(many))
        return self.found

    def _record(self, name: str, action: Callable[[], dict[str, Any]]) -> None:
        try:
            self.found[name] = action()
        except Exception as error:  # noqa: BLE001 - any error of any side is a result here
            self.found[name] = {"error": _text(error)}

    def _save(self, frame: DataFrame, path: Path, mode: str) -> None:
        options = TEXT | (GROUPED if self.side == "original" else {})
        frame.write.format(FORMATS[self.side]).mode(mode).options(**options).save(str(path))

    def _write(self) -> dict[str, Any]:
        """Write the rows `repeat` times, after a few of them elsewhere, which warms the writer up."""
        self._save(self.rows.limit(1000), self.home / "warm-up", "append")
        seconds = []
        for _ in range(self.repeat):
            shutil.rmtree(self.home / "table", ignore_errors=True)
            seconds.append(self._seconds(lambda: self._save(self.rows, self.home / "table", "append")))
        return {"seconds": seconds}

    def _bytes(self) -> dict[str, Any]:
        files = [path for path in (self.home / "table").rglob("*") if path.is_file()]
        if not files:
            raise FileNotFoundError("nothing was written")
        return {"bytes": sum(path.stat().st_size for path in files)}

    def _view(self) -> None:
        """Name the table `t`, as the session's settings read it."""
        try:
            reader = self.spark.read.format(FORMATS[self.side])
            reader.load(str(self.home / "table")).createOrReplaceTempView("t")
        except Exception as error:  # noqa: BLE001 - as above; what reads the view then fails too
            self.found["reading"] = {"error": _text(error)}

    def _ask(self, query: str, repeat: int | None = None) -> dict[str, Any]:
        """Collect an answer of few rows, in no order."""
        answers: list[list[Any]] = []
        seconds = [
            self._seconds(lambda: answers.append(self.spark.sql(query).collect()))
            for _ in range(repeat or self.repeat)
        ]
        values = sorted(repr([str(value) for value in row]) for row in answers[-1])
        return {"seconds": seconds, "rows": len(values), "hash": "\n".join(values)}

    def _rows(self, word: str) -> dict[str, Any]:
        """Compute the rows of a search on the executors; a sum of hashes is the same in any order."""
        seconds, counts = [], {}
        for _ in range(self.repeat):
            seen = Observation()
            frame = self.spark.sql(f"SELECT {', '.join(COLUMNS)} FROM t WHERE message indexquery '{word}'")
            hashed = sum_of(pmod(xxhash64(*COLUMNS), lit(1_000_000_007)))
            observed = frame.observe(seen, count(lit(1)).alias("rows"), hashed.alias("hash"))
            seconds.append(
                self._seconds(lambda rows=observed: rows.write.format("noop").mode("overwrite").save())  # type: ignore[misc]
            )
            counts = seen.get
        return {"seconds": seconds, "rows": counts["rows"], "hash": str(counts["hash"])}

    def _merge(self) -> dict[str, Any]:
        """Merge what several appends wrote: once, as there is nothing left to merge after it."""
        path = self.home / "appends"
        for part in self.rows.limit(self.appends * 10_000).randomSplit([1.0] * self.appends, seed=7):
            self._save(part.coalesce(1), path, "append")
        seconds = self._seconds(lambda: self.spark.sql(f"MERGE SPLITS '{path}' TARGET SIZE 1G").collect())
        frame = self.spark.read.format(FORMATS[self.side]).load(str(path))
        return {"seconds": [seconds], "rows": frame.count()}

    @staticmethod
    def _seconds(action: Callable[[], object]) -> float:
        started = time.perf_counter()
        action()
        return time.perf_counter() - started


def _text(error: Exception) -> str:
    """Return the type of an error and its message, without the trace of a JVM."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("\tat ")]
    return f"{type(error).__name__}: {' '.join(lines)}"[:300]


def session(asked: dict[str, Any]) -> SparkSession:
    """Start a session of one side on two cores of this machine, reachable from this machine only."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName(f"bench {asked['side']}")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", f"{asked['home']}/warehouse")
        .config("spark.indextables.mergeOnWrite.enabled", "false")
    )
    if asked["side"] == "ours":
        from indextables.spark import configure  # noqa: PLC0415 - not in the environment of the other side

        return configure(builder).getOrCreate()
    builder = builder.config("spark.jars", asked["jar"]).config("spark.driver.extraClassPath", asked["jar"])
    return builder.config("spark.sql.extensions", EXTENSIONS).getOrCreate()


def main() -> None:
    asked = json.loads(sys.argv[1])
    spark = session(asked)
    found = Driver(spark, asked).run()
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
