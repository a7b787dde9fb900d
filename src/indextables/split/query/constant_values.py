"""Whether a part of a query matches a value that all rows of a split have, of a column that its index does not have."""

from __future__ import annotations

from indextables.schema import Value
from indextables.split.query.bound import Entry, Leaf, Numbers, Present
from indextables.split.query.numbers import index_number
from indextables.split.query.word_tests import positioned_tests


def holds_value(leaf: Leaf, value: Value) -> bool:
    """Return True if a leaf matches the value, which is one of a column of strings, numbers, dates, times or truth."""
    match leaf:
        case Present():
            return True
        case Numbers(column, low, high):
            number = index_number(value, column.value_type)
            return (low is None or low <= number) and (high is None or number <= high)
        case Entry():
            return False  # maps have no default
        case _:
            tests = positioned_tests(leaf)
            return isinstance(value, str) and len(tests) == 1 and tests[0][1].accepts(value)
