"""A predicate over Arrow rows, with Spark's semantics: three-valued logic, NaN equal to itself and above all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Context, Decimal
from functools import reduce
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicates.tree import (
    And,
    Compare,
    CompareOp,
    Constant,
    HasElement,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
)
from indextables.schema import MAX_PRECISION, Value, holds_decimal, path_values, unscaled

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
            return pc.is_null(path_values(batch, column))
        case Compare(op, column, value):
            return _compare(op, path_values(batch, column), value)
        case In(column, values):
            return _is_in(path_values(batch, column), values)
        case StringMatch(kind, column, pattern):
            return _MATCH[kind](path_values(batch, column), pattern=pattern)
        case HasElement(column, value):
            return _has_element(path_values(batch, column), value)
        case TextQuery():
            return text(predicate)


def _has_element(lists: pa.Array, literal: Value | None) -> pa.BooleanArray:
    if literal is None:
        return pa.nulls(len(lists), pa.bool_())
    equal = _compare("=", lists.flatten(), literal)
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    has_value, has_null = np.zeros(len(lists), np.bool_), np.zeros(len(lists), np.bool_)
    has_value[parents[equal.fill_null(fill_value=False).to_numpy(zero_copy_only=False)]] = True
    has_null[parents[equal.is_null().to_numpy(zero_copy_only=False)]] = True
    is_null = lists.is_null().to_numpy(zero_copy_only=False)
    return pa.array(has_value, mask=is_null | (has_null & ~has_value))


def _compare(op: CompareOp, values: pa.Array, literal: Value | None) -> pa.BooleanArray:
    if op == "<=>":
        if literal is None:
            return pc.is_null(values)
        return pc.fill_null(_compare("=", values, literal), fill_value=False)
    if literal is None:
        return pa.nulls(len(values), pa.bool_())
    if pa.types.is_floating(values.type):
        return _compare_float(op, pc.cast(values, pa.float64()), float(literal))  # type: ignore[arg-type]
    if pa.types.is_decimal(values.type):
        return _compare_decimal(op, values, Decimal(literal))  # type: ignore[arg-type]
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), pa.bool_())
    widened = _widen(values)
    return _COMPARE[op](widened, pa.scalar(literal, widened.type))


def _compare_decimal(op: CompareOp, values: pa.Array, literal: Decimal) -> pa.BooleanArray:
    """Compare with a decimal that may have more digits than the column: by the next lower one that it can have."""
    precision, scale = values.type.precision, values.type.scale
    if holds_decimal(literal, precision, scale):
        return _COMPARE[op](values, pa.scalar(literal, values.type))
    digits = unscaled(literal, scale)
    is_above = digits >= 10**precision
    if is_above or digits < -(10**precision) or op in ("=", "<>"):
        answer = {"=": False, "<>": True, "<": is_above, "<=": is_above}.get(op, not is_above)
        return pc.if_else(pc.is_valid(values), pa.scalar(answer), pa.scalar(None, pa.bool_()))
    lower = Decimal(digits).scaleb(-scale, Context(prec=2 * MAX_PRECISION))
    return _COMPARE["<=" if op in ("<", "<=") else ">"](values, pa.scalar(lower, values.type))


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
    elif pa.types.is_null(values.type):
        return pa.nulls(len(values), pa.bool_())
    else:
        widened = _widen(values)
        if pa.types.is_decimal(values.type):
            size = values.type.precision, values.type.scale
            fitting = [literal for literal in present if holds_decimal(Decimal(literal), *size)]  # type: ignore[arg-type]
        else:
            fitting = present
        answers = pc.is_in(widened, value_set=pa.array(fitting, widened.type))
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
