"""Settings as a user gave them, checked against the table of keys in `keys`."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from indextables.config import keys
from indextables.config.definitions import Family, Member, Setting, Unread
from indextables.config.unread import EXACT, UNREAD, find_unread
from indextables.errors import ConfigError

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

# Not in the runtime, which is built on this package: a warning is given once in a process, and that is all it says.
_warned: Final[set[str]] = set()
_MAX_WARNED: Final = 1000

PREFIX: Final = "spark.indextables."
SHORT_PREFIX: Final = "indextables."
LEGACY_PREFIX: Final = "spark.tantivy4spark."
SPARK_OPTIONS: Final = frozenset(
    {"path", "paths", "versionasof", "timestampasof", "partitionoverwritemode", "serialization.format"}
)
"""Options of a read or write, in lower case, that are not settings: Spark's own, and those that say what is read."""


class Settings:
    """The settings of a user. An unknown key is an error.

    Keys begin with `spark.indextables.`, or with `indextables.`, which means the same. Case does not matter.

    >>> from indextables.config import keys
    >>> Settings({"spark.indextables.write.targetSplitSize": "64M"}).get(keys.TARGET_SPLIT_SIZE)
    67108864
    >>> Settings({"indextables.write.targetSplitSize": "64M"}).get(keys.TARGET_SPLIT_SIZE)
    67108864
    >>> Settings({"indextables.write.targetSpiltSize": "64M"})
    Traceback (most recent call last):
        ...
    indextables.errors.ConfigError: unknown setting 'indextables.write.targetSpiltSize'; did you mean \
'indextables.write.targetSplitSize'?
    """

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        self._families: dict[str, dict[str, str]] = {}
        options = options or {}
        _check_prefixes(options)
        aliased: dict[str, str] = {}
        for key, value in options.items():
            if not _is_known(key):
                if key.lower().startswith("spark.") and not key.lower().startswith("spark.indextable"):
                    continue  # a session's configuration holds the keys of other programs too
                raise ConfigError(_without_prefix(key))
            canonical = _canonical(key)
            match _recognise(canonical):
                case Setting(key=name):
                    values = self._values if canonical.lower() == name.lower() else aliased
                    values[name] = str(value)
                case Member(family, name):
                    if family.substitutes_value(name, str(value)):
                        _warn_once(_substitution(key, family))
                    self._families.setdefault(family.prefix, {})[name] = str(value)
                case Unread() as unread:
                    _warn_once(_without_effect(key, unread))
                case None:
                    raise ConfigError(f"unknown setting {key!r}{_hint(key)}")
        for key, value in aliased.items():
            self._values.setdefault(key, value)  # the newest name of a key wins over its older ones

    def is_set(self, setting: Setting[Any]) -> bool:
        """Return True if the user gave a value."""
        return setting.key in self._values

    def get(self, setting: Setting[T]) -> T:
        """Return the value, or the default. ConfigError if the text that was given is not a value."""
        raw = self._values.get(setting.key)
        if raw is None:
            return setting.default
        try:
            return setting.parse(raw)
        except ValueError as reason:
            raise ConfigError(f"setting {setting.key!r} is {raw!r}; it takes {reason}") from None

    def family(self, family: Family) -> Mapping[str, str]:
        """Return the members of a family that were set, by the name after its prefix."""
        return self._families.get(family.prefix, {})

    def with_properties(self, configuration: Mapping[str, str]) -> Settings:
        """Return the settings, completed by the properties that a table's configuration holds.

        >>> table = {"spark.indextables.stats.bloom.columns": "host", "delta.minReaderVersion": "1"}
        >>> Settings({"spark.indextables.write.rowGroupRows": "9"}).with_properties(table)
        Settings({'spark.indextables.stats.bloom.columns': 'host', 'spark.indextables.write.rowGroupRows': '9'})
        """
        names = {setting.key for setting in keys.TABLE_PROPERTIES}
        properties = {key: value for key, value in configuration.items() if key in names}
        return Settings(properties | dict(self))

    def __repr__(self) -> str:
        """Show what was set, with the secrets masked."""
        shown = dict(self._values)
        for family in keys.FAMILIES:
            for name, value in self.family(family).items():
                shown[family.prefix + name] = value if family.may_show(name) else "***"
        return f"Settings({shown!r})"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the settings in canonical form, to send to another process."""
        yield from self._values.items()
        for prefix, members in self._families.items():
            for name, value in members.items():
                yield prefix + name, value


def is_ours(key: str) -> bool:
    """Return True for a key that begins as settings of this package do.

    >>> is_ours("spark.indextables.nope"), is_ours("Indextables.nope"), is_ours("spark.sql.ansi.enabled")
    (True, True, False)
    """
    return key.lower().startswith((PREFIX, SHORT_PREFIX, LEGACY_PREFIX))


def layered(session: Mapping[str, str], options: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options of one read or write on top of the settings of its session, and warnings about them.

    A session's settings are for every table, and perhaps for another release: an unknown one is left out, with a
    warning. So is a key that has no effect, wherever it is set. An unknown option stays, for `Settings` to reject.

    >>> layered({"spark.indextables.write.compresion": "zstd"}, {"spark.indextables.write.rowGroupRows": "9"})
    ({'spark.indextables.write.rowGroupRows': '9'}, ("unknown setting 'spark.indextables.write.compresion' in the \
session; did you mean 'spark.indextables.write.compression'? It is ignored.",))
    """
    warnings: list[str] = []
    layers: list[dict[str, str]] = []
    unknown: dict[str, str] = {}
    for layer, is_session in ((session, True), (options, False)):
        valid = {}
        for key, value in layer.items():
            match = _recognise(_canonical(key)) if _is_known(key) else None
            if isinstance(match, Unread):
                warnings.append(_without_effect(key, match))
            elif isinstance(match, Member) and is_session and not match.family.has(match.name):
                warnings.append(
                    f"unknown setting {key!r} in the session; the family takes {match.family.meaning} It is ignored."
                )
            elif match is not None:
                valid[key] = value
                if isinstance(match, Member) and match.family.substitutes_value(match.name, value):
                    warnings.append(_substitution(key, match.family))
            elif not is_session:
                unknown[key] = value
            elif is_ours(key):
                warnings.append(f"unknown setting {key!r} in the session{_hint(key)} It is ignored.")
        layers.append(dict(Settings(valid)))
    below, above = layers
    overridden = {key.lower() for key in above}
    merged = {key: value for key, value in below.items() if key.lower() not in overridden}
    return merged | above | unknown, tuple(warnings)


