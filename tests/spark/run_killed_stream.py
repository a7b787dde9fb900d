"""One life of a streaming query: python run_killed_stream.py DIRECTORY SEED

It reads a directory of JSON files, one in each batch, and writes them to a table. Some of its tasks fail and are run
again. It says when the session is there and when every batch is written; the test kills it at some moment.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from indextables.spark import configure


def main() -> None:
    directory, seed = Path(sys.argv[1]), int(sys.argv[2])
    builder = SparkSession.builder.master("local[1,4]").config("spark.ui.enabled", "false")
    spark = configure(builder.config("spark.sql.shuffle.partitions", "1")).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def fails_sometimes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        failure = random.Random(seed).random() < 0.3 and not (directory / f"failed-{seed}").exists()
        yield from batches
        if failure:
            (directory / f"failed-{seed}").touch()
            raise RuntimeError("a task fails after it has its rows")

    rows = spark.readStream.schema("id long, day string").option("maxFilesPerTrigger", 1)
    frame = rows.json(str(directory / "in")).mapInArrow(fails_sometimes, "id long, day string")
    print("ready", flush=True)
    query = (
        frame.writeStream.format("indextables")
        .option("checkpointLocation", str(directory / "checkpoint"))
        .partitionBy("day")
        .trigger(availableNow=True)
        .start(str(directory / "table"))
    )
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main()
