"""The same rows as a search table and as Parquet: writing them, searching them, scanning them, through Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from bench.measure import Comparison, Timing, timed, timed_in_turns
from indextables.demo import BROAD_WORD, RARE_WORD

SCANNED = ["timestamp", "service", "message"]
WARM_UP_SECONDS = 10.0
"""How long each query of either side runs before it is timed: one run of a short one leaves the JVM cold."""
LEAST_OF_GROUPING: Final = 3.0
"""GROUP BY after a search is to be so many times as fast as by reading the rows."""
_ONE_TASK: Final = (
    "what is left is the fixed cost of planning in Python and of a Spark job, which both sides have"
)
_NO_CHECK: Final = "Parquet needs no planning in Python, and its column is scanned while it is small"
_ALL_MATCHES: Final = (
    "the columns to order by are read for every row that matches, by Python; Parquet is read in the JVM"
)


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
    """Counting, grouping and ranking the rows of a search, warm: with aggregates pushed down, without, and on Parquet.

    `judged` sets the goal of GROUP BY: a table of few rows spends its time in the fixed cost of a Spark job.
    """
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
                Comparison(
                    f"search 10% of rows: {what}",
                    mine,
                    name,
                    its,
                    at_least=LEAST_OF_GROUPING if is_goal else None,
                    reason=_ONE_TASK if name == "without push-down" else _NO_CHECK,
                )
            )
    return found + top(pair, sources, repeat=repeat, warm_up=warm_up)


def top(pair: Pair, sources: dict[str, str], *, repeat: int, warm_up: float) -> list[Comparison]:
    """The first ten rows of a search: by relevance, for which Parquet has nothing; and by an order that it has too.

    The order is total over what is selected, so that both sides have the same ten rows.
    """
    ordered = "SELECT timestamp, service, message FROM {} ORDER BY timestamp DESC, service, message LIMIT 10"
    ranked = "SELECT service, _score FROM {} ORDER BY _score DESC LIMIT 10"
    asked = {
        "newest": ordered.format(sources["ours"]),
        "the same 10 rows of Parquet": ordered.format(sources["Parquet"]),
        "best": ranked.format(sources["ours"]),
        "any 10 rows of Parquet": f"SELECT service FROM {sources['Parquet']} LIMIT 10",
    }
    rows = {name: pair.spark.sql(text).collect() for name, text in asked.items()}
    if rows["newest"] != rows["the same 10 rows of Parquet"]:
        raise AnswersDifferError(
            f"the 10 newest rows: {rows['newest']}, {rows['the same 10 rows of Parquet']}"
        )
    if len(rows["best"]) != len(rows["any 10 rows of Parquet"]):
        raise AnswersDifferError(
            f"{len(rows['best'])} best rows, {len(rows['any 10 rows of Parquet'])} any rows"
        )
    queries = [_query(pair.spark, text, _collect) for text in asked.values()]
    newest, same, best, anything = timed_in_turns(queries, repeat=repeat, warm_up_seconds=warm_up)
    names = list(asked)
    note = "Parquet has no relevance: it stops at the first ten rows that match"
    return [
        Comparison("search 10% of rows: the 10 newest", newest, names[1], same, reason=_ALL_MATCHES),
        Comparison(
            "search 10% of rows: the 10 best, of all splits", best, names[3], anything, note, reason=note
        ),
    ]


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
