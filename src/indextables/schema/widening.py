"""Which types hold all values of which others: for rows that are appended, and for columns that become wider."""

from __future__ import annotations

from typing import Final

from indextables.schema.spark_types import INTEGER_TYPES, arrow_type, decimal_size

_WIDENS_TO: Final[dict[str, frozenset[str]]] = {
    "byte": frozenset({"short", "integer", "long"}),
    "short": frozenset({"integer", "long"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
}
"""For each type, the wider types that hold all its values: rows of the type may be appended to such a column."""


def widens(narrow: str, wide: str) -> bool:
    """Return True if a column of the wide type holds every value of a column of the narrow one.

    >>> widens("integer", "long"), widens("decimal(9,2)", "decimal(12,2)"), widens("long", "integer")
    (True, True, False)
    """
    if narrow in (wide, "void") or wide in _WIDENS_TO.get(narrow, ()):
        return True
    small, large = decimal_size(narrow), decimal_size(wide)
    if small is not None and large is not None:
        return small[1] <= large[1] and small[0] - small[1] <= large[0] - large[1]
    return arrow_type(narrow) == arrow_type(wide) is not None  # they differ in comments


def widens_in_place(narrow: str, wide: str) -> bool:
    """Return True if a column can become wider while splits keep the index that they have.

    The index of a wider integer, of a double, and of a decimal with more digits before the point has the same numbers.
    That of a double for integers, or of a decimal with another scale, has not.

    >>> widens_in_place("integer", "long"), widens_in_place("integer", "double")
    (True, False)
    """
    if narrow in INTEGER_TYPES or narrow == "float":
        return (
            narrow != wide and widens(narrow, wide) and (wide in INTEGER_TYPES) == (narrow in INTEGER_TYPES)
        )
    small, large = decimal_size(narrow), decimal_size(wide)
    return small is not None and large is not None and small[1] == large[1] and small[0] < large[0]
