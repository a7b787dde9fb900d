"""A table on disk, through its public face, against a plain list of its versions: whatever is done, in any order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import indextables as it
from indextables.errors import VersionNotFoundError
from indextables.log.snapshots import cache
from indextables.storage import open_store
from support.invariants import check_live_files

DAYS = ("mon", "tue", "wed eve/ü")
WORDS = ("disk", "full", "login", "timeout")
SETTINGS = {"spark.indextables.checkpoint.interval": "3", "spark.indextables.indexWriter.heapSize": "15M"}
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("message", pa.string())])


class Row(NamedTuple):
    """`id` counts all rows ever written, so that a lost and a doubled one are seen."""

    id: int
    day: str | None
    message: str | None


contents = st.lists(
    st.tuples(
        st.none() | st.sampled_from(DAYS),
        st.none() | st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join),
    ),
    max_size=4,
)


class TableMachine(RuleBasedStateMachine):
    """`versions` is the model: the rows of every version. Those in `readable` must be there, others may be gone."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="table-model-"))
        self.path = str(self.directory / "table")
        self.versions: list[list[Row]] = []
        self.readable: set[int] = set()
        self.ids = 0
        self.batches = 0

    def teardown(self) -> None:
        shutil.rmtree(self.directory)
        cache.forget(self.path)

    # What changes the table

    @initialize(rows=contents)
    def make(self, rows: list[tuple[str | None, str | None]]) -> None:
        new = self._rows(rows)
        self._write(new, "error")
        self._committed(0, new)

    @rule(rows=contents)
    def append(self, rows: list[tuple[str | None, str | None]]) -> None:
        new = self._rows(rows)
        self._committed(self._write(new, "append"), [*self.versions[-1], *new])

    @rule(rows=contents, again=st.booleans())
    def append_batch(self, rows: list[tuple[str | None, str | None]], again: bool) -> None:
        """A batch of a writer that is not sure whether its last one got through."""
        new = self._rows(rows)
        self._committed(self._write(new, "append", self.batches), [*self.versions[-1], *new])
        if again:
            assert self._write(new, "append", self.batches) == len(self.versions) - 1, "it is there already"
        self.batches += 1

    @rule(rows=contents)
    def overwrite(self, rows: list[tuple[str | None, str | None]]) -> None:
        new = self._rows(rows)
        self._committed(self._write(new, "overwrite"), new)

    @rule(day=st.sampled_from(DAYS))
    def drop_partition(self, day: str) -> None:
        left = [row for row in self.versions[-1] if row.day != day]
        self._committed(self._open().drop_partitions(f"day = '{day}'"), left)

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.readable)))
        self._committed(self._open().restore(version), self.versions[version])

    # What must not

    @rule()
    def checkpoint(self) -> None:
        """A state that is in place and not compacted stays: the compacted one is of a version that changes nothing."""
        version = self._open().checkpoint()
        if version == len(self.versions):
            self._committed(version, self.versions[-1])
        assert version == len(self.versions) - 1

    @rule()
    def clean_versions(self) -> None:
        """What a state covers may go; from that state on, everything stays."""
        covered_by = self._open().clean_versions(retention_hours=0).covered_by
        self.readable = {version for version in self.readable if version >= covered_by}

    @precondition(lambda self: len(self.versions) > 3)
    @rule()
    def truncate(self) -> None:
        self._open().truncate_time_travel()
        self.readable = {len(self.versions) - 1}
        for version in range(len(self.versions) - 1):
            with pytest.raises(VersionNotFoundError):
                self._open(version)

    @rule()
    def begin_anew(self) -> None:
        """As a new process does: nothing is remembered."""
        cache.forget(self.path)

    # What is seen

    @rule(data=st.data())
    def read_an_older_version(self, data: st.DataObject) -> None:
        version = data.draw(st.integers(0, len(self.versions) - 1))
        try:
            found = self._open(version)
        except VersionNotFoundError:
            assert version not in self.readable, f"version {version} is lost"
        else:
            assert self._seen(found) == sorted(self.versions[version], key=lambda row: row.id)

    @rule(word=st.sampled_from(WORDS), day=st.sampled_from(DAYS))
    def search(self, word: str, day: str) -> None:
        table = self._open()
        hits = [row for row in self.versions[-1] if row.message is not None and word in row.message.split()]
        there = [row.id for row in hits if row.day == day]
        assert table.count(word) == len(hits)
        assert sorted(table.search(word, limit=None).column("id").to_pylist()) == [row.id for row in hits]
        where = f"day = '{day}'"
        assert sorted(table.search(word, limit=None, where=where).column("id").to_pylist()) == there
        assert table.count(where=where) == sum(row.day == day for row in self.versions[-1])
        assert table.count(where="day IS NULL") == sum(row.day is None for row in self.versions[-1])

    @invariant()
    def the_newest_version_is_what_was_made_of_it(self) -> None:
        if not self.versions:
            return
        table = self._open()
        assert table.version == len(self.versions) - 1
        assert table.count() == len(self.versions[-1])
        assert self._seen(table) == sorted(self.versions[-1], key=lambda row: row.id)
        check_live_files(open_store(self.path))

    def _open(self, version: int | None = None) -> it.Table:
        return it.open(self.path, version=version, settings=SETTINGS)

    def _rows(self, contents: list[tuple[str | None, str | None]]) -> list[Row]:
        made = [Row(self.ids + n, day, message) for n, (day, message) in enumerate(contents)]
        self.ids += len(made)
        return made

    def _write(self, rows: list[Row], mode: str, batch: int | None = None) -> int:
        data = pa.Table.from_pylist([row._asdict() for row in rows], SCHEMA)
        txn = None if batch is None else ("app", batch)
        return it.write(
            self.path,
            data,
            mode=mode,
            partition_by=["day"] if mode == "error" else None,
            text=["message"],
            settings=SETTINGS,
            txn=txn,
        )

    def _committed(self, version: int, rows: list[Row]) -> None:
        """A new version has these rows, unless there was nothing to do and the newest has them."""
        note(f"version {version} has {len(rows)} rows")
        if version == len(self.versions) - 1:
            assert rows == self.versions[-1]
            return
        assert version == len(self.versions)
        self.versions.append(rows)
        self.readable.add(version)

    def _seen(self, table: it.Table) -> list[Row]:
        found = [Row(**row) for row in table.to_arrow(columns=["id", "day", "message"]).to_pylist()]
        return sorted(found, key=lambda row: row.id)


def run(examples: int, steps: int, *, derandomize: bool = True) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=derandomize,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(TableMachine, settings=chosen)


def test_a_table_is_what_was_done_to_it():
    run(examples=8, steps=12)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_table_is_what_was_done_to_it_in_the_long_run():
    run(examples=300, steps=30, derandomize=False)
