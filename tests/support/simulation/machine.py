"""The parts of production that would ask the machine for chance, time or threads, made to ask the simulation."""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace, TracebackType
from typing import Any, Self, TypeVar
from unittest import mock

from indextables.log import StateWarning, VersionGapWarning, commit
from indextables.log.snapshots import cache

T = TypeVar("T")


class InOrder:
    """A pool of threads without threads: what would go on side by side is done one after the other."""

    def __init__(self, max_workers: int | None = None, thread_name_prefix: str = "") -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, where: TracebackType | None
    ) -> None: ...

    def map(self, function: Callable[..., T], *arguments: Iterable[Any]) -> Iterator[T]:
        return iter([function(*each) for each in zip(*arguments, strict=False)])


@contextlib.contextmanager
def simulated_machine(
    *, clock: Callable[[], int], sleep: Callable[[float], None], transaction_id: Callable[[], uuid.UUID]
) -> Iterator[None]:
    """Time, pauses and transaction ids from the caller; no threads; nothing remembered from before or for later."""
    commit_module = importlib.import_module("indextables.log.commits.loop")
    logger = logging.getLogger("indextables")
    level = logger.level
    with contextlib.ExitStack() as stack:
        for name, module in sorted(sys.modules.items()):
            if (
                name.startswith("indextables.")
                and getattr(module, "ThreadPoolExecutor", None) is ThreadPoolExecutor
            ):
                stack.enter_context(mock.patch.object(module, "ThreadPoolExecutor", InOrder))
        # Whoever calls it, such as a restore, and says nothing of clocks.
        stack.enter_context(mock.patch.dict(commit.__kwdefaults__, clock=clock, sleep=sleep))
        stack.enter_context(mock.patch.object(commit_module, "uuid", SimpleNamespace(uuid4=transaction_id)))
        for name in ("indextables.log.cleanup.state_retention", "indextables.maintenance.purges"):
            stack.enter_context(mock.patch.object(importlib.import_module(name), "_HOUR_MS", 1000))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", StateWarning)
        warnings.simplefilter("ignore", VersionGapWarning)
        logger.setLevel(logging.CRITICAL)
        forget_everything()
        try:
            yield
        finally:
            logger.setLevel(level)
            forget_everything()


def forget_everything() -> None:
    cache.forget()
    importlib.import_module("indextables.log.versions.watermark")._known.clear()
    importlib.import_module("indextables.log.commits.checkpoints")._states.clear()
