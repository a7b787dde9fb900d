"""How a setting is defined and read. The table of them is `keys`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from indextables.errors import ConfigError

T = TypeVar("T")

PREFIX = "spark.indextables."
LEGACY_PREFIX = "spark.tantivy4spark."


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One key. `parse` turns the text a user wrote into a value, or raises ValueError saying what it wants."""

    key: str
    parse: Callable[[str], T]
    default: T
    meaning: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """Keys that end in a name the user chooses, such as a column: `prefix` + name.

    `shown` are the names whose values may appear in print, in lower case; None: all of them.
    """

    prefix: str
    meaning: str
    shown: frozenset[str] | None = None

    def may_show(self, name: str) -> bool:
        return self.shown is None or name.lower() in self.shown


_SIZE = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size(text: str) -> int:
    """Bytes, with an optional unit of 1024s.

    >>> size("100M"), size("4096"), size("1GiB")
    (104857600, 4096, 1073741824)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("a size such as 4096, 64K, 100M or 2G")
    return int(match[1]) * _UNITS[match[2].lower()]


def positive_size(text: str) -> int:
    if (value := size(text)) <= 0:
        raise ValueError("a size above zero")
    return value


def boolean(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


def whole(text: str) -> int:
    """A whole number, zero or more."""
    if not text.strip().isdecimal():
        raise ValueError("a whole number, zero or more")
    return int(text)


def whole_or_all(text: str) -> int:
    """A whole number, or -1 for all."""
    return -1 if text.strip() == "-1" else whole(text)


def probability(text: str) -> float:
    """A number between 0 and 1, both left out."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError("a number above 0 and below 1")
    return value


def positive(text: str) -> int:
    if (value := whole(text)) <= 0:
        raise ValueError("a whole number above zero")
    return value


def between(low: int, high: int) -> Callable[[str], int]:
    """A whole number in a range."""

    def parse(text: str) -> int:
        if not text.strip().isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def ratio(text: str) -> float:
    """A part of a whole, such as 0.1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return value


def one_of(*words: str) -> Callable[[str], str]:
    """One of some words, in any case."""

    def parse(text: str) -> str:
        if text.strip().lower() not in words:
            raise ValueError(f"{', '.join(words[:-1])} or {words[-1]}")
        return text.strip().lower()

    return parse


def names(text: str) -> tuple[str, ...]:
    """Comma-separated names.

    >>> names("a, b,,c")
    ('a', 'b', 'c')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def text(value: str) -> str:
    return value


class Settings:
    """What a user set, checked against the table of keys: an unknown key is an error, not a silence.

    >>> from indextables.config import keys
    >>> Settings({"spark.indextables.write.targetSplitSize": "64M"}).get(keys.TARGET_SPLIT_SIZE)
    67108864
    >>> Settings({"spark.indextables.write.targetSpiltSize": "64M"})
    Traceback (most recent call last):
        ...
    indextables.errors.ConfigError: unknown setting 'spark.indextables.write.targetSpiltSize'; did you mean \
'spark.indextables.write.targetSplitSize'?
    """

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        from indextables.config import keys  # noqa: PLC0415 - keys defines itself with this module

        known = {name.lower(): setting for setting in keys.ALL for name in (setting.key, *setting.aliases)}
        self._values: dict[str, str] = {}
        self._families: dict[str, dict[str, str]] = {}
        aliased: dict[str, str] = {}
        for key, value in (options or {}).items():
            if not key.lower().startswith((PREFIX, LEGACY_PREFIX)):
                continue
            if key.lower().startswith(LEGACY_PREFIX):
                canonical = PREFIX + key[len(LEGACY_PREFIX) :]
            else:
                canonical = key
            family = next((f for f in keys.FAMILIES if canonical.lower().startswith(f.prefix.lower())), None)
            if family is not None:
                self._families.setdefault(family.prefix, {})[canonical[len(family.prefix) :]] = str(value)
                continue
            setting = known.get(canonical.lower())
            if setting is None:
                raise ConfigError(_unknown(key, [s.key for s in keys.ALL]))
            if canonical.lower() == setting.key.lower():
                self._values[setting.key] = str(value)
            else:
                aliased[setting.key] = str(value)
        for key, value in aliased.items():
            self._values.setdefault(key, value)  # the newest name of a key wins over its older ones

    def get(self, setting: Setting[T]) -> T:
        raw = self._values.get(setting.key)
        if raw is None:
            return setting.default
        try:
            return setting.parse(raw)
        except ValueError as reason:
            raise ConfigError(f"setting {setting.key!r} is {raw!r}; it takes {reason}") from None

    def family(self, family: Family) -> Mapping[str, str]:
        """The members of a family that were set, by the name after its prefix."""
        return self._families.get(family.prefix, {})

    def __repr__(self) -> str:
        """What was set, with the secrets among it masked."""
        from indextables.config import keys  # noqa: PLC0415 - keys defines itself with this module

        shown = dict(self._values)
        for family in keys.FAMILIES:
            for name, value in self.family(family).items():
                shown[family.prefix + name] = value if family.may_show(name) else "***"
        return f"Settings({shown!r})"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The settings in canonical form, to send to another process."""
        yield from self._values.items()
        for prefix, members in self._families.items():
            for name, value in members.items():
                yield prefix + name, value


def _unknown(key: str, candidates: list[str]) -> str:
    close = difflib.get_close_matches(key, candidates, n=1, cutoff=0.8)
    hint = f"; did you mean {close[0]!r}?" if close else "; docs/configuration.md lists them all"
    return f"unknown setting {key!r}{hint}"
