"""Fixtures: the object stores of `bench.servers`, each started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from bench import servers


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[servers.Server]:
    yield from _started(servers.seaweedfs())


@pytest.fixture(scope="session")
def azurite() -> Iterator[servers.Server]:
    yield from _started(servers.azurite())


@pytest.fixture(scope="session")
def rclone() -> Iterator[servers.Server]:
    yield from _started(servers.rclone())


@pytest.fixture(params=["seaweedfs", "azurite"])
def server(request: pytest.FixtureRequest) -> servers.Server:
    """Each of the servers that hold tables, in turn."""
    return request.getfixturevalue(request.param)


def _started(starting: AbstractContextManager[servers.Server]) -> Iterator[servers.Server]:
    try:
        running = starting.__enter__()
    except servers.ServerMissingError as reason:
        pytest.skip(str(reason))
    try:
        yield running
    finally:
        starting.__exit__(None, None, None)
