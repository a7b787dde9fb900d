"""Requests to stores are counted by kind, with their bytes."""

from __future__ import annotations

import pytest

from indextables.runtime import Runtime, current, use
from indextables.storage import RequestFigures, open_store, request_figures


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_each_kind_of_request_is_counted_with_its_bytes(kind, tmp_path):
    store = open_store(str(tmp_path / "t") if kind == "local" else f"memory://counts-{tmp_path.name}")
    source = tmp_path / "source"
    source.write_bytes(b"1234567")
    with use(Runtime()):
        store.create("a", b"12345")
        store.put("b", b"123")
        store.put_file("c", source)
        assert store.get("a") == b"12345"
        assert store.get_range("a", 1, 2) == b"23"
        store.head("a")
        assert len(list(store.list_from(""))) == 3
        store.delete("a")
        counted = request_figures(current().counters.values())
    figures = {f.operation: (f.requests, f.bytes_fetched, f.bytes_sent) for f in counted}
    assert figures == {
        "get": (1, 5, 0),
        "get_range": (1, 2, 0),
        "head": (1, 0, 0),
        "list": (1, 0, 0),
        "create": (1, 0, 5),
        "put": (2, 0, 10),
        "delete": (1, 0, 0),
        "map": (0, 0, 0),
    }


def test_nothing_was_asked_of_a_new_process():
    assert request_figures({})[0] == RequestFigures("get", 0, 0, 0)
