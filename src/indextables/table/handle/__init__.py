"""The handle of a table, in parts: what it is, its rows, totals, searches, changes and upkeep."""

from indextables.table.handle.searches import TableSearches
from indextables.table.handle.table import Table
from indextables.table.handle.version import TableVersion

__all__ = ["Table", "TableSearches", "TableVersion"]
