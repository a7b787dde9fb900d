"""Keeping a Python worker of Spark's quick to answer.

After every request Spark's daemon collects garbage, and the next request waits for it: some 25 ms with the modules that
are loaded here, several times in a query.
"""

from __future__ import annotations

import gc
from functools import cache


@cache
def settle() -> None:
    """Once a process: what is loaded by now stays for good, so the collector need not look at it again."""
    gc.freeze()
