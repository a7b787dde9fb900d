"""Prewarming: the indexes of splits are brought into the cache of a machine before a search needs them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from indextables.config import Settings
from indextables.errors import IndexTablesError, InputError
from indextables.log import Snapshot
from indextables.predicates import TRUE, Predicate
from indextables.runtime import current
from indextables.schema import FieldMapping
from indextables.split import open_split
from indextables.state import KEY
from indextables.storage import open_store, options_for_tasks
from indextables.table.scans.locality import assign_hosts

DEFAULT_THREADS: Final = 4
"""Splits that a task fetches at the same time: most of the time is spent waiting for the store."""

MAX_THREADS: Final = 64


@dataclass(frozen=True)
class PrewarmTask:
    """The splits that one process brings into its cache: their keys and sizes. `host` is where it is to run."""

    uri: str
    options: dict[str, str] = field(repr=False)  # credentials may be among them
    mapping: FieldMapping
    splits: tuple[tuple[str, int], ...]
    host: str | None = None
    threads: int = DEFAULT_THREADS


@dataclass(frozen=True)
class Prewarmed:
    """The splits whose indexes are in the cache now, and the keys of those that could not be read, with the reason."""

    splits: int
    duration_ms: int
    failures: tuple[tuple[str, str], ...] = ()


def plan_prewarm(
    snapshot: Snapshot,
    settings: Settings,
    predicate: Predicate = TRUE,
    *,
    hosts: Sequence[str] = (),
    parallelism: int = 1,
    threads: int = DEFAULT_THREADS,
) -> tuple[PrewarmTask, ...]:
    """Distribute the splits that may match to the hosts that would search them, and to about `parallelism` tasks."""
    if not 1 <= threads <= MAX_THREADS:
        raise InputError(f"the parallelism of a worker is {threads}; it is from 1 to {MAX_THREADS}")
    pruned = snapshot.prune(predicate)
    splits = list(zip(pruned.column(KEY), pruned.column("size"), strict=True))
    assigned: Sequence[str | None] = (
        assign_hosts([key for key, _ in splits], hosts) if hosts else [None] * len(splits)
    )
    per_host = math.ceil(max(1, parallelism) / max(1, len(set(hosts))))
    options = options_for_tasks(snapshot.uri, settings)
    tasks = []
    for host in sorted({host or "" for host in assigned}):
        own = [split for split, of in zip(splits, assigned, strict=True) if (of or "") == host]
        count = min(per_host, len(own))
        tasks += [
            PrewarmTask(
                uri=snapshot.uri,
                options=options,
                mapping=snapshot.mapping,
                splits=tuple(own[number::count]),
                host=host or None,
                threads=threads,
            )
            for number in range(count)
        ]
    return tuple(tasks)


def run_prewarm_task(task: PrewarmTask) -> Prewarmed:
    """Bring the indexes of a task into the cache of this machine. A split that cannot be read does not end the task."""
    started = current().monotonic()
    settings = Settings(task.options)
    store = open_store(task.uri, settings)

    def warm(split: tuple[str, int]) -> tuple[str, str] | None:
        try:
            with open_split(store, *split, settings=settings, mapping=task.mapping, keep_end=True) as reader:
                reader.load_index()
        except IndexTablesError as reason:
            return split[0], str(reason)
        return None

    outcomes = list(current().threads.map(warm, task.splits, task.threads))
    failures = tuple(outcome for outcome in outcomes if outcome is not None)
    return Prewarmed(
        splits=len(outcomes) - len(failures),
        duration_ms=round((current().monotonic() - started) * 1000),
        failures=failures,
    )


def total_prewarmed(results: Sequence[Prewarmed]) -> Prewarmed:
    """Return what several tasks have done, one after the other."""
    return Prewarmed(
        splits=sum(result.splits for result in results),
        duration_ms=sum(result.duration_ms for result in results),
        failures=tuple(failure for result in results for failure in result.failures),
    )
