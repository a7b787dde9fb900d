"""Any query returns rows or raises an error of this package, within bounded time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.errors import IndexTablesError, InputError, PredicateError, QueryError

ROWS = pa.table(
    {
        "id": pa.array(range(6), pa.int64()),
        "b": pa.array([1, -128, 127, None, 0, 5], pa.int8()),
        "f": pa.array([0.5, None, float("nan"), float("inf"), -0.0, 1e30], pa.float32()),
        "g": pa.array([0.1, None, float("nan"), float("-inf"), 0.0, 1e300]),
        "s": ["auth", None, "db-primary", "", "C:\\Windows", "\N{SNOWMAN}"],
        "m": [
            "disk full",
            "login ok for ada",
            "C:\\Windows\\winsxs gone",
            None,
            "",
            "état ß \N{SNOWMAN} 日本語",
        ],
        "ok": [True, False, None, True, False, True],
        "d": [date(2024, 1, 1), None, date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(2024, 2, 29)],
        "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 5 + [None], pa.timestamp("us", "UTC")),
        "raw": [b"", b"\x00\xff", None, b"x", b"y", b"z"],
        "day": [1, 1, 2, 2, None, None],
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> it.Table:
    path = tmp_path_factory.mktemp("hostile") / "t"
    it.write(path, ROWS, partition_by=["day"], text=["m"])
    return it.open(path)


QUERY_TEXT = """
    disk full C Windows état a 5 -5 0.5 1e400 nan 2024-01-01 0001-01-01 9999-12-31T23:59:59 true 日本語
    12:00:00.123456789Z 99999999999999999999 * ? ~ ~1 ~2 ~99 ^ ^2 ^1e9 " ' ( ) [ ] { } TO IN AND OR NOT && || ! + - /
    \\ : = < > <= >= . , # @ | & m: s: id: f: g: b: ok: d: at: raw: day: nope: _score:
"""
QUERY_PIECES = [*QUERY_TEXT.split(), "\ud800", "\x00", "\u2028"]
WHERE_TEXT = """
    id b f g s m ok d at raw day nope _score `id` = <> < <= > >= <=> IN ( ) , BETWEEN AND OR NOT IS NULL TRUE FALSE
    LIKE ILIKE RLIKE ESCAPE EXISTS CASE WHEN THEN END SELECT CAST AS INT DATE TIMESTAMP INTERVAL startswith contains
    TEXTSEARCH FIELDMATCH INDEXQUERY * + - / % || . ; -- /* */ ? :x @ [ ] { } 'disk' '%a%' 'a_' '\\' r'x\\' "q"
    '2024-01-01' '0001-01-01T00:00:00+14:00' '9999-12-31T23:59:59-14:00' 'true' 'x' '' X'FF' X'F' 5 -5 0.5 1e400
    1L 2S 3.5BD 99999999999999999999999 'nan' '1_0' 日本語 'disk~' '"a"~2' '((' 'NOT'
