"""Alerts by a streaming query: failed logins that are appended to a table become rows of another. Needs Spark.

    python examples/security_alerts.py

Each call of `alert` looks once at what is new, as a scheduler would have it. With `processingTime="10 seconds"` in
place of `availableNow=True`, the query goes on.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import indextables as it
from indextables.spark import configure

LINES = [
    ("web1", "Failed password for root from 203.0.113.9 port 39257 ssh2"),
    ("web2", "Accepted password for ada from 198.51.100.7 port 50314 ssh2"),
    ("web2", "Failed password for invalid user webmaster from 203.0.113.9 port 38926 ssh2"),
]
LATER = [
    ("web2", "Connection closed by 198.51.100.7"),
    ("web1", "Failed password for root from 192.0.2.44 port 51111 ssh2"),
]


def append(path: Path, lines: list[tuple[str, str]]) -> None:
    """Append lines to a table of a system log."""
    hosts, messages = zip(*lines, strict=True)
    it.write(path, pa.table({"host": hosts, "message": messages}), text=["message"])


def announce(batch: DataFrame, number: int) -> None:
    """Print the alerts of a batch; this is the place to call a web hook."""
    for row in batch.collect():
        print(f"ALERT in batch {number}: {row['host']}: {row['message']}")


def alert(spark: SparkSession, home: Path) -> int:
    """Announce and store the failed logins that no earlier call has seen; return the number of all stored ones."""
    attempts = (
        spark.readStream.format("indextables")
        .option("query", 'message:("failed password" AND root)')
        .option("columns", "host, message")
        .load(str(home / "auth"))
    )

    def handle(batch: DataFrame, number: int) -> None:
        announce(batch, number)
        # A batch that is repeated after a crash is stored once: the table remembers the last number of this name.
        write = (
            batch.write.format("indextables").option("txnAppId", "failed logins").option("txnVersion", number)
        )
        write.mode("append").save(str(home / "alerts"))

    query = (
        attempts.writeStream.foreachBatch(handle)
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return it.open(home / "alerts").count()


def main() -> None:
    spark = configure(SparkSession.builder.master("local[2]").appName("alerts")).getOrCreate()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        append(home / "auth", LINES)
        print("alerts so far:", alert(spark, home))
        append(home / "auth", LATER)
        print("alerts so far:", alert(spark, home))


if __name__ == "__main__":
    main()
