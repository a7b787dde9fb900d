"""A predicate over Arrow rows, with Spark's semantics: three-valued logic, NaN equal to itself and above all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import reduce
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicates.tree import (
    And,
    Compare,
    CompareOp,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
)
from indextables.schema import Value

TextAnswer: TypeAlias = Callable[[TextQuery], pa.BooleanArray]
"""Answers a text query for each row of the batch: TRUE, FALSE or null."""

_COMPARE: Final[dict[str, Callable[..., pa.Array]]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_MATCH: Final[dict[str, Callable[..., pa.Array]]] = {
    "starts_with": pc.starts_with,
    "ends_with": pc.ends_with,
    "contains": pc.match_substring,
}


def _no_text(query: TextQuery) -> pa.BooleanArray:
    raise ValueError(f"{query.op} on {query.column!r} needs an index, and these rows have none")


def evaluate(predicate: Predicate, batch: pa.RecordBatch, text: TextAnswer = _no_text) -> pa.BooleanArray:
    """Evaluate the predicate for each row of the batch: TRUE, FALSE or null.

    >>> rows = pa.record_batch({"n": [1, None, 3]})
    >>> evaluate(Not(Compare("=", "n", 1)), rows).to_pylist()
    [False, None, True]
    """
    match predicate:
        case Constant(value):
            return pa.repeat(pa.scalar(value, pa.bool_()), batch.num_rows)
        case And(children):
            return reduce(pc.and_kleene, (evaluate(child, batch, text) for child in children))
        case Or(children):
            return reduce(pc.or_kleene, (evaluate(child, batch, text) for child in children))
        case Not(child):
            return pc.invert(evaluate(child, batch, text))
        case IsNull(column):
            return pc.is_null(batch.column(column))
        case Compare(op, column, value):
            return _compare(op, batch.column(column), value)
        case In(column, values):
            return _is_in(batch.column(column), values)
        case StringMatch(kind, column, pattern):
            return _MATCH[kind](batch.column(column), pattern=pattern)
        case TextQuery():
            return text(predicate)


def _compare(op: CompareOp, values: pa.Array, literal: Value | None) -> pa.BooleanArray:
    if op == "<=>":
        if literal is None:
            return pc.is_null(values)
        return pc.fill_null(_compare("=", values, literal), fill_value=False)
    if literal is None:
        return pa.nulls(len(values), pa.bool_())
    if pa.types.is_floating(values.type):
        return _compare_float(op, pc.cast(values, pa.float64()), float(literal))  # type: ignore[arg-type]
    widened = _widen(values)
    return _COMPARE[op](widened, pa.scalar(literal, widened.type))


def _compare_float(op: CompareOp, values: pa.Array, literal: float) -> pa.BooleanArray:
    nan = pc.is_nan(values)
    if math.isnan(literal):
        is_valid = pc.is_valid(values)
        always, never = pc.or_kleene(nan, pc.invert(nan)), pc.and_kleene(nan, pc.invert(nan))
        answers = {"=": nan, ">=": nan, "<>": pc.invert(nan), "<": pc.invert(nan), "<=": always, ">": never}
        return pc.if_else(is_valid, answers[op], pa.scalar(None, pa.bool_()))
    plain = _COMPARE[op](values, pa.scalar(literal, pa.float64()))
    return pc.or_kleene(plain, nan) if op in (">", ">=") else plain


def _is_in(values: pa.Array, literals: Sequence[Value | None]) -> pa.BooleanArray:
    present = [literal for literal in literals if literal is not None]
    if pa.types.is_floating(values.type):
        answers = reduce(
            pc.or_kleene, (_compare("=", values, literal) for literal in present), _false_or_null(values)
        )
    else:
        widened = _widen(values)
        answers = pc.is_in(widened, value_set=pa.array(present, widened.type))
        answers = pc.if_else(pc.is_valid(values), answers, pa.scalar(None, pa.bool_()))
    if len(present) < len(literals):
        answers = pc.if_else(answers, answers, pa.scalar(None, pa.bool_()))
    return answers


def _false_or_null(values: pa.Array) -> pa.BooleanArray:
    return pc.if_else(pc.is_valid(values), pa.scalar(False), pa.scalar(None, pa.bool_()))


def _widen(values: pa.Array) -> pa.Array:
    """Widen integers to 64 bits, so that a literal outside the column's own range compares instead of failing."""
    if pa.types.is_integer(values.type) and values.type != pa.int64():
        return pc.cast(values, pa.int64())
    return values


def holds(leaf: Compare | In | IsNull | StringMatch, value: Value | None) -> bool | None:
    """Evaluate a leaf for one value, such as that of a partition.

    >>> holds(Compare("<", "day", 5), 4), holds(In("day", (1, None)), 2), holds(IsNull("day"), None)
    (True, None, True)
    """
    match leaf:
        case IsNull():
            return value is None
        case Compare("<=>", _, literal):
            return value == literal if (value is None) == (literal is None) else False
        case Compare(op, _, literal):
            return None if value is None or literal is None else _holds_compare(op, value, literal)
        case In(_, literals):
            if value is None:
                return None
            if value in literals:
                return True
            return None if None in literals else False
        case StringMatch(kind, _, pattern):
            if value is None:
                return None
            whole = str(value)
            return {
                "starts_with": whole.startswith(pattern),
                "ends_with": whole.endswith(pattern),
                "contains": pattern in whole,
            }[kind]


def _holds_compare(op: CompareOp, value: Value, literal: Value) -> bool:
    if isinstance(value, datetime) != isinstance(literal, datetime):
        raise TypeError(f"a date and a timestamp cannot be compared: {value!r} {op} {literal!r}")
    left, right = value, literal
    return {
        "=": left == right,
        "<>": left != right,
        "<": left < right,  # type: ignore[operator]
        "<=": left <= right,  # type: ignore[operator]
        ">": left > right,  # type: ignore[operator]
        ">=": left >= right,  # type: ignore[operator]
    }[op]
