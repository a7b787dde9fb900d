"""Predicates answer as Spark does, survive rewriting unchanged, and never prune a file that holds a match."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.errors import PredicateError
from indextables.predicates import (
    And,
    Bounds,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
    bind,
    evaluate,
    from_spark,
    holds,
    may_match,
    normalize,
    parse_where,
)
from indextables.schema import Field, TableSchema

SCHEMA = TableSchema(
    (
        Field("n", "integer"),
        Field("f", "double"),
        Field("s", "string"),
        Field("b", "boolean"),
        Field("d", "date"),
        Field("t", "timestamp"),
    )
)

DAYS = st.dates(date(2020, 1, 1), date(2020, 1, 6))
MOMENTS = st.integers(0, 4).map(lambda n: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(microseconds=n))
VALUES = {
    "n": st.integers(-2, 2),
    "f": st.sampled_from([-1.5, -0.0, 0.0, 2.5, math.inf, math.nan]),
    "s": st.text("abé\U0001f600", max_size=3),
    "b": st.booleans(),
    "d": DAYS,
    "t": MOMENTS,
}
ROWS = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})
COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


def leaves() -> st.SearchStrategy[Predicate]:
    def on(name: str) -> st.SearchStrategy[Predicate]:
        value = VALUES[name]
        return st.one_of(
            st.builds(Compare, COMPARISONS, st.just(name), value),
            st.builds(Compare, st.just("<=>"), st.just(name), st.none()),
            st.builds(In, st.just(name), st.lists(st.none() | value, max_size=3).map(tuple)),
            st.just(IsNull(name)),
        )

    match = st.builds(
        StringMatch, st.sampled_from(["starts_with", "ends_with", "contains"]), st.just("s"), VALUES["s"]
    )
    return st.one_of(
        *(on(name) for name in VALUES), match, st.builds(Constant, st.sampled_from([True, False, None]))
    )


PREDICATES = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda c: And(tuple(c))),
        st.lists(inner, min_size=1, max_size=3).map(lambda c: Or(tuple(c))),
        inner.map(Not),
    ),
    max_leaves=6,
)


def model(predicate: Predicate, row: dict) -> bool | None:
    """SQL's three-valued logic, one row at a time, NaN equal to itself and above every number."""
    match predicate:
        case Constant(value):
            return value
        case And(children):
            answers = [model(child, row) for child in children]
            return False if False in answers else None if None in answers else True
        case Or(children):
            answers = [model(child, row) for child in children]
            return True if True in answers else None if None in answers else False
        case Not(child):
            answer = model(child, row)
            return None if answer is None else not answer
        case IsNull(column):
            return row[column] is None
        case Compare(op, column, value):
            return compared(op, row[column], value)
        case In(column, values):
            if row[column] is None:
                return None
            if any(v is not None and compared("=", row[column], v) for v in values):
                return True
            return None if None in values else False
        case StringMatch(kind, column, value):
            if row[column] is None:
                return None
            return {
                "starts_with": row[column].startswith(value),
                "ends_with": row[column].endswith(value),
                "contains": value in row[column],
            }[kind]
    raise AssertionError(predicate)


def compared(op: str, left: object, right: object) -> bool | None:
    if op == "<=>" and (left is None or right is None):
        return left is None and right is None
    if left is None or right is None:
        return None
    a, b = ordered(left), ordered(right)
    return {"=": a == b, "<=>": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def ordered(value: object) -> object:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


@settings(max_examples=400, deadline=None)
@given(PREDICATES, st.lists(ROWS, min_size=1, max_size=5))
def test_rows_are_judged_as_sql_judges_them(predicate: Predicate, rows: list[dict]) -> None:
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA.arrow)
    expected = [model(predicate, row) for row in rows]
    assert evaluate(predicate, batch).to_pylist() == expected
    assert evaluate(normalize(predicate), batch).to_pylist() == expected


