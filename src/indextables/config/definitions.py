"""How a setting is defined: one key, a family of keys, or a key that is accepted and not read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One key. `parse` turns the text of a user into a value, or raises a ValueError that says what is expected."""

    key: str
    parse: Callable[[str], T]
    default: T
    meaning: str
    aliases: tuple[str, ...] = ()

    @property
    def default_text(self) -> str:
        """The default as a user writes it, empty if there is none.

        >>> from indextables.config import keys
        >>> keys.AGGREGATION_COLUMN_CACHE.default_text
        '256M'
        """
        if isinstance(self.default, bool):
            return str(self.default).lower()
        if isinstance(self.default, int) and "size" in self.parse.__name__:
            return _size_text(self.default)
        if isinstance(self.default, tuple):
            return ", ".join(self.default)
        return "" if self.default is None else str(self.default)


def _size_text(value: int) -> str:
    """Return a number of bytes in the largest unit of which it is a whole number.

    >>> _size_text(256 << 20), _size_text(20 << 30), _size_text(1000)
    ('256M', '20G', '1000')
    """
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if value and value % unit == 0:
            return f"{value // unit}{letter}"
    return str(value)


@dataclass(frozen=True)
class Family:
    """Keys that end in a name, such as that of a column: `prefix` + name.

    `members` are the names that exist, in lower case; None: any. `shown` are those whose values are no secrets and may
    be printed, in lower case; None: all. `substitutes` are values, in lower case, that are taken for another one.
    """

    prefix: str
    meaning: str
    shown: frozenset[str] | None = None
    members: frozenset[str] | None = None
    substitutes: frozenset[str] = frozenset()
    substitution: str = ""

    def has(self, name: str) -> bool:
        """Return True if the name is one of the family."""
        return self.members is None or name.lower() in self.members

    def may_show(self, name: str) -> bool:
        """Return True if the value of that name may be printed."""
        return self.shown is None or name.lower() in self.shown

    def substitutes_value(self, name: str, value: str) -> bool:
        """Return True if a value, or a name that stands for a list of columns, is taken for another one."""
        folded = value.strip().lower()
        is_list = name.lower() in self.substitutes and folded not in ("text", "string")
        return is_list or folded in self.substitutes


@dataclass(frozen=True)
class Unread:
    """Keys that are accepted and have no effect, and what happens instead. A key that ends in a dot is a prefix."""

    keys: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Member:
    """A key of a family, by the name after the prefix."""

    family: Family
    name: str
