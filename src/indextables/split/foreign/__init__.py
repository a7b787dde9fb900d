"""Splits of other writers: the rows are stored documents, and the index for searching them is built locally."""

from indextables.split.foreign.foreign_contents import ForeignContents, is_foreign

__all__ = [
    "ForeignContents",
    "is_foreign",
]
