"""The options of a stream, named as those of Delta Lake where it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson

from indextables.config import parse_size
from indextables.errors import ConfigError

T = TypeVar("T")

LATEST: Final = "latest"
DEFAULT_MAX_FILES: Final = 1000


@dataclass(frozen=True)
class Limits:
    """How much one batch reads at most; None: no limit. A batch has at least one file, however large the file is."""

    max_files: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True)
class StreamOptions:
    """What a stream reads, where it begins, how much of it a batch has, and what it takes for an error.

    `starting_version` is a version, or `latest` for what comes after the newest one. `starting_ms` is a time instead,
    in milliseconds since 1970. With `read_change_feed` the rows are those of the feed of changes; `ending_version` or
    `ending_ms` is then the last version, in a batch read. `identity` are the texts of the options that decide which
    rows the stream has.
    """

    starting_version: int | str | None = None
    starting_ms: int | None = None
    read_change_feed: bool = False
    ending_version: int | None = None
    ending_ms: int | None = None
    limits: Limits = Limits(DEFAULT_MAX_FILES)
    ignore_deletes: bool = False
    skip_change_commits: bool = False
    fail_on_data_loss: bool = True
    query: str | None = None
    where: str | None = None
    columns: tuple[str, ...] | None = None
    zone: str = "UTC"
    identity: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, given: Mapping[str, str], zone: str = "UTC") -> StreamOptions:
        """Return the options in their texts, by name in any case. ConfigError for a text that is none.

        >>> StreamOptions.parse({"MaxFilesPerTrigger": "5", "where": "n > 1"}).limits
        Limits(max_files=5, max_bytes=None)
        >>> StreamOptions.parse({"startingVersion": "soon"})
        Traceback (most recent call last):
            ...
        indextables.errors.ConfigError: option startingVersion is 'soon'; it takes the number of a version, or latest
        """
        texts = {key.lower(): value for key, value in given.items()}

        def get(name: str, parse: Callable[[str], T], default: T) -> T:
            text = texts.get(name.lower())
            if text is None:
                return default
            try:
                return parse(text)
            except ValueError as reason:
                raise ConfigError(f"option {name} is {text!r}; it takes {reason}") from None

        if "startingversion" in texts and "startingtimestamp" in texts:
            raise ConfigError("startingVersion and startingTimestamp exclude each other; give one of them")
        if "endingversion" in texts and "endingtimestamp" in texts:
            raise ConfigError("endingVersion and endingTimestamp exclude each other; give one of them")
        feed = {name: get(name, _flag, default=False) for name in FEED_NAMES if name.lower() in texts}
        if len(set(feed.values())) > 1:
            raise ConfigError(f"{' and '.join(FEED_NAMES)} are the same option and have different values")
        is_feed = any(feed.values())
        _check_feed_options(texts, is_feed=is_feed)
        has_bytes = "maxbytespertrigger" in texts
        return cls(
            starting_version=get("startingVersion", _version, None),
            starting_ms=get("startingTimestamp", lambda text: _millis(text, zone), None),
            read_change_feed=is_feed,
            ending_version=get("endingVersion", _number, None),
            ending_ms=get("endingTimestamp", lambda text: _millis(text, zone), None),
            limits=Limits(
                get("maxFilesPerTrigger", _count, None if has_bytes else DEFAULT_MAX_FILES),
                get("maxBytesPerTrigger", _size, None),
            ),
            ignore_deletes=get("ignoreDeletes", _flag, default=False),
            skip_change_commits=get("skipChangeCommits", _flag, default=False),
            fail_on_data_loss=get("failOnDataLoss", _flag, default=True),
            query=get("query", str, None),
            where=get("where", str, None),
            columns=get("columns", _names, None),
            zone=zone,
            identity=tuple(
                sorted(
                    [
                        *((name, texts[name.lower()]) for name in IDENTITY if name.lower() in texts),
                        *([(FEED_NAMES[0], "true")] if is_feed else []),
                    ]
                )
            ),
        )


IDENTITY: Final = ("columns", "query", "startingTimestamp", "startingVersion", "where")
"""The options that decide which rows a stream has: they stay what they were when a query is started again."""

FEED_NAMES: Final = ("readChangeFeed", "readChangeData")
"""The option that makes a read one of changes; the second is its older name. It decides which rows a stream has too."""

_ENDING: Final = ("endingVersion", "endingTimestamp")
_NOT_OF_FEED: Final = ("columns", "query", "where", "ignoreDeletes", "skipChangeCommits")

NAMES: Final = (
    *IDENTITY,
    *FEED_NAMES,
    *_ENDING,
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "ignoreDeletes",
    "skipChangeCommits",
    "failOnDataLoss",
)


def split_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options of a stream, and the others.

    >>> split_options({"StartingVersion": "1", "spark.indextables.read.maxOpenSplits": "1"})
    ({'StartingVersion': '1'}, {'spark.indextables.read.maxOpenSplits': '1'})
    """
    names = {name.lower() for name in NAMES}
    ours = {key: value for key, value in options.items() if key.lower() in names}
    return ours, {key: value for key, value in options.items() if key not in ours}


def _check_feed_options(texts: Mapping[str, str], *, is_feed: bool) -> None:
    if not is_feed:
        for name in _ENDING:
            if name.lower() in texts:
                raise ConfigError(f"option {name} ends a range of changes; it needs readChangeFeed=true")
        return
    for name in _NOT_OF_FEED:
        if name.lower() in texts:
            raise ConfigError(
                f"option {name} and readChangeFeed exclude each other: the feed has every change of every row; select "
                "and filter its rows in Spark"
            )


def _number(text: str) -> int | None:
    if text.strip().isascii() and text.strip().isdecimal() and len(text) < 19:
        return int(text)
    raise ValueError("the number of a version")


def _version(text: str) -> int | str | None:
    if text.strip().lower() == LATEST:
        return LATEST
    if text.strip().isascii() and text.strip().isdecimal() and len(text) < 19:
        return int(text)
    raise ValueError(f"the number of a version, or {LATEST}")


def _millis(text: str, zone: str) -> int | None:
    try:
        time = datetime.fromisoformat(text.strip())
        return int((time if time.tzinfo else time.replace(tzinfo=ZoneInfo(zone))).timestamp() * 1000)
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        raise ValueError("a time such as 2026-01-31 12:00:00") from None


def _count(text: str) -> int | None:
    if text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 31:
        return int(text)
    raise ValueError("a whole number above 0")


def _size(text: str) -> int | None:
    size = parse_size(text)
    if size < 1:
        raise ValueError("a size above 0, such as 64M or 10g")
    return size


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def _names(text: str) -> tuple[str, ...] | None:
    try:
        names: Any = orjson.loads(text) if text.lstrip().startswith("[") else text.split(",")
        stripped = tuple(name.strip() for name in names)
    except (ValueError, AttributeError, TypeError):
        stripped = ()
    if not stripped or not all(stripped):
        raise ValueError('names of columns, as in "id, message" or ["id", "message"]')
    return stripped
