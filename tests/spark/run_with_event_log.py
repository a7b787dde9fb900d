"""Uses tables with a canary in every secret setting, in a session with an event log, and keeps all that Spark says.

    run_with_event_log.py <directory>

Everything is below the directory then: the event log, plans and errors, and the tables. The driver's log is stderr.
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from indextables.config import keys
from indextables.spark import configure, redaction

SECRETS = {
    f"{family.prefix}{name}": f"canary-{name}"
    for family in (keys.AWS, keys.AZURE)
    for name in sorted(family.members or ())
    if not family.may_show(name)
}
UNKNOWN = "spark.indextables.unheard.of"


def main() -> None:
    directory = Path(sys.argv[1])
    (directory / "events").mkdir()
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.codegen.wholeStage", "false")  # to compile a query takes longer than to run it
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", str(directory / "events"))
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.redaction.regex", "mine[.]own")
        .config("mine.own.key", "canary-of-the-user")
        .config("spark.mine.own.key", "canary-of-the-user")
        .config(UNKNOWN, "1")
    )
    for key, value in SECRETS.items():
        builder = builder.config(key, f"{value}-of-the-session")
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("INFO")
    said = [] if len(SECRETS) >= 8 else ["too few secrets"]
    said += _defaults(spark)
    path = str(directory / "table")
    rows = spark.range(100).selectExpr("id", "concat('words of ', id) AS message")
    options = {key: f"{value}-of-an-option" for key, value in SECRETS.items()}

    def write(mode: str, frame=rows, at=path):
        frame.write.format("indextables").mode(mode).options(**options).save(at)

    def read(at=path, **more):
        by_tasks = {"spark.indextables.read.answerOnDriver.maxRows": "0"}
        return spark.read.format("indextables").options(**options, **by_tasks, **more).load(at)

    write("append")
    write("overwrite")
    assert read().filter("id > 5").count() == 94
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        read().filter("id > 5").explain(mode="extended")
        read().explain(mode="formatted")
    said.append(printed.getvalue())
    read().createOrReplaceTempView("logs")
    named = ", ".join(f"`{key}` '{value}'" for key, value in options.items())
    for sql in (
        "EXPLAIN EXTENDED SELECT * FROM logs WHERE id = 3",
        f"EXPLAIN EXTENDED SELECT * FROM indextables.`{path}`",
        f"EXPLAIN EXTENDED INSERT INTO indextables.`{path}` SELECT id, 'x' FROM range(3)",
        f"INSERT INTO indextables.`{path}` SELECT id, 'x' FROM range(3)",
        f"CREATE OR REPLACE TEMPORARY VIEW by_options USING indextables OPTIONS (path '{path}', {named})",
        "EXPLAIN EXTENDED SELECT * FROM by_options",
        f"DESCRIBE INDEXTABLES TRANSACTION LOG '{path}'",
    ):
        said += [str(row) for row in spark.sql(sql).collect()]
    damaged = str(directory / "damaged")
    write("append", at=damaged)
    for split in Path(damaged).rglob("*.split"):
        split.write_bytes(b"x" * split.stat().st_size)
    for failing in (
        lambda: read(str(directory / "none")).count(),
        lambda: read(damaged).collect(),
        lambda: read(**{"spark.indextables.no.such.option": "1"}),
        lambda: write("append", spark.range(3).selectExpr("id AS other")),
        lambda: write("errorifexists"),
        lambda: write("append", spark.range(3).selectExpr("id", "raise_error('no') AS message")),
        lambda: read("s3://bucket?x/table").count(),
    ):
        try:
            said.append(f"no error but {failing()}")
        except Exception as error:
            said += [str(error), repr(error)]
    spark.stop()
    (directory / "said.txt").write_text("\n".join(said))


def _defaults(spark) -> list[str]:
    """What differs if another release of Spark redacts more by itself."""
    jvm = spark.sparkContext._jvm
    config = getattr(getattr(jvm.org.apache.spark.internal.config, "package$"), "MODULE$")
    sql = getattr(getattr(jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")
    found = {
        redaction.PROPERTIES: config.SECRET_REDACTION_PATTERN().defaultValueString(),
        redaction.OPTIONS: sql.SQL_OPTIONS_REDACTION_PATTERN().defaultValueString(),
    }
    known = {key: set(pattern.split("|")) for key, pattern in redaction.SPARKS_OWN.items()}
    more = {key: pattern for key, pattern in found.items() if not set(pattern.split("|")) <= known[key]}
    return [f"Spark redacts by default: {more}"] if more else []


if __name__ == "__main__":
    main()
