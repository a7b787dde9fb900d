"""Opening a table that has many version files and neither a state nor, for `deltalake`, a checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from deltalake import DeltaTable

import indextables as it
from bench.log.commits import SCHEMA, STATS
from bench.measure import Comparison, Timing, timed
from indextables.log import Action, AddFile, CommitInfo, Metadata, Protocol, encode_version, version_key
from indextables.log.snapshots import cache
from indextables.schema import TableSchema

VERSIONS = (10, 1_000, 10_000)
ADDS = 100_000
CPU_GOAL = 1.2
"""Opening a log of JSON adds may take at most this many times the CPU time of `deltalake`."""


def measure(
    home: Path, say: Callable[[str], None], *, repeat: int, sizes: Iterable[int] = VERSIONS
) -> list[Comparison]:
    """Compare opening a table by its number of version files."""
    comparisons = []
    for versions in sizes:
        say(f"opening a table of {versions:,} version files")
        ours, delta = home / f"versions-{versions}", home / f"delta-versions-{versions}"
        _write_ours(ours, versions)
        _write_delta(delta, versions)

        def open_ours(path: Path = ours) -> int:
            cache.forget()
            return len(it.open(path).files())

        def open_delta(path: Path = delta) -> int:
            return len(DeltaTable(path).file_uris())

        assert open_ours() == open_delta() == versions - 1
        mine, its = timed(open_ours, repeat=repeat), timed(open_delta, repeat=repeat)
        comparisons.append(
            Comparison(f"open, {versions:,} version files", mine, "deltalake", its, "and list the live files")
        )
    return comparisons


def measure_adds(
    home: Path, say: Callable[[str], None], *, repeat: int, adds: int = ADDS, versions: int = 10
) -> list[Comparison]:
    """Compare the CPU that the same adds cost both readers, in few version files, so that each is a large one.

    Our log is compressed and has checksums, as our writers leave it; that of `deltalake` is plain text, as its writers
    leave it. Our side always returns the files with size, number of records, minimum and maximum. `deltalake` is asked
    once for the paths alone and once for the same content. It decodes all of it either way, so the two differ little.
    """
    say(f"opening a table of {adds:,} adds in {versions} version files")
    ours, delta = home / f"adds-{adds}", home / f"delta-adds-{adds}"
    _write_ours(ours, 1)
    _write_delta(delta, 1)
    for version in range(1, versions + 1):
        numbers = range((version - 1) * adds // versions, version * adds // versions)
        info: Action = CommitInfo(f"txn-{version}", "WRITE", {}, timestamp=version, sha256="0" * 64)
        (ours / version_key(version)).write_bytes(encode_version([info, *map(_add, numbers)]))
        lines = [{"commitInfo": {"timestamp": version, "operation": "WRITE"}}, *map(_delta_add, numbers)]
        name = delta / f"_delta_log/{version:020}.json"
        name.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def open_ours() -> int:
        cache.forget()
        return len(it.open(ours).files())

    def open_delta_paths() -> int:
        return len(DeltaTable(delta).file_uris())

    def open_delta_files() -> int:
        return int(DeltaTable(delta).get_add_actions(flatten=True).num_rows)

    readers = (open_ours, open_delta_paths, open_delta_files)
    assert {read() for read in readers} == {adds}
    mine, paths, files = _cpu_in_turns(readers, repeat=repeat)
    return [
        Comparison(
            f"open, {adds:,} JSON adds",
            mine,
            f"deltalake, {what}",
            its,
            "CPU, best run, no state; and list the live files with their statistics",
            at_least=1 / CPU_GOAL,
            by_best=True,
        )
        for what, its in (("paths alone", paths), ("with statistics", files))
    ]


def _cpu_in_turns(actions: Sequence[Callable[[], object]], *, repeat: int) -> list[Timing]:
    """Return the CPU time of `repeat` runs of each, in turns, so that other load disturbs all alike."""
    runs: list[list[float]] = [[] for _ in actions]
    for _ in range(repeat):
        for action, seconds in zip(actions, runs, strict=True):
            started = time.process_time()
            action()
            seconds.append(time.process_time() - started)
    return [Timing(tuple(seconds)) for seconds in runs]


def _add(number: int) -> AddFile:
    return AddFile(
        f"splits/split-{number:08}.split",
        {},
        size=1_000_000,
        num_records=1000,
        min_values={"id": "0"},
        max_values={"id": "999"},
    )


def _delta_add(number: int) -> dict[str, object]:
    add = {
        "path": f"part-{number:08}.parquet",
        "partitionValues": {},
        "size": 1_000_000,
        "modificationTime": number,
        "dataChange": True,
        "stats": json.dumps(STATS),
    }
    return {"add": add}


def _write_ours(path: Path, versions: int) -> None:
    """Write the files of a table directly, without the cost of durable commits."""
    metadata = Metadata("bench", TableSchema.from_arrow(SCHEMA).to_json())
    (path / "_transaction_log").mkdir(parents=True)
    for version in range(versions):
        info = CommitInfo(f"txn-{version}", "WRITE", {}, timestamp=version)
        actions: list[Action] = [info, _add(version)] if version else [info, Protocol(4, 4), metadata]
        (path / version_key(version)).write_bytes(encode_version(actions))


def _write_delta(path: Path, versions: int) -> None:
    DeltaTable.create(path, SCHEMA)
    for version in range(1, versions):
        lines = [{"commitInfo": {"timestamp": version, "operation": "WRITE"}}, _delta_add(version)]
        name = path / f"_delta_log/{version:020}.json"
        name.write_text("".join(json.dumps(line) + "\n" for line in lines))
