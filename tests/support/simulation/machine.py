"""What a simulated machine gives its processes in place of the real one: time, ids, pauses, and no threads."""

from __future__ import annotations

import contextlib
import logging
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from indextables.log import StateWarning, VersionGapWarning
from indextables.runtime import Runtime, Threads
from support.simulation.scheduler import Actor

Item = TypeVar("Item")
Result = TypeVar("Result")


class InOrder(Threads):
    """A pool of threads without threads: items run one after the other, all of them before the first result."""

    def map(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        parallelism: int,
        *,
        ahead: int | None = None,
    ) -> Iterator[Result]:
        return iter([work(item) for item in items])


def process_runtime(actor: Actor, ids: Callable[[], uuid.UUID]) -> Runtime:
    """The runtime of one process: its clock may be wrong, and it remembers nothing of other processes.

    `monotonic` stands still, so that nothing is dropped from a cache for its age.
    """
    return Runtime(
        clock=actor.clock,
        monotonic=lambda: 0.0,
        sleep=lambda _: actor.yield_turn(),
        ids=ids,
        threads=InOrder(),
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings and no log: faults are what a simulation is made of."""
    logger = logging.getLogger("indextables")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        warnings.simplefilter("ignore", VersionGapWarning)
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            logger.setLevel(level)
