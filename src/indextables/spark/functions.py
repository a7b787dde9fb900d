"""Searches as columns: what the search operators and computed columns of SQL are in the DataFrame API.

They work on classic Spark and on Connect, and are pushed down to the index as the operators are. A search that Spark
cannot push down is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from indextables.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = [
    "fieldmatch",
    "fieldmatchall",
    "indexquery",
    "indexqueryall",
    "score",
    "snippet",
    "textsearch",
    "textsearchall",
]

_ALL: Final = "_indexall"
"""The column that stands for all columns. Only a search can use it."""


def textsearch(column: Column | str, query: str) -> Column:
    """Return the condition `column TEXTSEARCH 'query'`: the query language, on a column that is indexed as text.

    `column` is a name, a path into a struct, or a Column; `"*"` is every text column.
    """
    return _search("textsearch", column, query)


def fieldmatch(column: Column | str, query: str) -> Column:
    """Return the condition `column FIELDMATCH 'query'`: the query language, on a column that is not indexed as text."""
    return _search("fieldmatch", column, query)


def indexquery(column: Column | str, query: str) -> Column:
    """Return the condition `column INDEXQUERY 'query'`: the query language, on a column of any index."""
    return _search("indexquery", column, query)


def textsearchall(query: str) -> Column:
    """Return the condition `* TEXTSEARCH 'query'`, on every text column."""
    return textsearch("*", query)


def fieldmatchall(query: str) -> Column:
    """Return the condition `* FIELDMATCH 'query'`, on every column that is not indexed as text."""
    return fieldmatch("*", query)


def indexqueryall(query: str) -> Column:
    """Return the condition `* INDEXQUERY 'query'`, on every column."""
    return indexquery("*", query)


def score() -> Column:
    """Return the column `_score`: how well a row matches the searches of the query."""
    return F.col("_score")


def snippet() -> Column:
    """Return the column `_snippet`: the piece of the text that was found, with the words marked."""
    return F.col("_snippet")


def _search(function: str, column: Column | str, query: str) -> Column:
    if not isinstance(query, str):
        raise InputError(
            f"the query of {function} is {query!r}; it takes text, since the index reads it while Spark plans"
        )
    operand = F.col(_ALL if column == "*" else column) if isinstance(column, str) else column
    return F.call_function(f"indextables.{function}", operand, F.lit(query))
