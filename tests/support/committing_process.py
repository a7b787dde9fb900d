"""What the processes do that tests start to commit to one dataset of column groups at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from multiprocessing.connection import Connection

from indextables.columns import ColumnGroup, ColumnGroupFile, Transaction
from indextables.errors import CommitConflictError

ROWS = 10
"""Of the dataset before the race, and of every column group that is added to it."""


def rows(name: str) -> list[ColumnGroup]:
    """Files for both column groups of the dataset."""
    return [
        ColumnGroup(columns, "parquet", (ColumnGroupFile(f"{name}-{n}", 0, ROWS),))
        for n, columns in enumerate((("id", "name"), ("vector",)))
    ]


def add_rows(tx: Transaction, name: str) -> Transaction:
    return tx.append_files(rows(name)).add_delta_log(name, 1).update_stat(name, [name])


def add_columns(tx: Transaction, name: str) -> Transaction:
    group = ColumnGroup((name,), "parquet", (ColumnGroupFile(name, 0, ROWS),))
    return tx.add_column_group(group).add_delta_log(name, 1).update_stat(name, [name])


def merge_rows(access: dict[str, str], base: str, process: int, count: int, answers: Connection) -> None:
    answers.send(_merged(add_rows, access, base, process, count))


def merge_columns(access: dict[str, str], base: str, process: int, count: int, answers: Connection) -> None:
    answers.send(_merged(add_columns, access, base, process, count))


def compete(access: dict[str, str], base: str, process: int, count: int, answers: Connection) -> None:
    """With the resolver that fails, until `count` commits are won; answers the versions won, and those lost to."""
    won: list[int] = []
    lost: list[int] = []
    for tried in itertools.count():
        if len(won) == count:
            break
        with Transaction.open(base, options=access) as tx:
            tx.add_delta_log(f"{process}-{tried}", 1)
            try:
                won.append(tx.commit())
            except CommitConflictError:
                lost.append(tx.read_version + 1)
    answers.send((won, lost))


def _merged(
    tell: Callable[[Transaction, str], Transaction],
    access: dict[str, str],
    base: str,
    process: int,
    count: int,
) -> list[int]:
    """The versions that were made."""
    made = []
    for n in range(count):
        with Transaction.open(base, resolver="merge", options=access) as tx:
            made.append(tell(tx, f"{process}-{n}").commit())
    return made
