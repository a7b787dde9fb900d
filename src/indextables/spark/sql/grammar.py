"""The grammar of the commands, with one method for each. An error says what was expected, and where.

`TANTIVY4SPARK` is another word for `INDEXTABLES`; case does not count; semicolons may end a command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from indextables.config import in_hours, parse_duration, parse_size
from indextables.spark.sql.reader import CommandReader
from indextables.spark.sql.refusals import PRODUCT, refusal
from indextables.spark.sql.statements import (
    Age,
    Amount,
    Checkpoint,
    Condition,
    DescribeComponents,
    DescribeHistory,
    DescribeLog,
    DescribeMergeJobs,
    DescribeSkipping,
    DescribeState,
    DropPartitions,
    EmptyTrash,
    Gather,
    InvalidateCache,
    MergeSplits,
    Named,
    Prewarm,
    Purge,
    RepairLog,
    Restore,
    Statement,
    Subject,
    TruncateTimeTravel,
)
from indextables.spark.sql.tokens import misplaced
from indextables.table import MAX_THREADS

_LONGEST_NUMBER: Final = 9
"""The largest number of digits in a number of days, hours or splits."""

_ON_PARTITIONS: Final = "a condition on partition columns"
_SEGMENTS: Final = (
    *("TERM_DICT", "TERM", "POSTINGS", "POSTING_LISTS", "POSITIONS", "POSITION_LISTS"),
    *("FAST_FIELD", "FASTFIELD", "FIELD_NORM", "FIELDNORM", "DOC_STORE", "STORE"),
)
"""The names of IndexTables for Scala for the parts of an index."""

T = TypeVar("T")


def parse_command(sql: str) -> Statement:
    """Parse a command. CommandError if the text is not one.

    >>> parse_command("describe indextables transaction log '/data/logs' include all;")
    DescribeLog(table='/data/logs', include_all=True)
    >>> parse_command("CHECKPOINT INDEXTABLES indextables.`/data/logs`")
    Checkpoint(table='/data/logs')
    """
    return _Parser(sql).statement()


class _Parser(CommandReader):
    """Reads one command from left to right."""

    def statement(self) -> Statement:
        reason = refusal(self._tokens)
        if reason is not None:
            raise misplaced(reason, self._sql, self._next.start)
        statement = self._command()
        while self._accept_symbol(";"):
            pass
        if self._next.kind != "end":
            raise self._expected("the end of the command")
        return statement

    def _command(self) -> Statement:
        verbs = {
            "DESCRIBE": self._describe,
            "DESC": self._describe,
            "TRUNCATE": self._truncate,
            "DROP": self._drop,
            "INVALIDATE": self._invalidate,
            "CHECKPOINT": self._checkpoint,
            "COMPACT": self._checkpoint,
            "PURGE": self._purge,
            "REPAIR": self._repair,
            "MERGE": self._merge,
            "OPTIMIZE": self._optimize,
            "REORG": self._reorg,
            "FLUSH": self._flush,
            "PREWARM": self._prewarm,
            "RESTORE": self._restore,
            "VACUUM": self._vacuum,
            "EMPTY": self._empty,
        }
        verb = self._accept(*verbs)
        if verb is None:
            raise self._expected(*(name for name in verbs if name != "DESC"))
        return verbs[verb.value.upper()]()

    def _describe(self) -> Statement:
        if self._accept("HISTORY"):
            table = self._table()
            return DescribeHistory(
                table, self._count("a whole number of versions") if self._accept("LIMIT") else None
            )
        self._expect(*PRODUCT)
        subjects: dict[str, Callable[[], Statement]] = {
            "TRANSACTION": self._describe_log,
            "STATE": lambda: DescribeState(self._table()),
            "MERGE": self._describe_merge_jobs,
            "COMPONENT": self._describe_components,
            "DATA": self._describe_skipping,
            "STORAGE": lambda: self._gather("STORAGE STATS", "STATS"),
            "DISK": lambda: self._gather("DISK CACHE", "CACHE"),
            "ENVIRONMENT": lambda: self._gather("ENVIRONMENT"),
        }
        return subjects[self._expect(*subjects).value.upper()]()

    def _describe_merge_jobs(self) -> Statement:
        self._expect("JOBS")
        return DescribeMergeJobs()

    def _describe_log(self) -> Statement:
        self._expect("LOG")
        table = self._table()
        return DescribeLog(table, include_all=self._phrase("INCLUDE", "ALL"))

    def _describe_components(self) -> Statement:
        self._expect("SIZES")
        table = self._table()
        return DescribeComponents(table, self._where())

    def _describe_skipping(self) -> Statement:
        self._expect("SKIPPING")
        self._expect("STATS")
        return DescribeSkipping(self._table() if self._accept("FOR") else None)

    def _gather(self, subject: Subject, *words: str) -> Statement:
        for word in words:
            self._expect(word)
        return Gather(subject)

    def _flush(self) -> Statement:
        self._expect(*PRODUCT)
        is_disk = self._expect("DISK", "SEARCHER").is_word("DISK")
        return self._gather("FLUSH DISK CACHE" if is_disk else "FLUSH SEARCHER CACHE", "CACHE")

    def _prewarm(self) -> Statement:
        self._expect(*PRODUCT)
        self._expect("CACHE")
        table = self._table()
        if self._phrase("FOR", "SEGMENTS"):
            self._list(self._segment)
        fields = self._list(self._field) if self._phrase("ON", "FIELDS") else ()
        threads = self._threads() if self._phrase("WITH", "PERWORKER", "PARALLELISM", "OF") else None
        where = self._where()
        if self._next.is_word("ASYNC"):
            raise misplaced(
                "ASYNC MODE is not supported: a command returns when its work is done. Run it in a thread of "
                "your own if you do not want to wait for it",
                self._sql,
                self._next.start,
            )
        return Prewarm(table, fields, threads, where)

    def _list(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Take items in parentheses, with commas between them."""
        self._expect_symbol("(")
        items = [item()]
        while self._accept_symbol(","):
            items.append(item())
        self._expect_symbol(")")
        return tuple(items)

    def _segment(self) -> str:
        token = self._next
        if token.value.upper() not in _SEGMENTS or token.kind not in ("word", "string", "name"):
            raise self._expected(*_SEGMENTS)
        self._at += 1
        return token.value

    def _field(self) -> Named:
        token = self._next
        if token.kind not in ("word", "string", "name") or not token.value:
            raise self._expected("the name of a column")
        self._at += 1
        return Named(token.value, token.start)

    def _threads(self) -> Amount:
        token = self._next
        if token.kind != "word" or not token.value.isdecimal() or len(token.value) > _LONGEST_NUMBER:
            raise self._expected("a whole number of splits")
        self._at += 1
        if not 1 <= int(token.value) <= MAX_THREADS:
            raise misplaced(f"the parallelism is from 1 to {MAX_THREADS}", self._sql, token.start)
        return Amount(int(token.value), token.start)

    def _where(self, expected: str = "a condition") -> Condition | None:
        return self._condition(expected) if self._accept("WHERE") else None

    def _merge(self) -> Statement:
        self._expect("SPLITS")
        table = self._table()
        where = self._where(_ON_PARTITIONS)
        size = self._size() if self._phrase("TARGET", "SIZE") else None
        limits: dict[str, Amount] = {}
        while len(limits) < 2 and self._accept("MAX"):
            if "DEST" not in limits and self._accept("GROUPS"):  # what MAX DEST SPLITS was called at first
                limits["DEST"] = self._count()
                continue
            word = self._expect(*(name for name in ("DEST", "SOURCE") if name not in limits)).value.upper()
            for follows in ("SPLITS",) if word == "DEST" else ("SPLITS", "PER", "MERGE"):
                self._expect(follows)
            limits[word] = self._count()
        if self._next.is_word("PRECOMMIT"):
            raise misplaced(
                "PRECOMMIT is not supported: it merges the splits of a write before their commit, and a write here "
                "commits its splits as they are. Run MERGE SPLITS after the write",
                self._sql,
                self._next.start,
            )
        return MergeSplits(table, where, size, limits.get("DEST"), limits.get("SOURCE"))

    def _optimize(self) -> Statement:
        table = self._table()
        return MergeSplits(table, self._where(_ON_PARTITIONS))

    def _reorg(self) -> Statement:
        self._expect("TABLE")
        table = self._table()
        where = self._where(_ON_PARTITIONS)
        self._expect("APPLY")
        self._expect_symbol("(")
        self._expect("PURGE")
        self._expect_symbol(")")
        return MergeSplits(table, where, only_deleted=True)

    def _size(self) -> Amount:
        token = self._next
        try:
            number = parse_size(token.value if token.kind in ("word", "string") else "")
        except ValueError as reason:
            raise self._expected(str(reason)) from None
        self._at += 1
        return Amount(number, token.start)

    def _count(self, expected: str = "a whole number of splits") -> Amount:
        token = self._next
        is_number = token.kind in ("word", "string") and token.value.isdecimal()
        if not is_number or len(token.value) > _LONGEST_NUMBER:
            raise self._expected(expected)
        self._at += 1
        return Amount(int(token.value), token.start)

    def _truncate(self) -> Statement:
        self._expect(*PRODUCT)
        self._expect("TIME")
        self._expect("TRAVEL")
        table = self._table()
        return TruncateTimeTravel(table, dry_run=self._phrase("DRY", "RUN"))

    def _drop(self) -> Statement:
        self._expect(*PRODUCT)
        self._expect("PARTITIONS")
        self._expect("FROM")
        table = self._table()
        self._expect("WHERE")
        return DropPartitions(table, self._condition(_ON_PARTITIONS))

    def _invalidate(self) -> Statement:
        self._expect(*PRODUCT)
        self._expect("TRANSACTION")
        self._expect("LOG")
        self._expect("CACHE")
        return InvalidateCache(self._table() if self._accept("FOR") else None)

    def _checkpoint(self) -> Statement:
        self._expect(*PRODUCT)
        return Checkpoint(self._table())

    def _purge(self) -> Statement:
        self._expect("INDEXTABLE", *PRODUCT)
        table = self._table()
        older_than = self._age() if self._phrase("OLDER", "THAN") else None
        log_retention = self._age() if self._phrase("TRANSACTION", "LOG", "RETENTION") else None
        return Purge(table, older_than, log_retention, dry_run=self._phrase("DRY", "RUN"))

    def _vacuum(self) -> Statement:
        table = self._table()
        older_than = self._age("HOURS", "HOUR") if self._accept("RETAIN") else None
        return Purge(table, older_than, dry_run=self._phrase("DRY", "RUN"))

    def _restore(self) -> Statement:
        self._accept("TABLE")
        table = self._table()
        self._accept("TO")
        is_version = self._expect("VERSION", "TIMESTAMP").is_word("VERSION")
        self._expect("AS")
        self._expect("OF")
        if is_version:
            return Restore(table, version=self._count("the number of a version").number)
        position = self._next.start
        return Restore(table, timestamp=Named(self._string("a time in quotes"), position))

    def _empty(self) -> Statement:
        self._expect(*PRODUCT)
        self._expect("TRASH")
        older_than = self._age() if self._phrase("OLDER", "THAN") else None
        return EmptyTrash(older_than, dry_run=self._phrase("DRY", "RUN"))

    def _age(self, *units: str) -> Age:
        token = self._next
        if token.kind != "word" or not token.value.isdecimal() or len(token.value) > _LONGEST_NUMBER:
            raise self._expected("a whole number of days or hours")
        self._at += 1
        unit = self._expect(*(units or ("DAYS", "HOURS", "DAY", "HOUR")))
        return Age(in_hours(parse_duration(f"{token.value} {unit.value}")), token.start)

    def _repair(self) -> Statement:
        self._expect("INDEXFILES")
        self._expect("TRANSACTION")
        self._expect("LOG")
        source = self._string("the path of a log in quotes")
        if not self._phrase("AT", "LOCATION"):
            return RepairLog(source)
        return RepairLog(source, self._string("the path of a log in quotes"))
