"""Random columns of every type, rows of them, and conditions on them with a plain model of their answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from indextables.predicates import Compare, HasElement, In, IsNull, Not, Or, Predicate, StringMatch

Answer = bool | None
EPOCH = datetime(1970, 1, 1)
WORDS = ("red", "Blue", "red car", "", "naïve", "日本", "a.b", "x" * 40)


@dataclass(frozen=True)
class ColumnType:
    """An Arrow type of the input, the type that comes back, and its values."""

    given: pa.DataType
    values: st.SearchStrategy[Any]
    stored: pa.DataType | None = None

    @property
    def read(self) -> pa.DataType:
        return self.given if self.stored is None else self.stored


def _decimals(precision: int, scale: int) -> ColumnType:
    most = 10**precision - 1
    digits = st.integers(-most, most) | st.sampled_from([0, 1, -1, most, -most]) | st.integers(-3, 3)
    wide = Context(prec=60)
    return ColumnType(pa.decimal128(precision, scale), digits.map(lambda n: Decimal(n).scaleb(-scale, wide)))


def _integers(kind: pa.DataType, stored: pa.DataType | None = None) -> ColumnType:
    signed = "uint" not in str(kind)
    low = -(1 << (kind.bit_width - 1)) if signed else 0
    high = (1 << (kind.bit_width - signed)) - 1
    return ColumnType(kind, st.integers(low, high) | st.sampled_from([0, 1, low, high]), stored)


_micros = st.integers(-62135596800000000, 253402300799999999) | st.sampled_from([0, -1, 1])
_wall_times = _micros.map(lambda n: EPOCH + timedelta(microseconds=n))
_floats = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.25]) | st.floats(width=32)

SIMPLE: dict[str, ColumnType] = {
    "string": ColumnType(pa.string(), st.sampled_from(WORDS)),
    "long": _integers(pa.int64()),
    "byte": _integers(pa.int8()),
    "uint8": _integers(pa.uint8(), pa.int16()),
    "uint32": _integers(pa.uint32(), pa.int64()),
    "uint64": ColumnType(
        pa.uint64(),
        (st.integers(0, 2**64 - 1) | st.sampled_from([0, 2**64 - 1])).map(Decimal),
        pa.decimal128(20, 0),
    ),
    "double": ColumnType(pa.float64(), _floats),
    "float": ColumnType(pa.float32(), _floats),
    "boolean": ColumnType(pa.bool_(), st.booleans()),
    "date": ColumnType(pa.date32(), st.dates()),
    "timestamp": ColumnType(pa.timestamp("us", "UTC"), _wall_times.map(lambda t: t.replace(tzinfo=UTC))),
    "timestamp_ntz": ColumnType(pa.timestamp("us"), _wall_times),
    "decimal": _decimals(9, 2),
    "decimal18": _decimals(18, 18),
    "decimal19": _decimals(19, 0),
    "decimal38": _decimals(38, 10),
    "binary": ColumnType(pa.binary(), st.binary(max_size=3)),
}
COMPARED = tuple(name for name in SIMPLE if name != "binary")


def _nested(inner: ColumnType) -> list[ColumnType]:
    given, read, values = inner.given, inner.read, inner.values
    maybe = st.none() | values
    keys = st.sampled_from(["k", "x.y", "Key", ""])
    return [
        ColumnType(pa.list_(given), st.lists(maybe, max_size=3), pa.list_(pa.field("element", read))),
        ColumnType(
            pa.struct([("a", given), ("b c", pa.string())]),
            st.fixed_dictionaries({"a": maybe, "b c": st.none() | st.sampled_from(WORDS)}),
            pa.struct([("a", read), ("b c", pa.string())]),
        ),
        ColumnType(
            pa.map_(pa.string(), given),
            st.dictionaries(keys, maybe, max_size=2).map(lambda d: list(d.items())),
            pa.map_(pa.string(), read),
        ),
    ]


FIXED_FLOATS = ColumnType(
    pa.list_(pa.float32(), 2),
    st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=2),
    pa.list_(pa.field("element", pa.float32())),
)
simple_types = st.sampled_from([SIMPLE[name] for name in COMPARED])
nested_types = simple_types.flatmap(lambda inner: st.sampled_from(_nested(inner)))
column_types = (
    st.sampled_from(list(SIMPLE.values()))
    | nested_types
    | nested_types.flatmap(lambda inner: st.sampled_from(_nested(inner)))
    | st.just(FIXED_FLOATS)
    | st.just(ColumnType(pa.null(), st.none()))
)


@st.composite
def tables(draw: st.DrawFn, types: st.SearchStrategy[ColumnType] = column_types) -> tuple[pa.Table, pa.Table]:
    """Return rows as a caller gives them, and as a table returns them. The column `id` numbers them."""
    kinds = draw(st.lists(types, min_size=1, max_size=4))
    count = draw(st.integers(0, 12))
    given, read = {"id": pa.array(range(count), pa.int64())}, {"id": pa.array(range(count), pa.int64())}
    for number, kind in enumerate(kinds):
        values = draw(st.lists(st.none() | kind.values, min_size=count, max_size=count))
        read[f"c{number}"] = pa.array(values, kind.read)
        given[f"c{number}"] = _array(values, kind)
    return pa.table(given), pa.table(read)


def _array(values: list[Any], kind: ColumnType) -> pa.Array:
    if kind.given == pa.uint64():
        return pa.array([None if v is None else int(v) for v in values], pa.uint64())
    try:
        return pa.array(values, kind.given)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        TypeError,
    ):  # Arrow takes no Decimal for an unsigned integer inside
        return pa.array(values, kind.read)


@dataclass(frozen=True)
class Asked:
    """A condition, and its answer for one row."""

    predicate: Predicate
    answer: Callable[[dict[str, Any]], Answer]


def same(left: Any, right: Any) -> bool:
    """Compare as SQL does: NaN equals itself, and the two zeros are one."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right)


