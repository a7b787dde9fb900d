"""Order of the run: what is fast first, what needs Spark last, so that a broken core shows in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

SPARK_TESTS = Path(__file__).parent / "spark"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SPARK_TESTS in item.path.parents:
            item.add_marker(pytest.mark.spark)
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)