@settings(max_examples=300, deadline=None)
@given(PREDICATES, st.lists(ROWS, min_size=1, max_size=3))
def test_a_known_column_can_be_put_in(predicate: Predicate, rows: list[dict]) -> None:
    known = {name: rows[0][name] for name in ("n", "s", "d", "t", "b")}
    rows = [row | known for row in rows]
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA.arrow)
    bound = bind(predicate, known)
    kept = [answer is True for answer in evaluate(bound, batch).to_pylist()]
    assert kept == [model(predicate, row) is True for row in rows]


@settings(max_examples=600, deadline=None)
@given(PREDICATES, st.lists(ROWS, max_size=4), st.integers(0, 3))
def test_no_file_with_a_matching_row_is_pruned(predicate: Predicate, rows: list[dict], cut: int) -> None:
    def bounds(name: str) -> Bounds | None:
        present = [row[name] for row in rows if row[name] is not None]
        if not present or (name == "f" and any(math.isnan(v) for v in present)):
            return None
        low, high = min(present), max(present)
        if name == "s" and cut:
            return Bounds(low[:cut], high[:cut], high_is_prefix=len(high) >= cut)
        return Bounds(low, high)

    if any(model(predicate, row) is True for row in rows):
        assert may_match(predicate, bounds)


@pytest.mark.parametrize(
    ("predicate", "pruned"),
    [
        (Compare("=", "n", 5), True),
        (Compare("<", "n", 10), True),
        (Compare("<=", "n", 10), False),
        (Compare(">", "n", 20), True),
        (Not(Compare("<=", "n", 20)), True),
        (In("n", (1, 2, 99)), True),
        (In("n", (1, 15)), False),
        (And((Compare(">", "n", 12), Compare("=", "n", 30))), True),
        (Or((Compare("=", "n", 1), Compare("=", "n", 2))), True),
        (IsNull("n"), False),
        (TextQuery("TEXTSEARCH", "s", "x"), False),
    ],
)
def test_files_outside_the_bounds_are_pruned(predicate: Predicate, pruned: bool) -> None:
    assert may_match(predicate, {"n": Bounds(10, 20)}.get) is not pruned


def test_a_prefix_prunes_by_string_bounds() -> None:
    bounds = {"s": Bounds("melon", "peach")}.get
    assert not may_match(StringMatch("starts_with", "s", "z"), bounds)
    assert not may_match(StringMatch("starts_with", "s", "apple"), bounds)
    assert may_match(StringMatch("starts_with", "s", "pea"), bounds)


