"""`gc.freeze()` for Spark's Python workers.

Spark's daemon runs `gc.collect()` after every request, and the next request waits for it: about 25 ms with the modules
that are loaded here, several times in a query. Frozen objects are skipped.
"""

from __future__ import annotations

import gc
from typing import Final

from indextables.runtime import current

MIN_OBJECTS: Final = 2000
"""The collector walks through fewer objects than this in less than a millisecond."""

_MAX_FREEZES: Final = (
    50  # a cycle of frozen objects is never freed, so a process must stop freezing at some point
)


def freeze_objects() -> None:
    """Freeze the objects that are alive now, if there are many, so that the collector skips them from now on."""
    runtime = current()
    if runtime.gc_freezes < _MAX_FREEZES and len(gc.get_objects()) > MIN_OBJECTS:
        gc.collect()  # first, so that garbage is freed and not frozen
        gc.freeze()
        runtime.gc_freezes += 1
