"""Order of the run: what is fast first, what needs Spark last, so that a broken core shows in seconds.

Checks that take minutes run only on request, and object stores start for the first test that needs one.
"""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from servers import azurite, rclone, seaweedfs, server  # noqa: F401 - fixtures, one of each for the whole run

SPARK_TESTS = Path(__file__).parent / "spark"

hypothesis.settings.register_profile(
    "untimed", deadline=None
)  # how long a case takes says more of the machine
hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SPARK_TESTS in item.path.parents:
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("soak") is not None and not os.environ.get("INDEXTABLES_SOAK"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: make soak"))
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)
