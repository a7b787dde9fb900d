"""How a setting is defined and read. The table of them is `keys`."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from indextables.errors import ConfigError

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)
_warned: Final[set[str]] = set()
_MAX_WARNED: Final = 1000

PREFIX = "spark.indextables."
LEGACY_PREFIX = "spark.tantivy4spark."
SPARK_OPTIONS = frozenset(
    {"path", "paths", "versionasof", "timestampasof", "partitionoverwritemode", "serialization.format"}
)
"""Options of a read or write, in lower case, that are no settings: Spark's own, and those that say what is read."""


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

    `shown` are the names whose values may appear in print, in lower case; None: all of them. `members` are the names
    that there are, likewise; None: any.
    """

    prefix: str
    meaning: str
    shown: frozenset[str] | None = None
    members: frozenset[str] | None = None

    def has(self, name: str) -> bool:
        return self.members is None or name.lower() in self.members

    def may_show(self, name: str) -> bool:
        return self.shown is None or name.lower() in self.shown


@dataclass(frozen=True)
class Unread:
    """A key that is accepted and has no effect, and why; one that ends in a dot is the prefix of many."""

    key: str
    reason: str

    def covers(self, key: str) -> bool:
        known = self.key.lower()
        return key.lower().startswith(known) if known.endswith(".") else key.lower() == known


@dataclass(frozen=True)
class Member:
    """A key of a family, by the name after the prefix."""

    family: Family
    name: str


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


def local_path(value: str) -> str:
    """A path on this machine's disk: an address would be taken for a directory of that name."""
    if "\0" in value or "://" in value:
        raise ValueError("a path on a local disk, without a scheme")
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

        self._values: dict[str, str] = {}
        self._families: dict[str, dict[str, str]] = {}
        aliased: dict[str, str] = {}
        for key, value in (options or {}).items():
            if not is_ours(key):
                if key.lower().startswith("spark.") and not key.lower().startswith("spark.indextable"):
                    continue  # a session's configuration holds the keys of other programs too
                prefixes = [family.prefix for family in keys.FAMILIES]
                raise ConfigError(_without_prefix(key, list(keys.BY_NAME), prefixes))
            canonical = _canonical(key)
            match _recognised(canonical):
                case Setting(key=known):
                    values = self._values if canonical.lower() == known.lower() else aliased
                    values[known] = str(value)
                case Member(family, name):
                    self._families.setdefault(family.prefix, {})[name] = str(value)
                case Unread() as unread:
                    _warn_once(_without_effect(key, unread))
                case None:
                    raise ConfigError(_unknown(key, [s.key for s in keys.ALL]))
        for key, value in aliased.items():
            self._values.setdefault(key, value)  # the newest name of a key wins over its older ones

    def is_set(self, setting: Setting[Any]) -> bool:
        return setting.key in self._values

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


def is_ours(key: str) -> bool:
    return key.lower().startswith((PREFIX, LEGACY_PREFIX))


def layered(session: Mapping[str, str], options: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options of one read or write above the settings of its session, and warnings about them.

    A session's settings are for every table, and perhaps for another release: an unknown one is left out, with a
    warning. So is a key that has no effect, wherever it is set. An unknown option stays, for `Settings` to reject.

    >>> layered({"spark.indextables.write.compresion": "zstd"}, {"spark.indextables.write.rowGroupRows": "9"})
    ({'spark.indextables.write.rowGroupRows': '9'}, ("unknown setting 'spark.indextables.write.compresion' in the \
session; did you mean 'spark.indextables.write.compression'? It is ignored.",))
    """
    from indextables.config import keys  # noqa: PLC0415 - keys defines itself with this module

    warnings: list[str] = []
    known: list[dict[str, str]] = []
    unknown: dict[str, str] = {}
    for layer, is_session in ((session, True), (options, False)):
        kept = {}
        for key, value in layer.items():
            found = _recognised(_canonical(key)) if is_ours(key) else None
            if isinstance(found, Unread):
                warnings.append(_without_effect(key, found))
            elif isinstance(found, Member) and is_session and not found.family.has(found.name):
                warnings.append(
                    f"unknown setting {key!r} in the session; the family takes {found.family.meaning} It is ignored."
                )
            elif found is not None:
                kept[key] = value
            elif not is_session:
                unknown[key] = value
            elif is_ours(key):
                hint = _hint(key, [setting.key for setting in keys.ALL])
                warnings.append(f"unknown setting {key!r} in the session{hint} It is ignored.")
        known.append(dict(Settings(kept)))
    below, above = known
    overridden = {key.lower() for key in above}
    merged = {key: value for key, value in below.items() if key.lower() not in overridden}
    return merged | above | unknown, tuple(warnings)


def _canonical(key: str) -> str:
    """The key with today's prefix."""
    return PREFIX + key[len(LEGACY_PREFIX) :] if key.lower().startswith(LEGACY_PREFIX) else key


def _recognised(key: str) -> Setting[Any] | Member | Unread | None:
    from indextables.config import keys  # noqa: PLC0415 - keys defines itself with this module

    for family in keys.FAMILIES:
        if key.lower().startswith(family.prefix.lower()):
            return Member(family, key[len(family.prefix) :])
    setting = keys.BY_NAME.get(key.lower())
    return setting or next((unread for unread in keys.UNREAD if unread.covers(key)), None)


def _without_effect(key: str, unread: Unread) -> str:
    return f"setting {key!r} has no effect in this release: {unread.reason}."


def _warn_once(message: str) -> None:
    if message not in _warned and len(_warned) < _MAX_WARNED:
        _warned.add(message)
        _log.warning(message)


def of_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a read or write that are settings, or are meant to be: all but those that are Spark's.

    >>> of_options({"path": "/t", "versionAsOf": "3", "typemap.m": "text"})
    {'typemap.m': 'text'}
    """
    return {
        key: value
        for key, value in options.items()
        if key.lower() not in SPARK_OPTIONS and not key.startswith("__")
    }


def _without_prefix(key: str, settings: list[str], families: list[str]) -> str:
    """The message for a key that does not begin as settings do, with the setting whose end it is."""
    folded = key.lower()
    meant = [setting for setting in settings if setting.endswith(f".{folded}")]
    for prefix in families:
        parts = prefix.split(".")  # the last one is empty
        ends = (".".join(parts[i:]).lower() for i in range(1, len(parts) - 1))
        meant += [prefix + key[len(end) :] for end in ends if folded.startswith(end)]
    hint = f"did you mean {meant[0]!r}?" if meant else "docs/configuration.md lists them all"
    return f"unknown setting {key!r}: settings begin with {PREFIX!r}; {hint}"


def _unknown(key: str, candidates: list[str]) -> str:
    return f"unknown setting {key!r}{_hint(key, candidates)}"


def _hint(key: str, candidates: list[str]) -> str:
    close = difflib.get_close_matches(key, candidates, n=1, cutoff=0.8)
    return f"; did you mean {close[0]!r}?" if close else "; docs/configuration.md lists them all."
