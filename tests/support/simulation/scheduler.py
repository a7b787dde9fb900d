"""Actors that take turns: each runs until its next call of the store, then the seed decides which is next.

An actor stands for a process. It dies by a Crash, which no code catches, and may not touch the store after it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from greenlet import getcurrent, greenlet

HOUR_MS = 3_600_000
TICK_MS = 3_600
"""Time goes in ticks. A step takes up to 40 of them, so that a run of some hundred steps lasts hours, and what is kept
for hours expires in the middle of it."""

_EPOCH_MS = 1_700_000_000_000
_LONGEST_STEP_TICKS = 40
_LARGEST_SKEW_TICKS = 3 * HOUR_MS


class Crash(BaseException):
    """The process is gone. No Exception: nothing that handles errors may handle this one."""


class Step(NamedTuple):
    """One turn, for the trace: what was asked of the store, and how that ended."""

    number: int
    actor: str
    operation: str
    key: str
    outcome: str


class Actor:
    """One process: its name, its clock, its own source of chance, and whether it still lives."""

    def __init__(self, scheduler: Scheduler, name: str, skew_ms: int, body: Callable[[Actor], None]) -> None:
        self.name = name
        self.skew_ms = skew_ms
        self.rng = random.Random(scheduler.rng.getrandbits(64))
        self.crashed = False
        self.stalled_until = 0
        self._scheduler = scheduler
        self._thread = greenlet(lambda: self._live(body))

    @property
    def done(self) -> bool:
        return bool(self._thread.dead)

    def clock(self) -> int:
        return self._scheduler.now_ms + self.skew_ms

    def yield_turn(self) -> None:
        """Let other actors run. One that has crashed runs no more: its clean-up code is ended by another Crash."""
        if self.crashed:
            raise Crash
        self._scheduler.main.switch()
        if self.crashed:
            raise Crash

    def crash(self) -> Crash:
        self.crashed = True
        return Crash(self.name)

    def resume(self) -> None:
        self._thread.switch()

    def end(self) -> None:
        """End the actor, in a run that was abandoned."""
        self.crashed = True
        if self._thread and not self._thread.dead:
            self._thread.switch()

    def is_running(self) -> bool:
        return getcurrent() is self._thread

    def _live(self, body: Callable[[Actor], None]) -> None:
        try:
            body(self)
        except Crash:
            return


class Scheduler:
    """Decides whose turn it is. `on_turn` is called before every step, `on_end` when an actor is done or dead."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.main = getcurrent()
        self.actors: list[Actor] = []
        self.trace: list[Step] = []
        self.step = 0
        self.now_ms = _EPOCH_MS
        self.on_turn: Callable[[], None] = lambda: None
        self.on_end: Callable[[Actor], None] = lambda _: None

    def spawn(self, name: str, body: Callable[[Actor], None], *, skewed: bool) -> Actor:
        skew = self.rng.randint(-_LARGEST_SKEW_TICKS, _LARGEST_SKEW_TICKS) * TICK_MS if skewed else 0
        actor = Actor(self, name, skew, body)
        self.actors.append(actor)
        return actor

    def current(self) -> Actor | None:
        return next((actor for actor in self.actors if actor.is_running()), None)

    def note(self, actor: Actor, operation: str, key: str, outcome: str) -> None:
        self.trace.append(Step(self.step, actor.name, operation, key, outcome))

    def run(self, max_steps: int) -> None:
        """Run until all actors are done. Too many steps are a failure: an actor makes no progress."""
        try:
            while self.actors:
                if self.step >= max_steps:
                    stuck = ", ".join(actor.name for actor in self.actors)
                    raise AssertionError(f"still at work after {max_steps} steps: {stuck}")
                self.step += 1
                self.now_ms += self.rng.randint(1, _LONGEST_STEP_TICKS) * TICK_MS
                self.on_turn()
                actor = self._next()
                actor.resume()
                if actor.done:
                    self.actors.remove(actor)
                    self.on_end(actor)
        finally:
            for actor in self.actors:
                actor.end()

    def _next(self) -> Actor:
        awake = [actor for actor in self.actors if actor.stalled_until <= self.step]
        if awake:
            return self.rng.choice(awake)
        return min(self.actors, key=lambda actor: actor.stalled_until)
