"""The demo: write half a million log rows to a search table with Spark, then query it. `make demo` runs it."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from report import Report
from rich.panel import Panel

import indextables as it
from indextables.demo import RARE_WORD, local_session, log_dataframe, log_table

HOME = Path(__file__).resolve().parent.parent / "demo-data"

HISTORY = ("version", "timestamp", "operation", "engine", "files_added", "files_removed", "rows_added")
TEAMS = {
    "storefront": ["api-gateway", "cart", "catalog", "search", "recommender"],
    "money": ["billing", "checkout", "payments"],
    "warehouse": ["inventory", "orders", "shipping"],
    "platform": ["auth", "mailer", "uploads"],
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=500_000, help="how many rows to index (500000)")
    rows = arguments.parse_args().rows
    if rows < 1:
        sys.exit("--rows takes a number above zero")

    started = time.perf_counter()
    report = Report()
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    report.title("A search table, end to end")
    report.say("starting Spark ...")
    with report.step("start Spark"):
        spark = local_session(
            "indextables demo", HOME, memory_gb=2, options={"spark.sql.shuffle.partitions": "4"}
        )
    tour(report, spark, HOME, rows)
    summary(report, HOME, time.perf_counter() - started)
    spark.stop()


def tour(report: Report, spark: SparkSession, home: Path, rows: int) -> None:
    build(report, spark, home, rows)
    ask(report, spark, home)
    contrast(report, spark, home)
    without_spark(report, spark, home)


def build(report: Report, spark: SparkSession, home: Path, rows: int) -> None:
    table_path, parquet_path = home / "logs", home / "logs-parquet"
    logs = log_dataframe(spark, rows).cache()
    report.spark_job(spark, f"generating {rows:,} rows of logs", logs.count)
    report.spark_job(spark, "writing them as Parquet, for contrast", lambda: save_parquet(logs, parquet_path))
    report.spark_job(
        spark, "writing them as a search table, partitioned by date", lambda: save(logs, table_path)
    )
    logs.unpersist()
    table = it.open(table_path)
    files = table.files()
    report.say(
        f"  the table: {table.count():,} rows in {files.num_rows} splits, {megabytes(table_path):.0f} MB on disk"
    )
    report.say(f"  the Parquet files: {megabytes(parquet_path):.0f} MB")


def save_parquet(logs: DataFrame, path: Path) -> None:
    logs.write.mode("overwrite").partitionBy("date").parquet(str(path))


def save(logs: DataFrame, path: Path) -> None:
    (
        logs.write.format("indextables")
        .mode("overwrite")
        .partitionBy("date")
        .option("spark.indextables.indexing.typemap.message", "text")
        .save(str(path))
    )


def ask(report: Report, spark: SparkSession, home: Path) -> None:
    logs = home / "logs"
    report.sql(
        spark,
        "Ranked: the best matches first, with their score and the words that matched",
        f"""SELECT _score, service, _snippet
FROM indextables.`{logs}`
WHERE message TEXTSEARCH 'timeout AND (db OR cache)'
ORDER BY _score DESC
LIMIT 5""",
    )
    report.sql(
        spark,
        "Boolean: declined payments, but not those that smell of fraud",
        f"""SELECT timestamp, service, host, message
FROM indextables.`{logs}`
WHERE message TEXTSEARCH 'declined AND (stripe OR adyen) AND NOT fraud' AND date = '2026-03-05'
ORDER BY timestamp
LIMIT 5""",
    )
    report.sql(
        spark,
        "Phrase: words next to each other",
        f"""SELECT service, count(*) AS messages, min(timestamp) AS first, max(timestamp) AS last
FROM indextables.`{logs}`
WHERE message TEXTSEARCH '"connection reset by peer"'
GROUP BY service
ORDER BY messages DESC
LIMIT 5""",
    )
    report.sql(
        spark,
        "Filter, search and aggregate in one query",
        f"""SELECT date, service, count(*) AS timeouts, avg(duration_ms) AS avg_ms, max(duration_ms) AS max_ms
