"""Keeping a Python worker of Spark's quick to answer.

After every request Spark's daemon collects garbage, and the next request waits for it: some 25 ms with the modules that
are loaded here, several times in a query.
"""

from __future__ import annotations

import gc
from typing import Final

WORTH_IT: Final = 2000
"""So many objects are looked through in less than a millisecond."""

_MOST_FREEZES: Final = (
    50  # a cycle of frozen objects is never freed, so a process does not go on for ever with it
)

_freezes = 0


def settle() -> None:
    """Once they are many, what is loaded and cached by now stays for good: the collector need not look at it again."""
    global _freezes  # noqa: PLW0603 - of the process, as the collector is
    if _freezes < _MOST_FREEZES and len(gc.get_objects()) > WORTH_IT:
        gc.collect()  # so that nothing is kept that is garbage already
        gc.freeze()
        _freezes += 1
