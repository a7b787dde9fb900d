"""Windows paths in a query: as they are pasted, with doubled backslashes, and as `clause_text` writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.errors import QueryError
from indextables.split.query.parser import parse
from indextables.split.query.query_text import clause_text
from indextables.split.query.tree import Literal, Node

PATHS = [
    r"\\server\share\dir",
    r"\server\share\dir",
    r"C:\temp\x",
    r"C:\Users\ada\.ssh\id",
    r"C:\$Recycle.Bin\x",
    r"\\server\c$\_x",
    r"\\?\C:\x",
    r"\\.\pipe\x",
    "\\\\server\\share\\",
]


@pytest.fixture(scope="module")
def table() -> it.Table:
    rows = {"id": range(len(PATHS)), "path": PATHS, "m": PATHS}
    it.write("memory://windows-paths", rows, text=["m"])
    return it.open("memory://windows-paths")


def _ids(table: it.Table, query: str) -> list[int]:
    return sorted(table.search(query, limit=None, columns=["id"]).column("id").to_pylist())


@pytest.mark.parametrize("number", range(len(PATHS)))
def test_a_path_is_found_as_it_is_pasted_and_with_doubled_backslashes(table: it.Table, number: int) -> None:
    path = PATHS[number]
    doubled = path.replace("\\", "\\\\")
    assert _ids(table, f'path:"{doubled}"') == [number]
    assert "?" in path or number in _ids(table, f'm:"{doubled}"')
    assert _ids(table, clause_text("path", path)) == [number]
    if not path.endswith("\\"):  # the quote after a backslash is escaped
        assert _ids(table, f'path:"{path}"') == _ids(table, f"path:'{path}'") == [number]
        assert number in _ids(table, f'm:"{path}"')
        assert _ids(table, f'path: IN ["{path}"]' if "?" not in path else f'path:"{path}"') == [number]
    if ":" not in path:
        assert _ids(table, f"path:{path}") == [number]


def test_wildcards_in_a_path_are_wildcards(table: it.Table) -> None:
    assert _ids(table, r'path:"\\server\share\*"') == [0, 8]
    assert _ids(table, r"path:\\server\sh*") == [0, 8]
    assert _ids(table, r'path:"C:\Users\*\.ssh\*"') == [3]


@pytest.mark.parametrize("query", [r'path:"\\server\share\\dir"', r"path:\\server\share\\dir"])
def test_single_and_doubled_backslashes_after_a_share_are_refused(table: it.Table, query: str) -> None:
    with pytest.raises(QueryError, match="single and doubled") as caught:
        table.count(query=query)
    assert caught.value.position == 5


@given(st.text(alphabet='C:ab\\ ."*?$_', min_size=1, max_size=14))
def test_a_text_with_escapes_is_never_taken_for_a_pasted_path(text: str) -> None:
    query = clause_text("path", text)
    node: Node = parse(query)
    assert isinstance(node, Literal)
    assert node.text == text
