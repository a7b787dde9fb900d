"""Commits of one file each: how long one takes and how many fit into a second, beside `deltalake`'s.

Writers are processes on one table, on this disk and on an S3 server on this machine. Only the log is written: the
files that the commits name do not exist. Both sides do what they do by default: ours writes a state after every 10th
commit and syncs its files to the disk, theirs a checkpoint after every 100th. A commit ends with a table at its
version, from which the next one starts: ours returns it, theirs is told to catch up.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable
from deltalake.transaction import AddAction

from bench.measure import Comparison, Timing
from bench.servers import REGION, Server, seaweedfs
from indextables.config import Settings
from indextables.log import AddFile, Append, Metadata, commit, load_snapshot
from indextables.schema import TableSchema
from indextables.storage import open_store

SCHEMA = pa.schema({"id": pa.int64(), "message": pa.string()})
STATS = {"numRecords": 1000, "minValues": {"id": 0}, "maxValues": {"id": 999}, "nullCount": {"id": 0}}
RETRIES = 10_000
"""Both sides go on until they have won: a writer that gives up would only look fast."""

Access = Mapping[str, str]
WriteOne = Callable[[int], object]


class CommitsLostError(Exception):
    """A table has not as many versions as commits: the times mean nothing."""


@dataclass(frozen=True)
class Place:
    """Where the tables of one comparison are, and how either side gets there."""

    name: str
    ours: str
    delta: str
    settings: Access
    options: Access
    commits: Mapping[int, int]
    """Writers, and how many commits each makes."""


@dataclass(frozen=True)
class Race:
    """What the writers of one table measured: every commit's time, and all of them in a second."""

    latency: Timing
    per_second: float


def measure(home: Path, say: Callable[[str], None]) -> list[Comparison]:
    found = compare(on_disk(home, {1: 200, 4: 50, 16: 15}), say)
    with seaweedfs() as server:
        return found + compare(on_s3(server, {1: 60, 4: 15, 16: 5}), say)


def on_disk(home: Path, commits: Mapping[int, int]) -> Place:
    return Place("disk", str(home / "commits"), str(home / "delta"), {}, {}, commits)


def on_s3(server: Server, commits: Mapping[int, int]) -> Place:
    options = {
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret,
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_REGION": REGION,
        "AWS_ALLOW_HTTP": "true",
        "conditional_put": "etag",
    }
    return Place("S3", server.uri("commits"), server.uri("delta"), server.settings, options, commits)


def compare(place: Place, say: Callable[[str], None]) -> list[Comparison]:
    found = []
    for writers, count in place.commits.items():
        say(f"committing, {writers} writers on {place.name}")
        ours = race(write_ours, f"{place.ours}-{writers}", place.settings, writers, count)
        delta = race(write_delta, f"{place.delta}-{writers}", place.options, writers, count)
        note = f"{ours.per_second:,.1f} commits/s against {delta.per_second:,.1f}"
        name = f"commit on {place.name}, {writers} writer{'s' if writers > 1 else ''}"
        found.append(Comparison(name, ours.latency, "deltalake", delta.latency, note))
    return found


def race(begin: Callable[..., Any], uri: str, access: Access, writers: int, count: int) -> Race:
    """All writers ready before the first commit; the clock runs until the last has ended."""
    if uri.startswith("/"):
        Path(uri).mkdir(parents=True)
    versions = begin(uri, access, None)
    context = multiprocessing.get_context("forkserver")  # whose children find the imports done
    context.set_forkserver_preload(["deltalake", "indextables", "pandas"])
    pipes, processes = [], []
    for writer in range(writers):
        ours, theirs = context.Pipe()
        processes.append(
            context.Process(target=_write, args=(begin, uri, access, writer * count, count, theirs))
        )
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    for pipe in pipes:
        pipe.recv()
    started = time.perf_counter()
    for pipe in pipes:
        pipe.send("go")
    runs = [took for pipe in pipes for took in pipe.recv()]
    elapsed = time.perf_counter() - started
    for process in processes:
        process.join()
    made = begin(uri, access, None) - versions
    if made != writers * count:
        raise CommitsLostError(f"{uri} has {made} versions after {writers * count} commits")
    return Race(Timing(tuple(runs)), len(runs) / elapsed)


def _write(
    begin: Callable[..., Any], uri: str, access: Access, first: int, count: int, pipe: Connection
) -> None:
    write_one: WriteOne = begin(uri, access, first)
    pipe.send("ready")
    pipe.recv()
    runs = []
    for n in range(first, first + count):
        started = time.perf_counter()
        write_one(n)
        runs.append(time.perf_counter() - started)
    pipe.send(runs)


def write_ours(uri: str, access: Access, first: int | None) -> Any:
    """Without a first number, the table's version, made if need be; with one, what commits one file."""
    settings = Settings({**access, "spark.indextables.transaction.retry.maxAttempts": str(RETRIES)})
    store = open_store(uri, settings)
    if first is None:
        if not any(True for _ in store.list_from("")):
            metadata = Metadata("bench", TableSchema.from_arrow(SCHEMA).to_json())
            commit(store, Append((), metadata), base=None, settings=settings)
        return load_snapshot(store).version
    table = load_snapshot(store)

    def write_one(n: int) -> None:
        nonlocal table
        add = AddFile(
            f"splits/split-{n:08}.split",
            {},
            size=1_000_000,
            num_records=1000,
            min_values={"id": "0"},
            max_values={"id": "999"},
        )
        table = commit(store, Append((add,), table.metadata), base=table, settings=settings).snapshot

    return write_one


def write_delta(uri: str, access: Access, first: int | None) -> Any:
    """The same of a Delta table."""
    options = dict(access)
    if first is None:
        if not DeltaTable.is_deltatable(uri, options):
            DeltaTable.create(uri, SCHEMA, storage_options=options)
        return DeltaTable(uri, storage_options=options).version()
    table = DeltaTable(uri, storage_options=options)

    def write_one(n: int) -> None:
        add = AddAction(f"part-{n:08}.parquet", 1_000_000, {}, 0, True, json.dumps(STATS))
        table.create_write_transaction(
            [add], "append", SCHEMA, commit_properties=CommitProperties(max_commit_retries=RETRIES)
        )
        table.update_incremental()

    return write_one
