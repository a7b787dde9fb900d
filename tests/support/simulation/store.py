"""The simulated object store: its true content, and the store as one actor sees it."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from indextables.errors import IndexTablesError, ObjectExistsError, StorageError
from indextables.storage import ExistsByHead, ObjectInfo
from support import faults as memory
from support.simulation.faults import UNANSWERED, Fault, FaultPlan
from support.simulation.scheduler import Actor, Scheduler

T = TypeVar("T")
Stored = tuple[bytes, int]

_LONGEST_LAG = 12
_LONGEST_SPELL = 14
_LONGEST_STALL = 400


class Mutation(NamedTuple):
    """One change of one object; None where there was none, or is none any more."""

    key: str
    before: Stored | None
    after: Stored | None


class SimulatedStore(memory.MemoryStore):
    """The true content. Every change is recorded, and `on_mutation` is called with it as it happens."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__("memory://truth")
        self.mutations: list[Mutation] = []
        self.on_mutation: Callable[[Mutation], None] = lambda _: None
        self._clock = clock

    def put(self, key: str, data: bytes) -> None:
        self._change(key, (data, self._clock()))

    def delete(self, key: str) -> None:
        if key in self.objects:
            self._change(key, None)

    def listed(self, prefix: str, start_after: str | None, known: dict[str, Stored]) -> list[ObjectInfo]:
        below = f"{prefix}/" if prefix else ""
        return [
            ObjectInfo(key, len(known[key][0]), known[key][1])
            for key in sorted(known)
            if key.startswith(below) and (start_after is None or key > start_after)
        ]

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        return iter(self.listed(prefix, start_after, self.objects))

    def as_of_late(self, rng: random.Random) -> dict[str, Stored]:
        """Return the objects as in a listing that misses some of the last changes."""
        known = dict(self.objects)
        recent = self.mutations[-rng.randint(1, _LONGEST_LAG) :]
        missed = {key for key in sorted({change.key for change in recent}) if rng.random() < 0.7}
        for change in reversed(recent):
            if change.key in missed:
                known.pop(change.key, None)
                if change.before is not None:
                    known[change.key] = change.before
        return known

    def _change(self, key: str, after: Stored | None) -> None:
        change = Mutation(key, self.objects.get(key), after)
        if after is None:
            del self.objects[key]
        else:
            self.objects[key] = after
        self.mutations.append(change)
        self.on_mutation(change)


class Network:
    """Requests whose senders have given up, and which may still arrive."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._pending: list[Callable[[], Any]] = []

    def delay(self, request: Callable[[], Any]) -> None:
        self._pending.append(request)

    def deliver_some(self, *, everything: bool = False) -> None:
        while self._pending and (everything or self._rng.random() < 0.05):
            request = self._pending.pop(self._rng.randrange(len(self._pending)))
            try:
                request()
            except ObjectExistsError:
                continue


class ActorStore(ExistsByHead):
    """The store as one process sees it. Every call is a turn, and may be hit by a fault.

    Its address is the process's own: what a process remembers of a table, it remembers by address.
    """

    def __init__(
        self, actor: Actor, truth: SimulatedStore, scheduler: Scheduler, plan: FaultPlan, network: Network
    ) -> None:
        self.uri = f"memory://{actor.name}"
        self.unanswered = 0
        self._actor = actor
        self._truth = truth
        self._scheduler = scheduler
        self._plan = plan
        self._network = network
        self._failing_for = 0

    def get(self, key: str, limit: int | None = None) -> bytes:
        return self._call("get", key, lambda: self._truth.get(key, limit))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self._call("get_range", key, lambda: self._truth.get_range(key, start, length))

    def head(self, key: str) -> ObjectInfo:
        return self._call("head", key, lambda: self._truth.head(key))

    def list_from(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectInfo]:
        found = self._call(
            "list_from",
            prefix,
            lambda: self._truth.listed(prefix, start_after, self._truth.objects),
            lambda: self._truth.listed(prefix, start_after, self._truth.as_of_late(self._actor.rng)),
        )
        return iter(found)

    def create(self, key: str, data: bytes) -> None:
        self._call("create", key, lambda: self._truth.create(key, data), data=data)

    def put(self, key: str, data: bytes) -> None:
        self._call("put", key, lambda: self._truth.put(key, data), data=data)

    def put_file(self, key: str, source: Path) -> None:
        self.put(key, source.read_bytes())

    def delete(self, key: str) -> None:
        self._call("delete", key, lambda: self._truth.delete(key))

    def local_path(self, key: str) -> Path | None:
        return None

    def _call(
        self,
        operation: str,
        key: str,
        request: Callable[[], T],
        stale: Callable[[], T] | None = None,
        data: bytes = b"",
    ) -> T:
        self._actor.yield_turn()
        fault = self._draw(operation, key)
        if fault is Fault.STALL:
            # The process stops before it sends the request, so what it knows becomes outdated.
            self._plan.count(fault)
            self._scheduler.note(self._actor, operation, key, fault.name)
            self._actor.stalled_until = self._scheduler.step + self._actor.rng.randint(20, _LONGEST_STALL)
            self._actor.yield_turn()
            fault = None
        outcome = "ok" if fault is None else fault.name
        try:
            if fault is None:
                return request()
            self._plan.count(fault, operation)
            self.unanswered += fault in UNANSWERED
            if fault is Fault.STALE_LIST and stale is not None:
                return stale()
            return self._struck(fault, key, request, data)
        except IndexTablesError as reason:
            outcome += f" {type(reason).__name__}"
            raise
        finally:
            self._scheduler.note(self._actor, operation, key, outcome)

    def _draw(self, operation: str, key: str) -> Fault | None:
        if self._failing_for:
            self._failing_for -= 1
            return Fault.UNAVAILABLE
        fault = self._plan.draw(self._actor.name, operation)
        if fault is Fault.FALSE_CONFLICT and key in self._truth.objects:
            return None
        if fault is Fault.UNAVAILABLE:
            self._failing_for = self._actor.rng.randrange(_LONGEST_SPELL)
        return fault

    def _struck(self, fault: Fault, key: str, request: Callable[[], T], data: bytes) -> T:
        match fault:
            case Fault.LOST_ANSWER:
                request()
                raise StorageError("the connection was reset")
            case Fault.OWN_CONFLICT:
                request()
                raise ObjectExistsError(f"{key} exists already")
            case Fault.FALSE_CONFLICT:
                raise ObjectExistsError("conflicting conditional request")
            case Fault.LATE:
                self._network.delay(request)
                raise StorageError("the request timed out")
            case Fault.TORN_FILE:
                directory, _, name = key.rpartition("/")
                torn = data[: self._actor.rng.randrange(len(data) + 1)]
                self._truth.put(f"{directory}/.{name}.{self._actor.name}.tmp", torn)
                raise self._actor.crash()
            case Fault.CRASH_BEFORE:
                raise self._actor.crash()
            case Fault.CRASH_AFTER:
                with contextlib.suppress(IndexTablesError):  # no process receives the answer
                    request()
                raise self._actor.crash()
            case _:
                raise StorageError("the store is not available")