def of_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a read or write that are settings, or are meant to be: all but Spark's own.

    >>> of_options({"path": "/t", "versionAsOf": "3", "typemap.m": "text"})
    {'typemap.m': 'text'}
    """
    return {
        key: value
        for key, value in options.items()
        if key.lower() not in SPARK_OPTIONS and not key.startswith("__")
    }


def _canonical(key: str) -> str:
    """Return the key with the prefix of today.

    >>> _canonical("indextables.a"), _canonical("spark.tantivy4spark.a"), _canonical("spark.indextables.a")
    ('spark.indextables.a', 'spark.indextables.a', 'spark.indextables.a')
    """
    for prefix in (SHORT_PREFIX, LEGACY_PREFIX):
        if key.lower().startswith(prefix):
            return PREFIX + key[len(prefix) :]
    return key


def _check_prefixes(options: Mapping[str, str]) -> None:
    """ConfigError if a setting has two values, one with `spark.` before its key and one without."""
    short = {_identity(_canonical(key)): key for key in options if key.lower().startswith(SHORT_PREFIX)}
    for key, value in options.items() if short else ():
        other = short.get(_identity(key))
        if other is not None and str(options[other]) != str(value):
            raise ConfigError(
                f"settings {key!r} and {other!r} are the same setting and have different values; remove one of them"
            )


def _identity(canonical: str) -> str:
    """Return what two keys of one setting have in common: all of it but case, which counts in the name of a column."""
    match = _recognise(canonical)
    return match.family.prefix + match.name if isinstance(match, Member) else canonical.lower()


def _is_known(key: str) -> bool:
    """Return True for a key with one of our prefixes, and for an option without one that has no effect."""
    return is_ours(key) or key.lower() in EXACT


def _recognise(canonical: str) -> Setting[Any] | Member | Unread | None:
    setting = keys.BY_NAME.get(canonical.lower()) or EXACT.get(canonical.lower())
    if setting is not None:
        return setting
    for family in keys.FAMILIES:
        if canonical.lower().startswith(family.prefix.lower()):
            return Member(family, canonical[len(family.prefix) :])
    return find_unread(canonical)


def _without_effect(key: str, unread: Unread) -> str:
    return f"setting {key!r} has no effect in this release: {unread.reason}."


def _substitution(key: str, family: Family) -> str:
    return f"setting {key!r}: {family.substitution}."


def _warn_once(message: str) -> None:
    if message not in _warned and len(_warned) < _MAX_WARNED:
        _warned.add(message)
        _log.warning(message)


def _without_prefix(key: str) -> str:
    """Return the message for a key that does not begin as settings do, with the setting that ends like it."""
    folded = key.lower()
    matches = [setting for setting in keys.BY_NAME if setting.endswith(f".{folded}")]
    for family in keys.FAMILIES:
        parts = family.prefix.split(".")  # the last one is empty
        ends = (".".join(parts[i:]).lower() for i in range(1, len(parts) - 1))
        matches += [family.prefix + key[len(end) :] for end in ends if folded.startswith(end)]
    hint = f"did you mean {matches[0]!r}?" if matches else "docs/configuration.md lists them all"
    return f"unknown setting {key!r}: settings begin with {PREFIX!r} or {SHORT_PREFIX!r}; {hint}"


def _hint(key: str) -> str:
    """Return the nearest setting as the end of a message, with the prefix that the user wrote."""
    candidates = [setting.key for setting in keys.ALL] + [name for unread in UNREAD for name in unread.keys]
    close = difflib.get_close_matches(_canonical(key), candidates, n=1, cutoff=0.8)
    if not close:
        return "; docs/configuration.md lists them all."
    nearest = close[0].removeprefix("spark.") if key.lower().startswith(SHORT_PREFIX) else close[0]
    return f"; did you mean {nearest!r}?"
