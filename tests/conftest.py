"""Order of the run: fast tests first, Spark's last, so that a broken core shows in seconds.

Checks that take minutes run only on request, and object stores start for the first test that needs one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from pathlib import Path

import hypothesis
import pytest

from indextables.storage import Store, open_store
from support.faults import MemoryStore
from support.markers import check_soak_timeouts
from support.servers import azurite, rclone, seaweedfs, server  # noqa: F401 - fixtures, one of each for the whole run

SPARK_TESTS = Path(__file__).parent / "spark"
LONG_SPARK_TESTS = (
    "test_differential",
    "test_demo_and_bench",
    "test_secrets",
    "test_without_jar",
    "test_docs_snippets",
)
"""Start first, so that no worker is left alone with one of them at the end."""
CONNECT_TESTS = ("test_commands", "test_on_connect", "test_read_correctness")
"""Start last: they wait for reports that a process in the background makes. Commands come before tests that query from
many threads, and so leave Spark with several Python workers: each worker has a log cache with figures of its own."""

hypothesis.settings.register_profile(
    "untimed", deadline=None
)  # how long a case takes says more of the machine
hypothesis.settings.load_profile("untimed")


@pytest.fixture
def store() -> MemoryStore:
    """A store at a place of its own, so that no cache of this process answers for another test's table."""
    return MemoryStore(f"memory://{uuid.uuid4()}")


@pytest.fixture(params=["memory", "local"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store in memory, and one on the disk."""
    return open_store(f"memory://{uuid.uuid4()}" if request.param == "memory" else tmp_path / "table")


CACHE_HOME = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the indexes that tests extract, here and in processes that they start, out of the user's cache."""
    config.stash[CACHE_HOME] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="indextables-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[CACHE_HOME], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SPARK_TESTS in item.path.parents:
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("soak") is not None and not os.environ.get("INDEXTABLES_SOAK"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: make soak"))
    check_soak_timeouts(items)
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    """Return the place in the order of files: the tests of a file stay together."""
    if item.get_closest_marker("spark") is None:
        return 0
    order = (*LONG_SPARK_TESTS, "", *CONNECT_TESTS)
    return 1 + order.index(item.path.stem if item.path.stem in order else "")
