"""The same rows as a search table and as Parquet: writing them, searching them, scanning them, through Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.measure import Comparison, Timing, timed, timed_in_turns
from indextables.demo import BROAD_WORD, RARE_WORD

SCANNED = ["timestamp", "service", "message"]
WARM_UP_SECONDS = 10.0
"""How long each query of either side runs before it is timed: one run of a short one leaves the JVM cold."""


class AnswersDifferError(Exception):
    """The two sides do not agree, so their times mean nothing."""


@dataclass(frozen=True)
class Pair:
    """Where the two forms of the data set are."""

    spark: SparkSession
    ours: Path
    parquet: Path

    def read_ours(self) -> DataFrame:
        return self.spark.read.format("indextables").load(str(self.ours))

    def read_parquet(self) -> DataFrame:
        return self.spark.read.parquet(str(self.parquet))


def write(
    pair: Pair, rows: DataFrame, sample: DataFrame, *, count: int, mb: float, repeat: int
) -> list[Comparison]:
    """Writing the cached `rows` both ways. `sample` warms both writers up."""

    def ours(source: DataFrame) -> None:
        source.write.format("indextables").mode("overwrite").option(
            "spark.indextables.indexing.typemap.message", "text"
        ).save(str(pair.ours))

    def parquet(source: DataFrame) -> None:
        source.write.mode("overwrite").parquet(str(pair.parquet))

    cores = pair.spark.sparkContext.defaultParallelism
    timings = []
    for path, action in ((pair.ours, ours), (pair.parquet, parquet)):
        action(sample)
        runs: list[float] = []
        for _ in range(repeat):
            shutil.rmtree(path)
            runs += timed(partial(action, rows), repeat=1, warm_up=0).runs
        timings.append(Timing(tuple(runs)))
    mine, its = timings
    note = " against ".join(
        f"{count / t.median / cores:,.0f} rows/s and {mb / t.median / cores:.1f} MB/s a core"
        for t in (mine, its)
    )
    return [Comparison("write, all columns, message as text", mine, "Parquet", its, note)]


def search(
    pair: Pair, *, repeat: int, judged: bool = True, warm_up: float = WARM_UP_SECONDS
) -> list[Comparison]:
    """One word in 0.01% and one in 10% of the rows: the matching rows, and how many there are.

    The few rows of the first are asked for as people do, who want to see them, and as jobs do, which go on with them.
    """
    names = ", ".join(SCANNED)
    collected, computed, counted = (
        ("rows, collected", names, _collect),
        ("rows, computed", names, _drain),
        ("count", "count(*)", _collect),
    )
    found = []
    for share, word, questions in (
        ("0.01%", RARE_WORD, (collected, computed, counted)),
        ("10%", BROAD_WORD, (computed, counted)),
    ):
        searching = f"SELECT {{}} FROM indextables.`{pair.ours}` WHERE message TEXTSEARCH '{word}'"
        likes = {
            "LIKE on Parquet": f"SELECT {{}} FROM parquet.`{pair.parquet}` WHERE message LIKE '%{word}%'",
            "rlike on Parquet": f"SELECT {{}} FROM parquet.`{pair.parquet}` WHERE message RLIKE '\\\\b{word}\\\\b'",
        }
        for other in likes.values():
            _same(pair.spark, searching, other)
        for what, columns, run in questions:
            queries = [_query(pair.spark, text.format(columns), run) for text in (searching, *likes.values())]
            mine, *theirs = timed_in_turns(queries, repeat=repeat, warm_up_seconds=warm_up)
            goal = 10.0 if judged and word == RARE_WORD and what != "count" else None
            found += [
                Comparison(f"search {share} of rows: {what}", mine, name, its, at_least=goal)
                for name, its in zip(likes, theirs, strict=True)
            ]
    return found


def aggregate(
    pair: Pair, *, repeat: int, judged: bool = True, warm_up: float = WARM_UP_SECONDS
) -> list[Comparison]:
    """Counting, grouping and ranking the rows of a search, with aggregates pushed down and without, and on Parquet."""
    reader = pair.spark.read.format("indextables").option("spark.indextables.read.aggregatePushdown", "false")
    reader.load(str(pair.ours)).createOrReplaceTempView("rows_only")
    sources = {
        "ours": f"indextables.`{pair.ours}` WHERE message TEXTSEARCH '{BROAD_WORD}'",
        "without push-down": f"rows_only WHERE message TEXTSEARCH '{BROAD_WORD}'",
        "Parquet": f"parquet.`{pair.parquet}` WHERE message RLIKE '\\\\b{BROAD_WORD}\\\\b'",
    }
    day = "indextables_date_histogram(timestamp, '1d')"
    questions = {
        "count": "SELECT count(*) FROM {}",
        "GROUP BY service": "SELECT service, count(*), avg(status), max(timestamp) FROM {} GROUP BY service",
        "day histogram": f"SELECT {day}, count(*) FROM {{}} GROUP BY {day}",
    }
    found = []
    for what, text in questions.items():
        asked = [_query(pair.spark, text.format(source), _collect) for source in sources.values()]
        rows = [
            sorted(map(repr, pair.spark.sql(text.format(source)).collect())) for source in sources.values()
        ]
        if rows[0] != rows[1] or rows[0] != rows[2]:
            raise AnswersDifferError(f"{what}: {[part[:3] for part in rows]}")
        mine, *theirs = timed_in_turns(asked, repeat=repeat, warm_up_seconds=warm_up)
        for name, its in zip(list(sources)[1:], theirs, strict=True):
            is_goal = judged and what == "GROUP BY service" and name == "without push-down"
            found.append(
                Comparison(f"search 10% of rows: {what}", mine, name, its, at_least=3.0 if is_goal else None)
            )
    ranked = "SELECT service, _score FROM {} ORDER BY _score DESC LIMIT 10"
    best, of_parquet = timed_in_turns(
        [
            _query(pair.spark, ranked.format(sources["ours"]), _collect),
            _query(pair.spark, f"SELECT service FROM {sources['Parquet']} LIMIT 10", _collect),
        ],
        repeat=repeat,
        warm_up_seconds=warm_up,
    )
    name = "any 10 rows of Parquet"
    return [*found, Comparison("search 10% of rows: the 10 best, of all splits", best, name, of_parquet)]


def scan(pair: Pair, *, repeat: int, warm_up: float = WARM_UP_SECONDS) -> list[Comparison]:
    scans = [
        lambda: _drain(pair.read_ours().select(*SCANNED)),
        lambda: _drain(pair.read_parquet().select(*SCANNED)),
    ]
    mine, its = timed_in_turns(scans, repeat=repeat, warm_up_seconds=warm_up)
    return [Comparison(f"scan of {', '.join(SCANNED)}", mine, "Parquet", its, at_least=0.5)]


def _query(spark: SparkSession, query: str, run: Callable[[DataFrame], object]) -> Callable[[], object]:
    return lambda: run(spark.sql(query))


def _collect(frame: DataFrame) -> object:
    return frame.collect()


def _drain(frame: DataFrame) -> None:
    """Every row computed and thrown away, on the executors."""
    frame.write.format("noop").mode("overwrite").save()


def _same(spark: SparkSession, ours: str, other: str) -> None:
    """Equal as bags of rows, by number and by an order-free sum of hashes over every scanned column."""
    fingerprint = f"count(*), sum(xxhash64({', '.join(SCANNED)}) % 1000000007)"
    answers = [spark.sql(query.format(fingerprint)).collect() for query in (ours, other)]
    if answers[0] != answers[1]:
        raise AnswersDifferError(
            f"{ours.format('*')} gives {answers[0]}, {other.format('*')} gives {answers[1]}"
        )
