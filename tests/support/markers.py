"""What a test that takes minutes must say: how long it may take."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def check_soak_timeouts(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError if a soak test has no timeout of its own. That of ordinary tests would end it."""
    missing = [
        item.nodeid
        for item in items
        if item.get_closest_marker("soak") is not None and item.get_closest_marker("timeout") is None
    ]
    if missing:
        raise pytest.UsageError(
            f"tests marked soak need a mark timeout(seconds) as well: {', '.join(sorted(missing))}"
        )
