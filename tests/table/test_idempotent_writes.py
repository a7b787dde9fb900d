"""A write with a place in its application's sequence is made once, however often it is tried."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.schema import TableSchema
from indextables.table import commit_write, flush_caches, plan_write, run_write_task

ROWS = pa.table({"n": [1, 2]})


def splits(path: Path) -> int:
    return len(list(path.rglob("*.split")))


def test_a_write_that_the_table_has_is_not_made_again(tmp_path: Path):
    assert it.write(tmp_path, ROWS, txn=("app", 7)) == 0
    for again in (7, 6):
        assert it.write(tmp_path, ROWS, txn=("app", again)) == 0
        assert it.write(tmp_path, ROWS, txn=("app", again), mode="overwrite") == 0
    assert (it.open(tmp_path).count(), splits(tmp_path)) == (2, 1)


def test_the_next_write_and_another_application_are(tmp_path: Path):
    it.write(tmp_path, ROWS, txn=("app", 7))
    assert it.write(tmp_path, ROWS, txn=("app", 8)) == 1
    assert it.write(tmp_path, ROWS, txn=("other", 1)) == 2
    assert it.write(tmp_path, ROWS) == 3
    assert it.open(tmp_path).snapshot.txns == {"app": 8, "other": 1}


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_that_a_twin_makes_first_leaves_no_splits(tmp_path: Path, mode: str):
    it.write(tmp_path, ROWS)
    schema = TableSchema.from_arrow(ROWS.schema)
    plan = plan_write(
        str(tmp_path), schema, mode=mode, partition_by=None, settings=Settings(), txn=("app", 1)
    )
    assert plan is not None
    result = run_write_task(plan, ROWS.to_batches())
    it.write(tmp_path, ROWS, txn=("app", 1))
    assert commit_write(plan, [result]) == 1
    assert (it.open(tmp_path).count(), splits(tmp_path)) == (4, 2)


def test_a_batch_without_rows_still_counts(tmp_path: Path):
    it.write(tmp_path, ROWS)
    assert it.write(tmp_path, ROWS.slice(0, 0), txn=("app", 3)) == 1
    assert it.open(tmp_path).snapshot.txns == {"app": 3}


def test_the_sequence_survives_a_checkpoint(tmp_path: Path):
    it.write(tmp_path, ROWS, txn=("app", 7))
    it.write(tmp_path, ROWS)
    it.open(tmp_path).truncate_time_travel()
    assert it.write(tmp_path, ROWS, txn=("app", 7)) == 1


@pytest.mark.parametrize("txn", [("", 1), ("app", -1), (3, 1), ("app", "1"), ("io.indextables.purge", 1)])
def test_a_txn_that_is_none_is_refused(tmp_path: Path, txn: tuple[str, int]):
    with pytest.raises(InputError, match="takes the application's name"):
        it.write(tmp_path, ROWS, txn=txn)


def test_the_sequence_survives_clean_up_restore_and_overwrite(tmp_path: Path):
    it.write(tmp_path, ROWS, txn=("app", 7))
    it.write(tmp_path, ROWS, txn=("app", 8))
    it.open(tmp_path).restore(0)
    it.write(tmp_path, ROWS, mode="overwrite")
    it.write(tmp_path, ROWS, mode="overwrite", txn=("other", 1))
    it.open(tmp_path).merge_splits()
    it.open(tmp_path).checkpoint()
    it.open(tmp_path).truncate_time_travel()
    it.open(tmp_path, settings={keys.PURGE_RETENTION_CHECK.key: "false"}).purge(older_than="0 hours")
    flush_caches()
    table = it.open(tmp_path)
    assert {"app": 8, "other": 1}.items() <= table.snapshot.txns.items()
    assert len(list((tmp_path / "_transaction_log").glob("0*.json"))) < 5
    assert it.write(tmp_path, ROWS, txn=("app", 8)) == table.version
