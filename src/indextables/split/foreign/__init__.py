"""Splits of other writers, whose rows are stored documents."""

from indextables.split.foreign.foreign_contents import ForeignContents, is_foreign

__all__ = [
    "ForeignContents",
    "is_foreign",
]
