"""What a store, a network, a clock and a process do to a program, and how often in this scenario.

Each scenario has some classes of faults and not others, at rates of its own: a run with all of them at once would
never get far enough for the rare ones to matter.
"""

from __future__ import annotations

import enum
import random
from collections import Counter

READS = frozenset({"get", "get_range", "head", "list_from"})
WRITES = frozenset({"create", "put", "delete"})
OPERATIONS = READS | WRITES


class Fault(enum.Enum):
    """The classes. The value is the name under which they are counted."""

    ERROR_BEFORE = "error, nothing done"
    LOST_ANSWER = "done, answer lost"
    OWN_CONFLICT = "done, then in conflict with itself"
    FALSE_CONFLICT = "conflict, though absent (409)"
    UNAVAILABLE = "unavailable for a while (503)"
    LATE = "timed out, done later"
    STALE_LIST = "stale list"
    TORN_FILE = "crash while writing, temporary file left"
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    STALL = "held up for long"
    CLOCK_SKEW = "clock skew"


STRUCK_AT = {
    Fault.ERROR_BEFORE: OPERATIONS,
    Fault.LOST_ANSWER: WRITES,
    Fault.OWN_CONFLICT: frozenset({"create"}),
    Fault.FALSE_CONFLICT: frozenset({"create"}),
    Fault.UNAVAILABLE: OPERATIONS,
    Fault.LATE: WRITES,
    Fault.STALE_LIST: frozenset({"list_from"}),
    Fault.TORN_FILE: frozenset({"create", "put"}),
    Fault.CRASH_BEFORE: OPERATIONS,
    Fault.CRASH_AFTER: OPERATIONS,
    Fault.STALL: OPERATIONS,
}
UNANSWERED = frozenset(
    {Fault.ERROR_BEFORE, Fault.LOST_ANSWER, Fault.UNAVAILABLE, Fault.LATE, Fault.STALE_LIST}
)
"""After which a caller may not know how its call ended, or gets something old."""

_RARE = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.STALL})
_RATES = (0.02, 0.05, 0.12)
_RARE_RATES = (0.002, 0.005, 0.01)
_LIST_RATES = (0.1, 0.5, 1.0)


class FaultPlan:
    """No faults; those that others have are counted, crashes by operation too."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def draw(self, actor: str, operation: str) -> Fault | None:
        """The fault that strikes this call, if one does."""
        return None

    def skews_clocks(self) -> bool:
        return False

    def misleads(self) -> bool:
        """Whether a listing may leave out what is there."""
        return False

    def count(self, fault: Fault, operation: str = "") -> None:
        self.counts[fault.value] += 1
        if fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
            self.counts[f"{fault.value} {operation}"] += 1


class RandomFaults(FaultPlan):
    """Some classes, chosen by the seed, each at a rate of its own."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self._rng = rng
        self._rates: dict[Fault, float] = {}
        for fault in Fault:
            if rng.random() < 0.4:
                self._rates[fault] = rng.choice(
                    _RARE_RATES if fault in _RARE else _LIST_RATES if fault is Fault.STALE_LIST else _RATES
                )

    def draw(self, actor: str, operation: str) -> Fault | None:
        for fault, operations in STRUCK_AT.items():
            if operation in operations and self._rng.random() < self._rates.get(fault, 0):
                return fault
        return None

    def skews_clocks(self) -> bool:
        return Fault.CLOCK_SKEW in self._rates

    def misleads(self) -> bool:
        return Fault.STALE_LIST in self._rates


class OneFault(FaultPlan):
    """One fault, at one call of one actor. `calls` is how many that actor has made."""

    def __init__(self, fault: Fault, actor: str, call: int) -> None:
        super().__init__()
        self._fault = fault
        self._actor = actor
        self._call = call
        self.calls = 0

    def draw(self, actor: str, operation: str) -> Fault | None:
        if actor != self._actor:
            return None
        self.calls += 1
        return self._fault if self.calls == self._call + 1 else None
