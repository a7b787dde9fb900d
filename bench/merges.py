"""Merging: what it costs next to indexing the same rows, and what it does for searches of many small appends."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

import indextables as it
from bench.earlier import EARLIER_BUILDER, earlier_builder
from bench.measure import Comparison, Timing
from indextables.config import Settings
from indextables.demo import BROAD_WORD, log_batch
from indextables.schema import FieldMapping, TableSchema
from indextables.split import FinishedSplit, MergeSource, SplitWriter, merge_splits
from indextables.storage import open_store

SPLITS: Final = 64
ROWS_A_SPLIT: Final = 2_500
APPENDS: Final = 200
ROWS_AN_APPEND: Final = 100
MOST_OF_INDEXING: Final = 0.65
"""A merge is to take at most this share of the CPU time that indexing its rows took before there were merges."""
MOST_OF_FRESH: Final = 1.2
"""A search of a merged table is to take at most so many times as long as one of a table written at once."""

Say = Callable[[str], None]

_NOT_MERGED: Final = {"spark.indextables.mergeOnWrite.enabled": "false"}
_TEXT: Final = "message"


class WrongAnswerError(Exception):
    """A merge did not do what is measured, so its times mean nothing."""


def measure(
    home: Path,
    say: Say,
    *,
    repeat: int,
    splits: int = SPLITS,
    rows: int = ROWS_A_SPLIT,
    appends: int = APPENDS,
) -> list[Comparison]:
    say(f"merging {splits} splits of {rows:,} rows")
    found = cpu(home / "merge-cpu", say, splits=splits, rows=rows, repeat=min(repeat, 3))
    say(f"searching after {appends} appends of {ROWS_AN_APPEND} rows, before and after a merge")
    return [*found, *searches(home / "merge-search", appends=appends, repeat=repeat)]


def cpu(home: Path, say: Say, *, splits: int, rows: int, repeat: int) -> list[Comparison]:
    """The CPU time of a linked merge, and that of indexing the same rows as one split: today, and before merges."""
    batches = [log_batch(0, rows, seed=number) for number in range(splits)]
    schema = TableSchema.from_arrow(batches[0].schema)
    mapping = FieldMapping.of(schema, (), {_TEXT: "text"})

    def index(of: Sequence[pa.RecordBatch], directory: Path) -> FinishedSplit:
        writer = SplitWriter(schema, mapping, settings=Settings(), directory=directory)
        for batch in of:
            writer.write(batch)
        return writer.finish()

    sources = []
    for batch in batches:
        split = index([batch], home / "sources")
        store = open_store(str(split.path.parent))
        sources.append(MergeSource(store, split.path.name, split.size, split.num_records))

    def merge() -> None:
        merged = merge_splits(
            sources, mapping=mapping, schema=schema, settings=Settings(), directory=home / "merged"
        )
        if (merged.method, merged.num_records) != ("linked", splits * rows):
            raise WrongAnswerError(f"{merged.num_records} rows, {merged.method}: {merged.reason}")
        merged.path.unlink()

    def index_again() -> None:
        index(batches, home / "indexed").path.unlink()

    earlier_runs: list[float] = []
    with earlier_builder(EARLIER_BUILDER, home, batches, _TEXT) as earlier:

        def index_as_earlier() -> None:
            if earlier is None:
                return
            count, seconds = earlier.index()
            if count != splits * rows:
                raise WrongAnswerError(f"{EARLIER_BUILDER} has indexed {count} rows of {splits * rows}")
            earlier_runs.append(seconds)

        (ours, theirs, _), _ = _in_turns([merge, index_again, index_as_earlier], repeat=repeat)
    what = f"CPU of merging {splits} splits, {splits * rows:,} rows"
    share = f"{ours.best / theirs.best:.2f} of the CPU time of indexing today"
    found = [Comparison(what, ours, "indexing the rows", theirs, share, by_best=True)]
    shutil.rmtree(home)
    if not earlier_runs:
        say(f"commit {EARLIER_BUILDER} is not in this checkout: merging is not compared with its builder")
        return found
    before = Timing(tuple(earlier_runs))
    share = f"{ours.best / before.best:.2f} of the CPU time of indexing before there were merges"
    goal = f"{share}; the goal is at most {MOST_OF_INDEXING}"
    other = f"indexing at {EARLIER_BUILDER}"
    judged = Comparison(what, ours, other, before, goal, at_least=1 / MOST_OF_INDEXING, by_best=True)
    return [*found, judged]


def searches(home: Path, *, appends: int, repeat: int) -> list[Comparison]:
    """A first and a warm search of the same rows: in many small splits, merged, and written at once."""
    small, merged, fresh = (str(home / name) for name in ("small", "merged", "fresh"))
    batches = [
        pa.Table.from_batches([log_batch(0, ROWS_AN_APPEND, seed=number)]) for number in range(appends)
    ]
    for batch in batches:
        it.write(small, batch, text=[_TEXT], settings=_NOT_MERGED)
    shutil.copytree(small, merged)
    it.open(merged).merge_splits()
    it.write(fresh, pa.concat_tables(batches), text=[_TEXT], settings=_NOT_MERGED)
    files = [it.open(path).files().num_rows for path in (small, merged, fresh)]
    if files != [appends, 1, 1]:
        raise WrongAnswerError(f"there are {files} splits before, after and in the fresh table")
    answers = {it.open(path).count(BROAD_WORD) for path in (small, merged, fresh)}
    if len(answers) != 1:
        raise WrongAnswerError(f"the tables have {answers} rows with the word")

    def search(path: str) -> Callable[[], object]:
        return lambda: it.open(path).search(BROAD_WORD, limit=10)

    def first(path: str) -> Callable[[], object]:
        def run() -> None:
            it.flush_caches(path)
            it.open(path).invalidate_cache()
            search(path)()

        return run

    compared = []
    for name, of, rounds in (("first", first, 4), ("warm", search, 20)):
        # A search of many splits takes long: a few runs of it are enough, and the other two are compared closely.
        many = _in_turns([of(small)], repeat=repeat)
        few = _in_turns([of(merged), of(fresh)], repeat=rounds * repeat)
        for kind, (before,), (after, at_once) in zip(("CPU", "wall time"), many, few, strict=True):
            what = f"{kind} of a {name} search, {appends} appends merged"
            share = after.best / at_once.best
            compared += [
                Comparison(what, after, f"{appends} splits", before, by_best=True),
                Comparison(
                    what,
                    after,
                    "written at once",
                    at_once,
                    f"{share:.2f} times that of a fresh table; the goal is at most {MOST_OF_FRESH}",
                    at_least=1 / MOST_OF_FRESH,
                    by_best=True,
                ),
            ]
    shutil.rmtree(home)
    return compared


def _in_turns(actions: Sequence[Callable[[], object]], *, repeat: int) -> tuple[list[Timing], list[Timing]]:
    """The CPU time of all threads of this process, and the wall time, in rounds: other load disturbs all alike."""
    cpu: list[list[float]] = [[] for _ in actions]
    wall: list[list[float]] = [[] for _ in actions]
    for _ in range(repeat):
        for action, cpu_runs, wall_runs in zip(actions, cpu, wall, strict=True):
            began_cpu, began = time.process_time(), time.perf_counter()
            action()
            cpu_runs.append(time.process_time() - began_cpu)
            wall_runs.append(time.perf_counter() - began)
    return [Timing(tuple(runs)) for runs in cpu], [Timing(tuple(runs)) for runs in wall]