FROM indextables.`{logs}`
WHERE level = 'ERROR' AND status >= 500 AND date >= '2026-03-05' AND message TEXTSEARCH 'timeout'
GROUP BY date, service
ORDER BY timeouts DESC
LIMIT 5""",
    )
    owners = [(service, team) for team, services in TEAMS.items() for service in services]
    spark.createDataFrame(owners, "service string, team string").createOrReplaceTempView("owners")
    report.sql(
        spark,
        "Join: who has to get up tonight",
        f"""SELECT team, count(*) AS alarms, count(DISTINCT host) AS hosts
FROM indextables.`{logs}` JOIN owners USING (service)
WHERE message TEXTSEARCH 'deadlock OR "out of memory" OR unreachable'
GROUP BY team
ORDER BY alarms DESC""",
    )


def contrast(report: Report, spark: SparkSession, home: Path) -> None:
    logs, parquet = home / "logs", home / "logs-parquet"
    report.title("The same questions, with LIKE over Parquet")
    questions = [
        ("one row in 10,000", f"TEXTSEARCH '{RARE_WORD}'", f"LIKE '%{RARE_WORD}%'"),
        ("a phrase", "TEXTSEARCH '\"deadlock detected\"'", "LIKE '%deadlock detected%'"),
        ("a word in every tenth row", "TEXTSEARCH 'cache'", "LIKE '%cache%'"),
    ]
    select = "SELECT count(*), max(timestamp), max(host)"
    lines = []
    for what, search, like in questions:
        found, searching = timed(spark, f"{select} FROM indextables.`{logs}` WHERE message {search}")
        scanned, scanning = timed(spark, f"{select} FROM parquet.`{parquet}` WHERE message {like}")
        lines.append(
            {
                "question": what,
                "search": search,
                "rows": found[0],
                "search s": searching,
                "LIKE s": scanning,
                "same answer": "yes" if found == scanned else "NO",
            }
        )
        report.steps.append((f"contrast: {what}", searching + scanning))
    report.rows(lines)
    report.say(
        "[dim]the better of two runs each. A scan takes longer as the table grows, a selective search hardly;"
        " `make bench` compares them at 5 million rows"
    )


def timed(spark: SparkSession, query: str) -> tuple[tuple[object, ...], float]:
    times = []
    for _ in range(2):
        started = time.perf_counter()
        answer = tuple(spark.sql(query).collect()[0])
        times.append(time.perf_counter() - started)
    return answer, min(times)


def without_spark(report: Report, spark: SparkSession, home: Path) -> None:
    logs = home / "logs"
    report.title("The same table from plain Python")
    report.code(
        f"""import indextables as it
it.write({str(logs)!r}, log_table(1000, seed=8))      # append: one more version
t = it.open({str(logs)!r})
t.search("message:(deadlock AND payments)", limit=3, columns=["service"], snippet="message")""",
        "python",
    )
    with report.step("append and search in plain Python"):
        it.write(logs, log_table(1000, seed=8))
        table = it.open(logs)
        best = table.search(
            "message:(deadlock AND payments)", limit=3, columns=["service"], snippet="message"
        )
    report.rows(best.to_pylist())
    report.say(f"[dim]{best.num_rows} rows in {report.steps[-1][1]:.2f} s, the append among it")
    report.sql(spark, "Spark sees the appended rows", f"SELECT count(*) AS rows FROM indextables.`{logs}`")
    report.title("The history of the table")
    report.rows([{name: row[name] for name in row if name in HISTORY} for row in table.history().to_pylist()])


def summary(report: Report, home: Path, seconds: float) -> None:
    report.title("What took how long")
    report.rows([{"step": what, "seconds": took} for what, took in report.steps])
    report.say("")
    report.console.print(
        Panel(
            f"[bold]{seconds:.0f} s in all.[/] The table is in [bold]{home / 'logs'}[/],\n"
            f"with its Parquet copy and Spark's log in the same directory. The next run overwrites them.\n"
            f"Look at it in a browser: [bold]{Path(sys.executable).parent / 'indextables'} ui {home / 'logs'}[/]",
            title="done",
            expand=False,
        )
    )


def megabytes(directory: Path) -> float:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
