"""The search, once through, for a process with another Spark: prints what failed, and "passed" if nothing did."""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import indextables as it
from indextables.spark import configure

MOST = "spark.indextables.read.answerOnDriver.maxRows"


def main(directory: Path, release: str) -> None:
    assert pyspark.__version__.startswith(release), pyspark.__version__
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = configure(builder.config("spark.sql.warehouse.dir", str(directory / "warehouse"))).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    path = str(directory / "logs")
    rows = [(i, ["disk full", "disk ok", None][i % 3]) for i in range(60)]
    frame = spark.createDataFrame(rows, "id long, message string").repartition(3)
    frame.write.format("indextables").option("spark.indextables.indexing.typemap.message", "text").save(path)
    for most in ("0", "2000"):
        spark.conf.set(MOST, most)
        logs = spark.read.format("indextables").load(path)
        logs.createOrReplaceTempView("logs")

        def ids(sql: str) -> list[int]:
            return [row["id"] for row in spark.sql(sql).collect()]

        full = [i for i in range(60) if i % 3 == 0]
        ok = [i for i in range(60) if i % 3 == 1]
        every = "SELECT id FROM logs WHERE"
        assert sorted(ids(f"{every} message TEXTSEARCH 'full'")) == full
        assert sorted(ids(f"{every} NOT message TEXTSEARCH 'full'")) == ok
        assert sorted(ids(f"{every} message TEXTSEARCH 'full' OR id = 1")) == sorted([*full, 1])
        assert sorted(ids(f"{every} * TEXTSEARCH 'ok' AND id > 30")) == [i for i in ok if i > 30]
        assert spark.sql("SELECT count(*) FROM logs WHERE message TEXTSEARCH 'disk'").head()[0] == 40
        best = f"{every} message TEXTSEARCH 'disk' ORDER BY _score DESC"
        pages = [i for n in range(0, 40, 10) for i in ids(f"{best} LIMIT 10 OFFSET {n}")]
        assert pages == it.open(path).search("disk", limit=None).column("id").to_pylist()
        plan = spark.sql(f"EXPLAIN {every} message TEXTSEARCH 'full'").head()[0]
        assert "message TEXTSEARCH 'full'" in plan, plan
        assert ("LocalTableScan" in plan) == (most != "0"), plan
        logs.cache()
        logs.count()
        assert logs.filter("message TEXTSEARCH 'full'").count() == 20
        logs.unpersist()
    assert spark.sql(f"DESCRIBE INDEXTABLES STATE '{path}'").count() >= 0
    assert "typemap.message" in spark.sql(f"SHOW CREATE TABLE indextables.`{path}`").head()[0]
    spark.stop()
    print("passed")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
