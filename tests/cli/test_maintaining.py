"""merge, checkpoint, restore, drop-partitions, purge, truncate-history, repair: text, JSON, consent, exit codes."""

from __future__ import annotations

import shutil

import pytest

import indextables as it
from indextables.cli import asking
from support.cli_rows import rows


@pytest.fixture
def days(tmp_path) -> str:
    """A table partitioned by level, of three versions."""
    path = str(tmp_path / "days")
    for number in range(3):
        it.write(
            path, rows(number * 2, "disk full", "login ok"), partition_by=["level"] if not number else None
        )
    return path


def test_merge(cli, days):
    assert cli.rows("merge", days, "--dry-run") == [
        {"status": "dry_run", "merged_files": 6, "merge_groups": 2}
    ]
    assert "would merge 3 splits into 1" in cli.text("merge", days, "--where", "level = 'INFO'", "--dry-run")
    assert it.open(days).version == 2
    (done,) = cli.rows("merge", days, "--target", "100M")
    assert (done["status"], done["merged_files"], done["version"]) == ("success", 6, 3)
    assert "no partition has two small splits" in cli.text("merge", days)


@pytest.mark.parametrize("arguments", [["--target", "big"], ["--target", "1"], ["--where", "id = 1"]])
def test_a_merge_that_is_wrong_exits_2(cli, days, arguments):
    assert cli("merge", days, *arguments)[0] == 2
    assert cli("merge", days, *arguments, "--dry-run")[0] == 2


def test_checkpoint(cli, days):
    assert cli.rows("checkpoint", days) == [{"version": 2}]
    assert cli.text("checkpoint", days) == "wrote the state of version 2\n"


def test_restore_asks_first(cli, days):
    assert cli.rows("restore", days, 0, "--dry-run") == [
        {"status": "dry_run", "files_added": 0, "files_removed": 4}
    ]
    code, out, err = cli("restore", days, 0)
    assert (code, out) == (2, "")
    assert "--yes" in err
    assert it.open(days).version == 2
    (done,) = cli.rows("restore", days, 0, "--yes")
    assert (done["version"], it.open(days).count()) == (3, 2)
    assert "now has the rows of version 2" in cli.text("restore", days, 2, "--yes")
    assert cli("restore", days, 9, "--yes")[0] == 3


def test_drop_partitions(cli, days):
    (planned,) = cli.rows("drop-partitions", days, "--where", "level = 'INFO'", "--dry-run")
    assert (planned["partitions_dropped"], planned["splits_removed"]) == (1, 3)
    assert cli("drop-partitions", days, "--where", "level = 'INFO'")[0] == 2
    assert it.open(days).count() == 6
    (done,) = cli.rows("drop-partitions", days, "--where", "level = 'INFO'", "--yes")
    assert (done["splits_removed"], done["version"], it.open(days).count()) == (3, 3, 3)
    assert "no partition" in cli.text("drop-partitions", days, "--where", "level = 'INFO'", "--yes")
    assert cli("drop-partitions", days, "--where", "id = 1", "--yes")[0] == 2
    assert cli("drop-partitions", days)[0] == 2


EAGER = ("--set", "purge.retentionCheckEnabled=false")


def test_purge(cli, days):
    it.open(days).merge_splits()
    it.open(days).truncate_time_travel()
    arguments = ("purge", days, "--older-than", "0h", *EAGER)
    (planned,) = cli.rows(*arguments, "--dry-run")
    assert (planned["status"], planned["orphaned_files_found"]) == ("DRY_RUN", 6)
    code, _, err = cli(*arguments)
    assert code == 2
    assert "Would delete 6 splits" in err
    (done,) = cli.rows(*arguments, "--yes")
    assert (done["status"], done["orphaned_files_deleted"]) == ("SUCCESS", 6)
    assert "deleted 0 splits" in cli.text(*arguments, "--yes")
    assert it.open(days).count() == 6


@pytest.mark.parametrize("age", ["7", "a week", "1h"])
def test_an_age_that_is_wrong_exits_2(cli, days, age):
    assert cli("purge", days, "--older-than", age, "--dry-run")[0] == 2


def test_truncate_history(cli, days):
    (planned,) = cli.rows("truncate-history", days, "--dry-run")
    assert planned["versions_deleted"] == 2
    assert cli("truncate-history", days)[0] == 2
    assert "deleted" in cli.text("truncate-history", days, "--yes")
    assert cli("describe", days, "--version", 0)[0] == 3
    assert it.open(days).count() == 6


def test_repair(cli, days, tmp_path):
    log = f"{days}/_transaction_log"
    (done,) = cli.rows("repair", log, "--to", tmp_path / "new" / "_transaction_log")
    assert (done["valid_splits"], done["status"]) == (6, "SUCCESS")
    assert cli("repair", log)[0] == 2  # there is a log
    shutil.rmtree(log)
    assert "6 of 6 splits" in cli.text("repair", log)
    assert it.open(days).count() == 6
    assert cli("repair", tmp_path / "absent" / "_transaction_log")[0] == 3


def test_consent_on_a_terminal(monkeypatch, capsys):
    class Terminal:
        def __init__(self, answer: str) -> None:
            self.answer = answer

        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return self.answer

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    asking.confirm("Delete it?", yes=False)
    assert capsys.readouterr().err == "Delete it? [y/N] "
    monkeypatch.setattr("sys.stdin", Terminal("\n"))
    with pytest.raises(asking.Refused):
        asking.confirm("Delete it?", yes=False)


@pytest.mark.parametrize(
    "command", ["merge", "checkpoint", "restore", "drop-partitions", "purge", "truncate-history"]
)
def test_a_table_that_is_absent_exits_3(cli, tmp_path, command):
    extra = {"restore": [0], "drop-partitions": ["--where", "a = 1"]}.get(command, [])
    assert cli(command, tmp_path / "absent", *extra)[0] == 3