def _below(left: Any, right: Any) -> bool:
    if isinstance(left, float) and math.isnan(left):
        return False
    if isinstance(right, float) and math.isnan(right):
        return True
    return bool(left < right)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": same,
    "<>": lambda a, b: not same(a, b),
    "<": _below,
    "<=": lambda a, b: _below(a, b) or same(a, b),
    ">": lambda a, b: _below(b, a),
    ">=": lambda a, b: _below(b, a) or same(a, b),
}


@st.composite
def conditions(draw: st.DrawFn, rows: pa.Table) -> Asked:
    """Return a condition on one of the columns, often with a literal that a row has."""
    leaf = draw(_leaves(rows))
    match draw(st.integers(0, 3)):
        case 0:
            return Asked(Not(leaf.predicate), lambda row: _negated(leaf.answer(row)))
        case 1:
            other = draw(_leaves(rows))
            return Asked(
                Or((leaf.predicate, other.predicate)),
                lambda row: _either(leaf.answer(row), other.answer(row)),
            )
        case _:
            return leaf


def _negated(answer: Answer) -> Answer:
    return None if answer is None else not answer


def _either(one: Answer, other: Answer) -> Answer:
    if one or other:
        return True
    return None if one is None or other is None else False


@st.composite
def _leaves(draw: st.DrawFn, rows: pa.Table) -> Asked:
    path, kind, value_of = draw(st.sampled_from(_places(rows.schema)))
    present = [value for row in rows.to_pylist() if (value := value_of(row)) is not None]
    if pa.types.is_list(kind):
        inner = [value for values in present for value in values if value is not None]
        literal = draw(_literals(inner, kind.value_type))
        if literal is None:
            return Asked(IsNull(path), lambda row: value_of(row) is None)
        return Asked(HasElement(path, literal), lambda row: _has_element(value_of(row), literal))
    literal = None if pa.types.is_null(kind) else draw(_literals(present, kind))
    if literal is None or draw(st.integers(0, 5)) == 0:
        return Asked(IsNull(path), lambda row: value_of(row) is None)
    if isinstance(literal, str) and draw(st.booleans()):
        return Asked(
            StringMatch("starts_with", path, literal[:2]),
            lambda row: None if value_of(row) is None else value_of(row).startswith(literal[:2]),
        )
    if draw(st.integers(0, 3)) == 0:
        literals = tuple(
            draw(st.lists(st.none() | st.just(literal) | _literals(present, kind), min_size=1, max_size=3))
        )
        return Asked(In(path, literals), lambda row: _is_in(value_of(row), literals))
    op = draw(st.sampled_from(list(_OPERATORS)))
    return Asked(
        Compare(op, path, literal),  # type: ignore[arg-type]
        lambda row: None if value_of(row) is None else _OPERATORS[op](value_of(row), literal),
    )


def _literals(present: list[Any], kind: pa.DataType) -> st.SearchStrategy[Any]:
    typed = [t.values for t in SIMPLE.values() if t.read == kind]
    choices = [*([st.sampled_from(present)] if present else []), *typed]
    if pa.types.is_decimal(kind) and present:  # between two values of the column
        tiny = Decimal(1).scaleb(-kind.scale - 1, Context(prec=60))
        choices.append(st.sampled_from(present).map(lambda value: Context(prec=60).add(value, tiny)))
    return st.one_of(choices) if choices else st.none()


def _is_in(value: Any, literals: tuple[Any, ...]) -> Answer:
    if value is None:
        return None
    if any(literal is not None and same(value, literal) for literal in literals):
        return True
    return None if None in literals else False


def _has_element(values: list[Any] | None, literal: Any) -> Answer:
    if values is None:
        return None
    if any(value is not None and same(value, literal) for value in values):
        return True
    return None if None in values else False


Place = tuple[str, pa.DataType, Callable[[dict[str, Any]], Any]]


def _places(schema: pa.Schema) -> list[Place]:
    """Return what a condition can name: columns, and fields of structs."""
    places: list[Place] = []
    for field in schema:
        places.extend(_places_of(field.name, field.type, lambda row, name=field.name: row[name]))
    return places


def _places_of(path: str, kind: pa.DataType, value_of: Callable[[dict[str, Any]], Any]) -> list[Place]:
    if pa.types.is_struct(kind):
        found: list[Place] = [(path, pa.null(), value_of)]
        for field in kind.fields:

            def inner(row: dict[str, Any], name: str = field.name) -> Any:
                outer = value_of(row)
                return None if outer is None else outer[name]

            found += _places_of(f"{path}.{field.name}", field.type, inner)
        return found
    is_asked = not pa.types.is_nested(kind) or (
        pa.types.is_list(kind) and not pa.types.is_nested(kind.value_type)
    )
    return [(path, kind if is_asked else pa.null(), value_of)]
