"""One scenario on a dataset of column groups: a cast, a store, a plan of faults, all from one seed."""

from __future__ import annotations

import random
from collections import Counter

from indextables.avro import TAG_SIZE
from indextables.columns import Manifest
from indextables.columns.layout import METADATA_DIR, manifest_path, manifest_version
from indextables.runtime import use
from support.dataset_invariants import check_dataset
from support.simulation.datasets import DatasetLedger, DatasetProcess, DatasetRole, cast, found
from support.simulation.faults import FaultPlan, RandomFaults
from support.simulation.machine import process_runtime
from support.simulation.scenario import Report, ViolationError
from support.simulation.scheduler import Actor, Scheduler
from support.simulation.store import ActorStore, Mutation, Network, SimulatedStore

_MAX_STEPS = 20_000
_MAX_LIVES = 20


def run_dataset_scenario(
    seed: int, *, plan: FaultPlan | None = None, roles: list[DatasetRole] | None = None
) -> Report:
    """Play the scenario of a seed to its end. ViolationError if an invariant did not hold."""
    scenario = _DatasetScenario(seed, plan, roles)
    try:
        return scenario.play()
    except Exception as reason:
        raise ViolationError(seed, reason, scenario.scheduler.trace) from reason


class _DatasetScenario:
    def __init__(self, seed: int, plan: FaultPlan | None, roles: list[DatasetRole] | None) -> None:
        self.seed = seed
        self.rng = random.Random(f"dataset {seed}")
        self.cast = roles or cast(self.rng)
        self.scheduler = Scheduler(self.rng)
        self.plan = plan or RandomFaults(random.Random(self.rng.getrandbits(64)))
        self.network = Network(random.Random(self.rng.getrandbits(64)))
        self.store = SimulatedStore(lambda: self.scheduler.now_ms)
        self.ledger = DatasetLedger()
        self.versions: list[tuple[bytes, Manifest]] = []
        self.roles: dict[str, DatasetRole] = {}
        self.wrong: Exception | None = None

    def play(self) -> Report:
        self.store.on_mutation = self._watch
        self.scheduler.on_turn = self._before_turn
        self.scheduler.on_end = self._replace
        if self.rng.random() < 0.7:
            self._fill(DatasetRole("founder", found, self.rng.randint(1, 3)), faultless=True)
            self.scheduler.run(_MAX_STEPS)
        for role in self.cast:
            self._fill(role)
        self.scheduler.run(_MAX_STEPS)
        self.network.deliver_some(everything=True)
        self._raise_wrong()
        check_dataset(self.versions, self.ledger)
        outcomes = Counter(
            f"{each.meant.kind} {each.resolver} {each.outcome} {each.error}".strip()
            for each in self.ledger.attempts
        )
        outcomes.update(self.ledger.errors)
        outcomes["seen"] = len(self.ledger.seen)
        return Report(self.seed, self.scheduler.trace, self.plan.counts, outcomes, len(self.versions))

    def _fill(self, role: DatasetRole, *, faultless: bool = False) -> None:
        """A new process for the role."""
        role.lives += 1
        plan = FaultPlan() if faultless else self.plan

        def body(actor: Actor) -> None:
            store = ActorStore(actor, self.store, self.scheduler, plan, self.network)
            process = DatasetProcess(role, actor, store, self.ledger, lambda: len(self.versions))
            with use(process_runtime(actor, process.transaction_id)):
                process.work()

        actor = self.scheduler.spawn(f"{role.name}.{role.lives}", body, skewed=False)
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
        version = manifest_version(change.key.removeprefix(f"{METADATA_DIR}/"))
        try:
            if version is None:
                return
            assert change.key == manifest_path(version)
            assert change.before is None, f"version {version} was written over"
            assert change.after is not None, f"version {version} was deleted"
            assert version == len(self.versions) + 1, f"version {version} came after {len(self.versions)}"
            raw = change.after[0]
            self.versions.append((raw[-TAG_SIZE:], Manifest.from_bytes(raw)))
        except Exception as reason:
            self.wrong = self.wrong or reason

    def _raise_wrong(self) -> None:
        if self.wrong is not None:
            raise self.wrong
