"""The same rows in Lance with a full-text index, and as Parquet for DuckDB: top-10, phrase, count, size on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import lance
import pyarrow.parquet as pq
from lance.query import PhraseQuery

import indextables as it
from bench.measure import Comparison, Timing, timed
from indextables.demo import BROAD_WORD, log_table

_PHRASE: Final = "answered 200"
"""Two words that the sample data has next to each other, in about a fifth of its messages."""

_RANKED: Final = (
    "a cost of some milliseconds that does not grow with the rows: Python plans the search from the log, asks the "
    "index, makes the scores exact over all splits, and decodes the rows of the answer; Lance does this in compiled "
    "code"
)
_UNRANKED: Final = "DuckDB does not rank: it stops at any ten rows that match"
_COUNTED: Final = "planning the count from the log in Python takes longer than the count in the index"
_SCANNED: Final = "DuckDB scans the column, which is fast while it is small"
_INDEXED: Final = "Parquet has no index: each search reads the whole column"


def measure(home: Path, say: Callable[[str], None], *, rows: int, repeat: int) -> list[Comparison]:
    """Return each question to each peer. DuckDB does not rank: its top-10 are any ten rows that match."""
    say(f"{rows:,} rows in Lance, and as Parquet for DuckDB")
    home.mkdir(parents=True)
    data = log_table(rows)
    it.write(home / "ours", data, text=["message"])
    table = it.open(home / "ours")
    dataset: Any = lance.write_dataset(data, str(home / "lance"))
    dataset.create_scalar_index("message", "INVERTED", with_position=True)
    parquet = str(home / "rows.parquet")
    pq.write_table(data, parquet, compression="zstd")
    found = _sizes(home, rows)

    def lance_rows(query: Any, **named: Any) -> Any:
        return dataset.to_table(full_text_query=query, **named)

    connection = duckdb.connect()

    def duck(columns: str, words: str, rest: str = "") -> Any:
        condition = f"regexp_matches(message, '(?i)\\b{words}\\b')"
        return connection.sql(f"SELECT {columns} FROM '{parquet}' WHERE {condition} {rest}").fetchall()

    if not table.count(f'message:"{_PHRASE}"'):
        raise AssertionError(f"no row has the phrase {_PHRASE!r}: a search for it measures nothing")
    phrase: Any = PhraseQuery(_PHRASE, "message")
    questions: list[tuple[str, tuple[str, str], Callable[[], Any], Callable[[], Any], Callable[[], Any]]] = [
        (
            f"top-10 of a word in {table.count(f'message:{BROAD_WORD}') / rows:.0%} of the rows",
            (_RANKED, _UNRANKED),
            lambda: table.search(f"message:{BROAD_WORD}", limit=10),
            lambda: lance_rows(BROAD_WORD, limit=10),
            lambda: duck("*", BROAD_WORD, "LIMIT 10"),
        ),
        (
            "top-10 of a phrase",
            (_RANKED, _UNRANKED),
            lambda: table.search(f'message:"{_PHRASE}"', limit=10),
            lambda: lance_rows(phrase, limit=10),
            lambda: duck("*", _PHRASE, "LIMIT 10"),
        ),
        (
            "count of a word",
            (_COUNTED, _SCANNED),
            lambda: table.count(f"message:{BROAD_WORD}"),
            lambda: lance_rows(BROAD_WORD, columns=["_score"], limit=rows).num_rows,
            lambda: duck("count(*)", BROAD_WORD)[0][0],
        ),
    ]
    counts = [ask() for ask in questions[-1][2:]]
    if len(set(counts)) != 1:
        raise AssertionError(f"indextables, Lance and DuckDB count {counts} rows with {BROAD_WORD!r}")
    for name, reasons, ours, *theirs in questions:
        mine = timed(ours, repeat=repeat, clock=time.process_time)
        for peer, reason, ask in zip(("Lance", "DuckDB on Parquet"), reasons, theirs, strict=True):
            its = timed(ask, repeat=repeat, clock=time.process_time)
            found.append(
                Comparison(f"{name}, CPU", mine, peer, its, at_least=1.0, by_best=True, reason=reason)
            )
    return found


def _sizes(home: Path, rows: int) -> list[Comparison]:
    """Compare the bytes on disk: of the table with its log, of Lance's data and index, and of the Parquet file."""
    ours, lance_, parquet = (_size(home / name) for name in ("ours", "lance", "rows.parquet"))
    found = []
    for name, reason, size in (("Lance, with its index", "", lance_), ("Parquet, zstd", _INDEXED, parquet)):
        note = f"{ours / rows:.1f} against {size / rows:.1f} bytes a row"
        timings = Timing((float(ours),)), Timing((float(size),))
        found.append(
            Comparison(
                f"bytes of {rows:,} rows",
                timings[0],
                name,
                timings[1],
                note,
                1.0,
                reason=reason,
                unit="bytes",
            )
        )
    return found


def _size(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())
