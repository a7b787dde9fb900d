"""What a command says to people when it finds nothing: that it is so, and whether the case of a value is why."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from indextables.errors import IndexTablesError
from indextables.table import Table, text_columns

_VALUE: Final = re.compile(r"'(?:[^']|'')*'")
_SEARCH: Final = re.compile(r"\b(?:TEXTSEARCH|FIELDMATCH|INDEXQUERY)\b", re.IGNORECASE)
_TERM: Final = re.compile(r"(?<![\w:\"'])([\w.]+):(\w[\w-]*)(?![\w:*?~\"'-])")
_TERMS: Final = 3
"""The most values of a query that are counted in other cases."""
_CASES: Final[tuple[Callable[[str], str], ...]] = (str.upper, str.lower, str.title)


def nothing_found(table: Table, query: str | None, where: str | None) -> str:
    """Return the note. It counts the rows of the condition with its values in other cases.

    >>> import indextables as it
    >>> _ = it.write("memory://doc-nothing-found", [{"level": "ERROR"}])
    >>> nothing_found(it.open("memory://doc-nothing-found"), None, "level = 'error'")
    "no row; values are case-sensitive: level = 'ERROR' finds 1"
    """
    note = "no row" if query is None else "no match"
    if query is not None and (hint := _other_query(table, query, where)) is not None:
        return f"{note}; {hint}"
    if where is None or _SEARCH.search(where):  # the case of words does not matter, that of operators does
        return note
    for other in dict.fromkeys(_in_case(where, case) for case in _CASES):
        if other == where:
            continue
        try:
            count = table.count(query, where=other)
        except IndexTablesError:  # a time or a number in quotes
            continue
        if count:
            return f"{note}; values are case-sensitive: {other} finds {count:,}"
    return note


def _other_query(table: Table, query: str, where: str | None) -> str | None:
    """Return which case of a value that the query compares as a whole finds rows."""
    text = set(text_columns(table))
    strings = [field.name for field in table.snapshot.schema if field.type == "string"]
    exact = {name.lower(): name for name in strings if name not in text}
    values = [found for found in _TERM.finditer(query) if found[1].lower() in exact]
    for found in values[:_TERMS]:
        start, end = found.span(2)
        for value in dict.fromkeys(case(found[2]) for case in _CASES):
            if value == found[2]:
                continue
            other = f"{query[:start]}{value}{query[end:]}"
            try:
                count = table.count(other, where=where)
            except IndexTablesError:
                continue
            if count:
                return f"values of {exact[found[1].lower()]} are exact: {other} finds {count:,}"
    return None


def _in_case(where: str, case: Callable[[str], str]) -> str:
    return _VALUE.sub(lambda value: case(value[0]), where)