"""
WHERE_PIECES = [*WHERE_TEXT.split(), "\ud800", "\x00"]


def _joined(pieces: list[str]) -> st.SearchStrategy[str]:
    glue = st.sampled_from([" ", " ", ""])
    pairs = st.lists(st.tuples(st.sampled_from(pieces), glue), min_size=1, max_size=12)
    return pairs.map(lambda found: "".join(piece + space for piece, space in found))


QUIET = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def _answers(call: Callable[[], object]) -> None:
    """Run a query. Errors of this package are allowed; a panic of the engine is not, and is not an Exception."""
    message = None
    try:
        call()
    except IndexTablesError as error:
        message = str(error)
    assert message is None or 0 < len(message) < 20_000


@given(
    query=_joined(QUERY_PIECES) | st.text(max_size=30),
    column=st.sampled_from(["*", "m", "s", "id", "f", "at", "d", "ok"]),
)
@QUIET
def test_any_search_has_an_answer(table: it.Table, query: str, column: str) -> None:
    _answers(lambda: table.search(query, limit=3, columns=["id"], snippet="m"))
    _answers(lambda: table.count(query=query))
    literal = query.replace("\\", "\\\\").replace("'", "\\'")
    _answers(lambda: table.count(where=f"{column} INDEXQUERY '{literal}' OR id = 1"))


@given(where=_joined(WHERE_PIECES) | st.text(max_size=30))
@QUIET
def test_any_condition_has_an_answer(table: it.Table, where: str) -> None:
    _answers(lambda: table.to_arrow(columns=["id"], where=where))
    _answers(lambda: table.count(where=where))
    _answers(lambda: table.files(where=where))


VALUES = [piece for piece in QUERY_PIECES if piece.isalnum() or piece[:1] in "-0129*?"] + [
    '"disk full"',
    '"C:\\W"',
    "''",
    '""',
]


@given(data=st.data())
@QUIET
def test_any_term_has_an_answer(table: it.Table, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(COLUMNS))
    one, other = data.draw(st.sampled_from(VALUES)), data.draw(st.sampled_from(VALUES))
    term = data.draw(
        st.sampled_from(
            [
                f"{column}:{one}",
                f"{column}:{one}~2^3",
                f"{column}:{one}{other}",
                f"{column}:[{one} TO {other}}}",
                f"{column}:>{one}",
                f"{column}:<={one}^2",
                f"{column}: IN [{one} {other}]",
                f'{column}:"{one} {other}"~3',
                f"{column}:'{one} {other}'*",
                f"{column}:({one} OR NOT {other})",
            ]
        )
    )
    query = data.draw(st.sampled_from(["{}", "NOT {}", "+{} -disk", "m:disk OR NOT ({} AND *)"])).format(term)
    _answers(lambda: table.search(query, limit=3, columns=["id"], snippet="m"))
    _answers(lambda: table.count(query=query, where="b IS NULL OR b > 1"))


COLUMNS = ["id", "b", "f", "g", "s", "m", "ok", "d", "at", "raw", "day"]
LITERALS = [piece for piece in WHERE_PIECES if piece[:1] in "'X-0123456789" and piece[:1]] + [
    "NULL",
    "TRUE",
    "FALSE",
]


@given(data=st.data())
@QUIET
def test_any_comparison_has_an_answer(table: it.Table, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(COLUMNS))
    one, other = data.draw(st.sampled_from(LITERALS)), data.draw(st.sampled_from(LITERALS))
    operator = data.draw(
        st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>", "IN", "BETWEEN", "LIKE", "IS", "startswith"])
    )
    condition = {
        "IN": f"{column} IN ({one}, {other})",
        "BETWEEN": f"{column} BETWEEN {one} AND {other}",
        "startswith": f"startswith({column}, {one})",
    }.get(operator, f"{column} {operator} {one}")
    negated = data.draw(st.sampled_from(["{}", "NOT {}", "NOT ({} AND id < 3)", "{} OR s = 'auth'"]))
    _answers(lambda: table.to_arrow(columns=["id"], where=negated.format(condition)))
    _answers(lambda: table.count(where=negated.format(condition)))


# --- single ones ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        "(" * 300 + "id = 1" + ")" * 300,
        "NOT " * 900 + "id = 1",
        "id = " + "- " * 5_000 + "1",
        "id " + "+ id " * 2_000 + "= 1",
        "id IN (" + "1, " * 10_000 + "1)",
        "id = 1 OR " * 300_000 + "id = 1",
        "id = 1; id = 2",
        "TEXTSEARCH(m)",
        "TEXTSEARCH(m, s)",
        "TEXTSEARCH(m, 5)",
        "id IS TRUE",
        "startswith(id, 'x')",
        "s = 5",
        "id = '1_000'",
        "at = '2024-01-01 00:00:00.123456789'",
        "at = '0001-01-01T00:00:00+14:00'",
        "d = '2024-01-01T00:00'",
        "s = '\ud800'",
        "m TEXTSEARCH '\ud800'",
        "",
        5,
        b"id = 1",
        ["id = 1"],
    ],
    ids=lambda where: repr(where)[:30],
)
def test_a_condition_that_cannot_be_read_is_an_error_of_ours(table: it.Table, where: Any) -> None:
    with pytest.raises((PredicateError, QueryError)) as caught:
        table.count(where=where)
    assert len(str(caught.value)) < 3000


def test_null_in_a_string_match_is_null(table: it.Table) -> None:
    assert table.count(where="s LIKE NULL") == table.count(where="NOT startswith(s, NULL)") == 0


def test_conditions_up_to_the_limits_are_answered(table: it.Table) -> None:
    assert table.count(where="(" * 30 + "id = 1" + ")" * 30) == 1
    assert table.count(where="NOT " * 40 + "id = 1") == 1
    assert table.count(where=" OR ".join(f"id = {n}" for n in range(1000))) == 6
    assert table.count(where=f"id IN ({', '.join(map(str, range(3000)))})") == 6


def test_limits_are_settings(table: it.Table) -> None:
    small = {f"spark.indextables.query.{name}": "3" for name in ("maxTerms", "maxDepth", "maxPatterns")}
    strict = it.open(table.uri, settings=small)
    assert strict.count(query="m:disk OR m:full OR m:ada") == 2
    for query in ("a b c d", "((((a))))", "a* b* c* d*"):
        with pytest.raises(QueryError, match="spark.indextables.query"):
            strict.count(query=query)
    with pytest.raises(PredicateError, match="maxTerms"):
        strict.count(where="id IN (1, 2, 3, 4)")
    with pytest.raises(PredicateError, match="maxDepth"):
        strict.count(where="((((id = 1))))")


@pytest.mark.parametrize("limit", [10**18, 10**30, np.int64(6), np.uint8(200), 1 << 63])
def test_a_limit_may_be_any_whole_number(table: it.Table, limit: Any) -> None:
    assert table.search("*", limit=limit).num_rows == 6
    assert table.to_arrow(limit=limit).num_rows == 6


@pytest.mark.parametrize("limit", [-1, True, False, 1.5, "5", np.float64(2), np.bool_(True), [1], -(10**30)])
def test_a_limit_of_another_kind_is_an_input_error(table: it.Table, limit: Any) -> None:
    for call in (table.search, table.to_arrow, table.to_batches):
        with pytest.raises(InputError, match="limit is"):
            call(**({"query": "disk"} if call == table.search else {}), limit=limit)


@pytest.mark.parametrize(
    "columns", [[], "id", ["id", 5], [None], 5, ["nope"], ["id", "ID"], ["\ud800"], [["id"]], {1: 2}]
)
def test_columns_of_another_kind_are_an_input_error(table: it.Table, columns: Any) -> None:
    for call in (lambda: table.search("disk", columns=columns), lambda: table.to_arrow(columns=columns)):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("snippet", ["nope", "s", "id", "day", 5, True, ["m"], "", "\ud800"])
def test_a_snippet_of_no_text_column_is_an_input_error(table: it.Table, snippet: Any) -> None:
    with pytest.raises(InputError):
        table.search("disk", snippet=snippet)


@pytest.mark.parametrize("query", [5, b"disk", ["disk"], True, ""])
def test_a_query_of_another_kind_is_a_query_error(table: it.Table, query: Any) -> None:
    for call in (lambda: table.search(query), lambda: table.count(query=query)):
        with pytest.raises(QueryError):
            call()


def test_no_query_is_asked_of_search(table: it.Table) -> None:
    none: Any = None
    with pytest.raises(QueryError, match="not NoneType"):
        table.search(none)


def test_windows_paths_in_conditions(table: it.Table) -> None:
    assert table.count(where=r"""m TEXTSEARCH '"C:\Windows\winsxs"'""") == 1
    assert table.count(where=r"""m TEXTSEARCH '"C:\\Windows\\winsxs"'""") == 1
    assert table.count(where=r"""m TEXTSEARCH r'"C:\Windows\winsxs"'""") == 1
    assert table.count(where=r"""s FIELDMATCH '"C:\Windows"'""") == 1
    assert table.count(query=r'm:"C:\Windows\winsxs" AND id:2') == 1
    with pytest.raises(QueryError, match="double the backslash"):
        table.count(where=r"""m TEXTSEARCH '"C:\temp"'""")