@settings(max_examples=200, deadline=None)
@given(leaves(), ROWS)
def test_one_value_is_judged_like_a_column_of_it(leaf: Predicate, row: dict) -> None:
    if isinstance(leaf, Constant) or leaf.column == "f":
        return
    assert holds(leaf, row[leaf.column]) == model(leaf, row)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n = 1", Compare("=", "n", 1)),
        ("5 > n", Compare("<", "n", 5)),
        ("N != -3", Compare("<>", "n", -3)),
        ("s = 'it''s'", Compare("=", "s", "it's")),
        (r"s = 'it\'s'", Compare("=", "s", "it's")),
        ("s LIKE 'web%'", StringMatch("starts_with", "s", "web")),
        ("s LIKE '%full%'", StringMatch("contains", "s", "full")),
        ("n BETWEEN 1 AND 3", And((Compare(">=", "n", 1), Compare("<=", "n", 3)))),
        ("n NOT IN (1, NULL)", Not(In("n", (1, None)))),
        ("s IS NOT NULL", Not(IsNull("s"))),
        ("n <=> NULL", Compare("<=>", "n", None)),
        ("b", Compare("=", "b", True)),
        ("b = false", Compare("=", "b", False)),
        ("d >= DATE '2024-01-31'", Compare(">=", "d", date(2024, 1, 31))),
        ("d = '2024-01-31'", Compare("=", "d", date(2024, 1, 31))),
        ("d = ' 2024-01-31 '", Compare("=", "d", date(2024, 1, 31))),
        (
            "t < TIMESTAMP '2024-01-31 12:00:00.000001'",
            Compare("<", "t", datetime(2024, 1, 31, 12, 0, 0, 1, tzinfo=UTC)),
        ),
        ("`s` TEXTSEARCH 'a AND \"b c\"'", TextQuery("TEXTSEARCH", "s", 'a AND "b c"')),
        ("* textsearch 'x' or n=1", Or((TextQuery("TEXTSEARCH", "*", "x"), Compare("=", "n", 1)))),
        ("NOT s FIELDMATCH 'x'", Not(TextQuery("FIELDMATCH", "s", "x"))),
        ("s = 'a TEXTSEARCH b'", Compare("=", "s", "a TEXTSEARCH b")),
        ("true", Constant(value=True)),
    ],
)
def test_conditions_are_read_as_spark_sql(text: str, expected: Predicate) -> None:
    assert parse_where(text, SCHEMA) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("n = ", "cannot parse"),
        ("nope = 1", "no column 'nope'"),
        ("n = 'x'", "'x' is not a integer"),
        ("n = 1.5", "'1.5' is not a integer"),
        ("n + 1 = 2", "is not supported"),
        ("s LIKE 'a_b%'", "is not supported"),
        ("d = '2024-13-01'", "is not a date"),
        ("n = s", "is not supported"),
    ],
)
def test_a_condition_that_cannot_be_read_says_why(text: str, reason: str) -> None:
    with pytest.raises(PredicateError, match=reason):
        parse_where(text, SCHEMA)


def col(name: str) -> dict:
    return {"col": [name]}


def lit(value: str | None, kind: str) -> dict:
    return {"lit": value, "type": kind}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"op": "<", "args": [lit("5", "int"), col("n")]}, Compare(">", "n", 5)),
        ({"op": "<=>", "args": [col("s"), lit(None, "string")]}, Compare("<=>", "s", None)),
        ({"op": "IN", "args": [col("n"), lit("1", "int"), lit(None, "int")]}, In("n", (1, None))),
        ({"op": "=", "args": [col("d"), lit("1", "date")]}, Compare("=", "d", date(1970, 1, 2))),
        (
            {"op": "=", "args": [col("t"), lit("-1", "timestamp")]},
            Compare("=", "t", datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        ),
        ({"op": "NOT", "args": [{"op": "IS_NULL", "args": [col("n")]}]}, Not(IsNull("n"))),
        (
            {
                "op": "BOOLEAN_EXPRESSION",
                "args": [{"udf": "textsearch", "args": [col("s"), lit("q", "string")]}],
            },
            TextQuery("TEXTSEARCH", "s", "q"),
        ),
        (
            {"udf": "indexquery", "args": [col("_indexall"), lit("q", "string")]},
            TextQuery("INDEXQUERY", "*", "q"),
        ),
        # Not ours: another type than the column's, an expression, a nested field, a column of computed values.
        ({"op": "=", "args": [col("n"), lit("5", "bigint")]}, None),
        ({"op": "=", "args": [{"op": "+", "args": [col("n"), col("n")]}, lit("5", "int")]}, None),
        ({"op": "AND", "args": [{"op": "IS_NULL", "args": [col("n")]}, {"op": "RLIKE", "args": []}]}, None),
        ({"op": ">", "args": [col("_score"), lit("1.0", "double")]}, None),
        ({"op": "=", "args": [{"col": ["s", "x"]}, lit("5", "string")]}, None),
        ({"op": "=", "args": [col("d"), lit("99999999", "date")]}, None),
    ],
)
def test_what_spark_pushes_is_read_or_left_to_spark(node: dict, expected: Predicate | None) -> None:
    assert from_spark(node, SCHEMA) == expected
