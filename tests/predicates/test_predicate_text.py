"""A predicate as SQL reads back as the same predicate."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import PredicateError
from indextables.predicates import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
    parse_where,
    to_sql,
)
from indextables.schema import Field, TableSchema

COLUMNS = {
    "n": ("long", st.integers(-(1 << 63), (1 << 63) - 1)),
    "f": ("double", st.floats(allow_nan=False)),
    "some text": ("string", st.text()),
    "b": ("boolean", st.booleans()),
    "raw": ("binary", st.binary(max_size=4)),
    "date": ("date", st.dates()),
    "order`by": ("timestamp", st.datetimes(timezones=st.just(UTC))),
}
SCHEMA = TableSchema(tuple(Field(name, kind) for name, (kind, _) in COLUMNS.items()))
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


@st.composite
def leaves(draw: st.DrawFn) -> Predicate:
    name = draw(st.sampled_from(list(COLUMNS)))
    values = COLUMNS[name][1]
    return draw(
        st.one_of(
            st.builds(Compare, OPERATORS, st.just(name), values),
            st.just(Compare("<=>", name, None)),
            st.builds(In, st.just(name), st.lists(values | st.none(), min_size=1, max_size=3).map(tuple)),
            st.builds(IsNull, st.just(name)),
            st.builds(
                StringMatch,
                st.sampled_from(["starts_with", "ends_with", "contains"]),
                st.just("some text"),
                st.text(max_size=4) | st.text("a%_\\'", max_size=4),
            ),
            st.builds(
                TextQuery,
                st.sampled_from(["TEXTSEARCH", "FIELDMATCH", "INDEXQUERY"]),
                st.sampled_from(["some text", "*"]),
                st.text(max_size=8),
            ),
            st.sampled_from([Constant(value=True), Constant(value=False), Constant(None)]),
        )
    )


def _compound(children: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    def of(kind: type[And | Or]) -> st.SearchStrategy[Predicate]:
        # Nested ones of a kind mean the same as one flat one, which is how they are read back.
        others = children.filter(lambda child: not isinstance(child, kind))
        return st.lists(others, min_size=2, max_size=3).map(lambda items: kind(tuple(items)))

    return of(And) | of(Or) | children.map(Not)


@given(st.recursive(leaves(), _compound, max_leaves=6))
def test_sql_reads_back_as_the_same_predicate(predicate: Predicate):
    assert parse_where(to_sql(predicate), SCHEMA) == predicate


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (And((Compare(">=", "n", 1), Not(In("n", (2, 3))))), "n >= 1 AND NOT n IN (2, 3)"),
        (
            Or((IsNull("b"), And((Compare("=", "b", True), Not(IsNull("n")))))),
            "b IS NULL OR (b = TRUE AND n IS NOT NULL)",
        ),
        (StringMatch("starts_with", "some text", "ab"), "`some text` LIKE 'ab%'"),
        (StringMatch("contains", "some text", "a_b"), "contains(`some text`, 'a_b')"),
        (TextQuery("TEXTSEARCH", "*", 'a AND "b c"'), "* TEXTSEARCH 'a AND \"b c\"'"),
        (Compare("<", "date", date(2024, 2, 29)), "`date` < DATE '2024-02-29'"),
        (
            Compare("<", "t", datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)),
            "t < TIMESTAMP '2024-02-29 01:02:03+00:00'",
        ),
        (Compare("=", "raw", b"\x00\xff"), "raw = X'00FF'"),
        (Compare("=", "f", float("nan")), "f = CAST('NaN' AS DOUBLE)"),
        (And(()), "TRUE"),
        (Or(()), "FALSE"),
        (In("n", ()), "FALSE"),
    ],
    ids=str,
)
def test_the_sql_is_what_a_person_would_write(predicate: Predicate, text: str):
    assert to_sql(predicate) == text


@pytest.mark.parametrize("text", ["a =", "a = = 1", "(a = 1", "SELECT 1"])
def test_the_error_of_a_condition_that_does_not_parse_names_no_class_of_the_parser(text: str):
    with pytest.raises(PredicateError, match="cannot parse the condition") as raised:
        parse_where(text, TableSchema((Field("a", "integer"),)))
    assert "sqlglot" not in str(raised.value)
