"""The state of a process: clock, ids, threads, caches, and what of it survives a fork."""

from indextables.runtime.background import Background
from indextables.runtime.caches import Cache, CacheFigures, CacheSpec
from indextables.runtime.counters import Counters, difference
from indextables.runtime.epoch import EPOCH, EPOCH_DAY
from indextables.runtime.forking import OBSTORE, PYRUHVRO, ForkSafeLock, LibraryThreads
from indextables.runtime.lazy import lazy_property
from indextables.runtime.runtime import Runtime, current, new_id, now_ms, sleep, use
from indextables.runtime.threads import LimitedThreads, Threads

__all__ = [
    "EPOCH",
    "EPOCH_DAY",
    "OBSTORE",
    "PYRUHVRO",
    "Background",
    "Cache",
    "CacheFigures",
    "CacheSpec",
    "Counters",
    "ForkSafeLock",
    "LibraryThreads",
    "LimitedThreads",
    "Runtime",
    "Threads",
    "current",
    "difference",
    "lazy_property",
    "new_id",
    "now_ms",
    "sleep",
    "use",
]
