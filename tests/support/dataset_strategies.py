"""Hypothesis strategies for datasets of column groups: rows, how they are stored, what is deleted, what is asked.

A table has few distinct values, drawn one by one, and rows that are drawn as places among them: an example of 80 rows
shrinks to the values that matter.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from indextables.columns import DeltaLogType, SchemaBased, Single, SizeBased

EPOCH = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
WORDS = ("", "a", "ab", "b", "ba", "ñ", "longer text " * 3)
KINDS = {
    "i": pa.int64(),
    "n": pa.int32(),
    "s": pa.string(),
    "f": pa.float64(),
    "b": pa.bool_(),
    "t": pa.timestamp("us", tz="UTC"),
    "d": pa.date32(),
    "v": pa.list_(pa.int32()),
    "x": pa.binary(),
}
"""The first letter of a column's name says its type."""

_VALUES: dict[str, st.SearchStrategy[object]] = {
    "i": st.integers(-5, 20),
    "n": st.integers(-5, 20),
    "s": st.sampled_from(WORDS),
    "f": st.sampled_from([float("nan"), 0.0, -0.0, 1.5, -2.0, 7.0]),
    "b": st.booleans(),
    "t": st.integers(0, 9).map(lambda n: EPOCH + dt.timedelta(seconds=n)),
    "d": st.integers(0, 9).map(lambda n: EPOCH.date() + dt.timedelta(days=n)),
    "v": st.lists(st.integers(0, 3), max_size=3),
    "x": st.binary(max_size=3),
}

Computed: TypeAlias = Callable[[pa.Table], pa.ChunkedArray]


def values(name: str) -> st.SearchStrategy[object]:
    """Return the values of a column, null among them."""
    return st.none() | _VALUES[name[0]]


column_names = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6).map(
    lambda kinds: [f"{kind}{i}" for i, kind in enumerate(kinds)]
)


@st.composite
def columns(draw: st.DrawFn, name: str, rows: int) -> pa.Array:
    """Draw the values of one column. Some are sorted, so that statistics rule row groups out."""
    pool = draw(st.lists(values(name), min_size=1, max_size=6))
    random = draw(st.randoms(use_true_random=False))
    drawn = random.choices(pool, k=rows)
    if name[0] in "ins" and draw(st.booleans()):
        drawn.sort(key=lambda value: (value is None, value))
    return pa.array(drawn, KINDS[name[0]])


@st.composite
def tables(draw: st.DrawFn, names: Sequence[str], rows: st.SearchStrategy[int]) -> pa.Table:
    count = draw(rows)
    return pa.table({name: draw(columns(name, count)) for name in names})


policies = st.one_of(
    st.just(Single()),
    st.sampled_from("insf").map(lambda kind: SchemaBased((kind + ".*", ".*[01]"))),
    st.builds(
        SizeBased,
        max_avg_column_size=st.sampled_from([1, 6, 50]),
        max_columns_in_group=st.integers(1, 3),
    ),
)

write_options = st.fixed_dictionaries(
    {
        "policy": policies,
        "format": st.sampled_from(["parquet"] * 9 + ["vortex"]),
        "row_group_bytes": st.sampled_from([50, 300, 1 << 20]),
        "rolling_bytes": st.sampled_from([200, 700, 1 << 30]),
        "compression": st.sampled_from(["zstd", "snappy", "none"]),
    }
)

delta_types = st.lists(st.sampled_from(list(DeltaLogType)), unique=True, max_size=3)


@dataclass(frozen=True)
class Condition:
    """A predicate in SQL, and what pyarrow computes for it: TRUE, FALSE or null for each row."""

    sql: str
    compute: Computed


@st.composite
def comparisons(draw: st.DrawFn, name: str) -> Condition:
    """Draw a condition on one column."""
    match name[0]:
        case "i" | "n":
            number = draw(st.integers(-6, 21))
            operators = [("<", pc.less), (">=", pc.greater_equal), ("=", pc.equal), ("<>", pc.not_equal)]
            operator, compare = draw(st.sampled_from(operators))
            return Condition(
                f"{name} {operator} {number}", lambda t: compare(t[name], pa.scalar(number, t[name].type))
            )
        case "s":
            word = draw(st.sampled_from(WORDS[:5]))
            if draw(st.booleans()):
                return Condition(f"{name} LIKE '{word}%'", lambda t: pc.starts_with(t[name], word))
            return Condition(f"{name} > '{word}'", lambda t: pc.greater(t[name], word))
        case "f":
            limit = draw(st.sampled_from([-2.0, 0.0, 1.5]))
            return Condition(f"{name} <= {limit}", lambda t: pc.less_equal(t[name], limit))
        case "b":
            return Condition(f"{name} = true", lambda t: pc.equal(t[name], True))
        case "t":
            moment = draw(_VALUES["t"])
            return Condition(
                f"{name} < '{moment.isoformat()}'",
                lambda t: pc.less(t[name], pa.scalar(moment, t[name].type)),
            )
        case "d":
            day = draw(_VALUES["d"])
            return Condition(f"{name} >= '{day}'", lambda t: pc.greater_equal(t[name], pa.scalar(day)))
        case _:
            return Condition(f"{name} IS NULL", lambda t: pc.is_null(t[name]))


def conditions(names: Sequence[str]) -> st.SearchStrategy[Condition]:
    """Return conditions on these columns, joined by AND, OR and NOT."""

    def join(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        return st.one_of(
            inner.map(lambda c: Condition(f"NOT ({c.sql})", lambda t: pc.invert(c.compute(t)))),
            st.tuples(inner, st.sampled_from([("AND", pc.and_kleene), ("OR", pc.or_kleene)]), inner).map(
                lambda drawn: Condition(
                    f"({drawn[0].sql}) {drawn[1][0]} ({drawn[2].sql})",
                    lambda t: drawn[1][1](drawn[0].compute(t), drawn[2].compute(t)),
                )
            ),
        )

    return st.recursive(st.sampled_from(list(names)).flatmap(comparisons), join, max_leaves=4)
