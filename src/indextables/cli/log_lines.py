"""Lines of a raw log as rows, by a regular expression with named groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from indextables.errors import InputError

MESSAGE: Final = "message"
PLAIN: Final = "plain"
MOST_BEFORE_MATCH: Final = 20_000
"""The lines of which one must match, or the pattern is refused; also the rows of a batch."""
_SHOWN: Final = 200
_LEAST_SHARE: Final = 0.1
"""The share of lines that a pattern must match to be recognized: traces of errors are lines between those of a log."""


@dataclass(frozen=True)
class LogPattern:
    """A regular expression, the types of its groups other than string, and the format of its times; None: ISO."""

    regex: str
    types: Mapping[str, str] = field(default_factory=dict)
    time_format: str | None = None


PATTERNS: Final[Mapping[str, LogPattern]] = {
    "syslog": LogPattern(
        r"(?P<timestamp>\w{3} +\d+ \d\d:\d\d:\d\d) (?P<host>\S+) (?P<process>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?: "
        r"(?P<message>.*)",
        {"timestamp": "timestamp", "pid": "long"},
        "%b %d %H:%M:%S",
    ),
    "access": LogPattern(
        r'(?P<client>\S+) \S+ (?P<user>\S+) \[(?P<timestamp>[^\]]+)\] "(?P<message>[^"]*)" (?P<status>\d{3}) '
        r'(?P<bytes>\d+|-)(?: "(?P<referrer>[^"]*)" "(?P<agent>[^"]*)")?',
        {"timestamp": "timestamp", "status": "long"},
        "%d/%b/%Y:%H:%M:%S %z",
    ),
    "iso": LogPattern(
        r"(?P<timestamp>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\s+"
        r"(?:\[?(?P<level>[A-Z]{4,8})\]?\s+)?(?P<message>.*)",
        {"timestamp": "timestamp"},
    ),
    PLAIN: LogPattern(r"(?P<message>.*)"),
}
"""Patterns that have a name: system logs, access logs of web servers, lines that begin with an ISO time, any lines."""


class LogRows:
    """Rows of a log. A line that does not match is a row with its text as the message, and is counted."""

    def __init__(
        self, pattern: LogPattern, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        try:
            self._regex = re.compile(pattern.regex)
        except re.error as reason:
            raise InputError(f"--pattern is not a regular expression: {reason}") from None
        self.names = list(self._regex.groupindex)
        if MESSAGE not in self.names:
            raise InputError(
                "--pattern has no group (?P<message>...); a line that does not match goes to that column"
            )
        unknown = sorted(set(pattern.types) - set(self.names))
        if unknown:
            raise InputError(f"--types names {', '.join(unknown)}, which is no group of the pattern")
        self._format, self._now = pattern.time_format, now
        self._types = dict(pattern.types)
        self.unmatched = 0
        self._has_match = False

    @property
    def schema(self) -> pa.Schema:
        """The columns: strings, but for those that have a type."""
        return pa.schema([(name, _ARROW[self._types.get(name, "string")]) for name in self.names])

    def has_match(self, lines: Iterable[str]) -> bool:
        """Return True if a line matches."""
        return any(self._regex.match(line.rstrip("\r\n")) for line in lines)

    def batches(self, lines: Iterable[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the lines in batches."""
        remaining = iter(lines)
        while part := list(islice(remaining, MOST_BEFORE_MATCH)):
            before = self.unmatched
            rows = [self._row(line.rstrip("\r\n")) for line in part]
            if not self._has_match and self.unmatched - before == len(part):
                raise InputError(
                    f"--pattern matches none of the first {len(part):,} lines. The first is "
                    f"{part[0].strip()[:_SHOWN]!r}; --pattern {PLAIN} imports whole lines"
                )
            self._has_match = True
            columns = [
                pa.array([row[name] for row in rows], self.schema.field(name).type) for name in self.names
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _row(self, line: str) -> dict[str, Any]:
        match = self._regex.match(line)
        if match is None:
            self.unmatched += 1
            return {**dict.fromkeys(self.names), MESSAGE: line}
        return {name: self._value(name, text) for name, text in match.groupdict().items()}

    def _value(self, name: str, text: str | None) -> Any:
        kind = self._types.get(name, "string")
        if text is None or (kind != "string" and text in ("", "-")):
            return None
        try:
            if kind == "timestamp":
                return self._time(text)
            return _PYTHON[kind](text)
        except ValueError:
            raise InputError(f"{text!r} of the group {name!r} is not a {kind}; leave it a string") from None

    def _time(self, text: str) -> datetime:
        if self._format is None:
            moment = datetime.fromisoformat(text.replace(",", "."))
        elif "%y" in self._format.lower():
            moment = datetime.strptime(text, self._format)  # noqa: DTZ007 - the zone is set below
        else:
            moment = self._this_year(text, self._format)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

    def _this_year(self, text: str, form: str) -> datetime:
        """Return a time without a year as the latest one that is not in the future, but for a day of clock skew."""
        now = self._now()
        for year in (now.year, now.year - 1, now.year - 2, now.year - 3, now.year - 4):
            try:
                moment = datetime.strptime(f"{year} {text}", f"%Y {form}").replace(tzinfo=UTC)
            except ValueError:  # the 29th of February of another year
                continue
            if moment <= now + timedelta(days=1):
                return moment
        raise ValueError(text)


def to_pattern(text: str | None, types: Mapping[str, str], time_format: str | None) -> LogPattern:
    r"""Return the pattern of that name, or the one that is written out; types and format are added to it.

    >>> to_pattern("syslog", {}, None).types["pid"]
    'long'
    >>> to_pattern(r"(?P<at>\S+) (?P<message>.*)", {"at": "timestamp"}, None).types
    {'at': 'timestamp'}
    """
    known = PATTERNS.get(text or "")
    if known is None and text is not None and re.fullmatch(r"\w+", text):
        raise InputError(
            f"there is no pattern {text!r}; there are {', '.join(PATTERNS)}, or write an expression"
        )
    chosen = known or (PATTERNS[PLAIN] if text is None else LogPattern(text))
    for name, kind in types.items():
        if kind not in _ARROW:
            raise InputError(f"--types gives {name!r} the type {kind!r}; there are {', '.join(_ARROW)}")
    return LogPattern(chosen.regex, {**chosen.types, **types}, time_format or chosen.time_format)


def recognized_pattern(lines: Iterable[str]) -> str | None:
    """Return the name of the pattern that lines of a log have, or None.

    >>> recognized_pattern(["2026-01-31T12:00:00Z ERROR disk full", "  at main.c:3"])
    'iso'
    """
    texts = [line for line in lines if line.strip()]
    matches = {
        name: sum(re.match(pattern.regex, text) is not None for text in texts)
        for name, pattern in PATTERNS.items()
        if name != PLAIN
    }
    best = max(matches, key=lambda name: matches[name])
    return best if matches[best] > _LEAST_SHARE * len(texts) else None


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


_ARROW: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
}
ARROW_TYPES: Final = _ARROW
_PYTHON: Final[Mapping[str, Callable[[str], Any]]] = {
    "string": str,
    "long": int,
    "int": int,
    "double": float,
    "boolean": _boolean,
    "date": lambda text: datetime.fromisoformat(text).date(),
}
