"""One scenario: a cast, a store, a plan of faults, all from one seed; and whether the invariants held."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from indextables.config import Settings, keys
from indextables.log import Action, decode_version
from indextables.log.actions import version_of
from indextables.log.cleanup import is_data_key
from indextables.runtime import Runtime, use
from indextables.state import LOG_DIRECTORY
from support.invariants import (
    check_added,
    check_deletion,
    check_ledger,
    check_live_files,
    check_readable_versions,
    check_split_deletion,
    check_states,
    check_transactions,
    check_written_once,
    is_late,
    replayed,
)
from support.simulation.actors import PURGE_HOURS, append, cast
from support.simulation.faults import Fault, FaultPlan, RandomFaults
from support.simulation.ledger import Ledger
from support.simulation.machine import InOrder, process_runtime, quiet
from support.simulation.process import Process, Role
from support.simulation.scheduler import HOUR_MS, Actor, Scheduler, Step
from support.simulation.store import ActorStore, Mutation, Network, SimulatedStore

_MAX_STEPS = 20_000
_MAX_LIVES = 20
_SAMPLE = 4


class ViolationError(AssertionError):
    """An invariant did not hold; the message has the seed, with which the run can be repeated."""

    def __init__(self, seed: int, reason: BaseException, trace: list[Step]) -> None:
        super().__init__(f"seed {seed}: {type(reason).__name__}: {reason}")
        self.seed = seed
        self.trace = trace


@dataclass(frozen=True)
class Report:
    """What happened in a scenario."""

    seed: int
    trace: list[Step]
    faults: Counter[str]
    outcomes: Counter[str]
    versions: int


def run_scenario(
    seed: int,
    *,
    plan: FaultPlan | None = None,
    roles: list[Role] | None = None,
    formats: Sequence[str] = ("avro",),
    choose: Callable[[random.Random], list[Role]] = cast,
) -> Report:
    """Play the scenario of a seed to its end. ViolationError if an invariant did not hold.

    Faults and cast are the seed's own choice (`choose` is called for the latter), unless they are given. Processes
    write states in these formats in turn.
    """
    scenario = _Scenario(seed, plan, roles, formats, choose)
    try:
        return scenario.play()
    except Exception as reason:
        raise ViolationError(seed, reason, scenario.scheduler.trace) from reason


class _Scenario:
    def __init__(
        self,
        seed: int,
        plan: FaultPlan | None = None,
        roles: list[Role] | None = None,
        formats: Sequence[str] = ("avro",),
        choose: Callable[[random.Random], list[Role]] = cast,
    ) -> None:
        self.seed = seed
        self.choose = choose
        self.formats = itertools.cycle(formats)
        self.cast = roles
        self.rng = random.Random(seed)
        self.scheduler = Scheduler(self.rng)
        self.plan = plan or RandomFaults(random.Random(self.rng.getrandbits(64)))
        self.network = Network(random.Random(self.rng.getrandbits(64)))
        self.store = SimulatedStore(lambda: self.scheduler.now_ms)
        self.ledger = Ledger()
        self.versions: list[list[Action]] = []
        self.files: list[frozenset[str]] = []
        self.roles: dict[str, Role] = {}
        self.wrong: AssertionError | None = None
        self.late: set[str] = set()
        self.settings = Settings(
            {
                keys.CHECKPOINT_INTERVAL.key: str(self.rng.randint(3, 7)),
                keys.LOG_RETENTION_MS.key: str(self.rng.choice([0, 0, HOUR_MS])),
                keys.STATE_TOMBSTONE_THRESHOLD.key: self.rng.choice(["0.1", "0.9"]),
                keys.STATE_COMPRESSION.key: "none",
                keys.STATE_RETENTION_VERSIONS.key: str(self.rng.randint(1, 3)),
                keys.STATE_RETENTION_HOURS.key: "0",
                keys.MANIFEST_MIN_AGE_HOURS.key: str(self.rng.choice([1, PURGE_HOURS])),
                keys.PURGE_RETENTION_CHECK.key: "false",
            }
        )

    def play(self) -> Report:
        self.store.on_mutation = self._watch
        self.scheduler.on_turn = self._before_turn
        self.scheduler.on_end = self._replace
        with quiet():
            if self.rng.random() < 0.85:
                self._fill(Role("founder", append, self.rng.randint(1, 6)), faultless=True)
                self.scheduler.run(_MAX_STEPS)
            for role in self.cast or self.choose(self.rng):
                self._fill(role)
            self.scheduler.run(_MAX_STEPS)
            self.network.deliver_some(everything=True)
            self._raise_wrong()
            with use(Runtime(threads=InOrder())):  # remembers nothing
                self._check()
        outcomes = Counter(
            f"{attempt.kind} {attempt.outcome} {attempt.error}".strip() for attempt in self.ledger.attempts
        )
        outcomes.update(self.ledger.errors)
        outcomes["deletions in the log"] = sum(
            change.after is None and change.key.startswith(LOG_DIRECTORY) for change in self.store.mutations
        )
        outcomes["splits purged"] = sum(
            change.after is None and change.key.endswith(".split") for change in self.store.mutations
        )
        outcomes["observations"] = len(self.ledger.observations)
        return Report(self.seed, self.scheduler.trace, self.plan.counts, outcomes, len(self.versions))

    def _check(self) -> None:
        if not self.versions:
            return
        truth = replayed(self.versions)
        check_transactions(truth)
        check_ledger(truth, self.ledger)
        check_states(self.store, truth, misled=self.plan.misleads())
        sample = self.rng.sample(range(len(truth)), min(_SAMPLE, len(truth)))
        check_readable_versions(self.store, truth, sample)
        check_live_files(self.store)

    def _fill(self, role: Role, *, faultless: bool = False) -> None:
        """A new process for the role."""
        role.lives += 1
        plan = FaultPlan() if faultless else self.plan

        def body(actor: Actor) -> None:
            store = ActorStore(actor, self.store, self.scheduler, plan, self.network)
            settings = Settings(dict(self.settings) | {keys.STATE_FORMAT.key: next(self.formats)})
            process = Process(role, actor, store, self.ledger, settings, lambda: len(self.versions) - 1)
            with use(process_runtime(actor, process.transaction_id)):
                process.work()

        skewed = plan.skews_clocks()
        actor = self.scheduler.spawn(f"{role.name}.{role.lives}", body, skewed=skewed)
        if skewed:
            self.plan.count(Fault.CLOCK_SKEW)
        self.roles[actor.name] = role

    def _before_turn(self) -> None:
        self._raise_wrong()
        self.network.deliver_some()

    def _replace(self, actor: Actor) -> None:
        """After a crash, another process takes up the role."""
        role = self.roles[actor.name]
        if actor.crashed and role.lives < _MAX_LIVES:
            self._fill(role)

    def _watch(self, change: Mutation) -> None:
        """Called at every change of the store, in the middle of production code: errors wait until it is safe."""
        try:
            check_written_once(change.key, change.before, change.after)
            if change.after is not None and is_data_key(change.key):
                self.ledger.contents[change.key] = change.after[0]
            number = version_of(change.key)
            if number is not None and change.after is not None and number >= len(self.versions):
                assert number == len(self.versions), f"version {number} was made before {len(self.versions)}"
                self.versions.append(decode_version(change.after[0], change.key))
                self.files.append(check_added(self.versions[-1], self.files, self.store.objects.keys()))
            if change.after is not None and is_late(change.key, self.store.objects):
                self.late.add(change.key)
            if change.after is None and is_data_key(change.key):
                check_split_deletion(change.key, self.store.objects.keys() - self.late, self._needing())
            if change.after is None and change.key.startswith(LOG_DIRECTORY):
                check_deletion(change.key, self.store.objects.keys(), len(self.versions) - 1)
        except AssertionError as reason:
            self.wrong = self.wrong or reason

    def _needing(self) -> dict[int, frozenset[str]]:
        """The files of every version that a purge must know of: of the newest alone, if listings may mislead it."""
        first = len(self.files) - 1 if self.plan.misleads() else 0
        return dict(enumerate(self.files[first:], max(first, 0)))

    def _raise_wrong(self) -> None:
        if self.wrong is not None:
            raise self.wrong
