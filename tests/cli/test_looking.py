"""ls, describe, files, history, show, diff, du and explain."""

from __future__ import annotations

import indextables as it
from support.cli_rows import rows


def test_ls_finds_tables_at_any_depth_on_a_disk(cli, logs, tmp_path):
    it.write(tmp_path / "deep" / "other", rows(0, "a"))
    listed = cli.rows("ls", tmp_path)
    assert [(row["name"], row["rows"], row["version"]) for row in listed] == [
        (f"{tmp_path}/deep/other", 1, 0),
        (f"{tmp_path}/logs", 4, 1),
    ]
    assert "deep/other" in cli.text("ls", tmp_path)


def test_ls_finds_tables_in_an_object_store(cli):
    for name in ("a", "a/b", "a0", "c/d"):
        it.write(f"memory://cli-ls/{name}", rows(0, "a"))
    names = [row["name"].rpartition("cli-ls/")[2] for row in cli.rows("ls", "memory://cli-ls")]
    assert names == ["a", "a0", "c/d"]


def test_ls_shows_a_table_that_cannot_be_opened(cli, tmp_path):
    log = tmp_path / "bad" / "_transaction_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("damaged")
    (row,) = cli.rows("ls", tmp_path)
    assert row["error"]
    assert row["rows"] is None


def test_ls_of_an_empty_directory_exits_1(cli, tmp_path):
    assert cli("ls", tmp_path)[0] == 1


def test_describe(cli, logs):
    (shown,) = cli.rows("describe", logs)
    assert (shown["version"], shown["rows"], shown["files"]) == (1, 4, 2)
    assert shown["columns"][3] == {"name": "message", "type": "string", "index": "text"}
    assert "4 rows in 2 splits" in cli.text("describe", logs)
    assert cli.rows("describe", logs, "--version", "0")[0]["rows"] == 3


def test_files_and_history(cli, logs):
    assert [row["num_records"] for row in cli.rows("files", logs)] == [3, 1]
    assert len(cli.rows("files", logs, "--where", "id = 0")) == 1
    assert [row["version"] for row in cli.rows("history", logs)] == [1, 0]
    assert [row["version"] for row in cli.rows("history", logs, "-n", "1")] == [1]
    assert "operation" in cli.text("history", logs)


def test_show_prints_the_files_of_one_version(cli, logs):
    assert [(row["change"], row["rows"]) for row in cli.rows("show", logs, 0)] == [("added", 3)]
    assert "added" in cli.text("show", logs, 1)
    assert cli("show", logs, 7)[0] == 3


def test_diff_of_two_versions(cli, logs):
    it.write(logs, rows(8, "replaced"), mode="overwrite")
    assert [row["change"] for row in cli.rows("diff", logs, 1, 2)] == ["added", "removed", "removed"]
    assert [row["id"] for row in cli.rows("diff", logs, 0, 1, "--rows")] == [3]
    assert cli("diff", logs, 1, 1, "--exit-code")[0] == 1
    assert cli("diff", logs, 8, 1)[0] == 3


def changes(found: list[dict]) -> list[tuple[str, int]]:
    return sorted((row["_change_type"], row["id"]) for row in found)


def test_the_rows_of_a_diff_are_those_that_one_version_has_and_the_other_has_not(cli, logs):
    table = it.open(logs)
    table.merge_splits(target_size="1G")  # version 2
    table.refresh().delete("id = 0")  # version 3
    table.refresh().restore(0)  # version 4: the three first rows, and not the fourth
    assert changes(cli.rows("diff", logs, 0, 1, "--rows")) == [("insert", 3)]
    assert changes(cli.rows("diff", logs, 1, 2, "--rows")) == []
    assert changes(cli.rows("diff", logs, 2, 3, "--rows")) == [("delete", 0)]
    assert changes(cli.rows("diff", logs, 3, 4, "--rows")) == [("delete", 3), ("insert", 0)]
    assert changes(cli.rows("diff", logs, 2, 4, "--rows")) == [("delete", 3)]
    assert changes(cli.rows("diff", logs, 0, 4, "--rows")) == []
    assert cli("diff", logs, 2, 3, "--rows", "--exit-code")[0] == 0
    assert cli("diff", logs, 0, 4, "--rows", "--exit-code")[0] == 1


def test_the_rows_of_a_diff_are_counted_as_often_as_they_occur(cli, logs):
    it.write(logs, rows(0, "disk full on db1", "disk full on db1").slice(0, 1), mode="overwrite")
    it.write(logs, rows(0, "disk full on db1"), mode="append")
    assert changes(cli.rows("diff", logs, 2, 3, "--rows")) == [("insert", 0)]


def test_deleted_rows_are_in_the_files_of_a_diff_and_in_the_history(cli, logs):
    table = it.open(logs)
    table.delete("id = 0")
    table.refresh().restore(1)
    assert [(row["change"], row["rows"]) for row in cli.rows("diff", logs, 1, 2)] == [("rows deleted", 1)]
    assert [(row["change"], row["rows"]) for row in cli.rows("show", logs, 3)] == [("rows restored", 1)]
    it.write(logs, rows(9, "new"), mode="overwrite")
    figures = [(row["rows_added"], row["rows_removed"]) for row in cli.rows("history", logs)]
    assert figures == [(1, 4), (1, 0), (0, 1), (1, 0), (3, 0)]
    removed = [row["rows"] for row in cli.rows("diff", logs, 3, 4) if row["change"] == "removed"]
    assert sorted(removed) == [1, 3]


def test_du_adds_up_to_the_size_of_the_table(cli, logs):
    (shown,) = cli.rows("describe", logs)
    assert sum(row["bytes"] for row in cli.rows("du", logs)) == shown["bytes"]


def test_explain_counts_the_splits_that_are_skipped(cli, logs):
    (plan,) = cli.rows("explain", logs, "--where", "id = 0")
    assert (plan["splits"], plan["splits_read"]) == (2, 1)
    assert sum(plan["skipped_by"].values()) == 1
    assert "2 of 2 splits" in cli.text("explain", logs, "disk")
    assert cli("explain", logs, "message:(")[0] == 2


def test_explain_has_notes_for_scripts(cli, logs):
    (plan,) = cli.rows("explain", logs, "disk")
    assert (plan["foreign_splits_read"], plan["notes"]) == (0, [])


def test_people_read_words_for_indexes_and_units_for_bytes(cli, logs):
    it.write(logs, rows(0, "one"), mode="overwrite")
    shown = cli.text("describe", logs)
    assert "1 row in 1 split, " in shown
    assert "numbers" in shown
    assert "text, by its words" in shown
    assert "i64" not in shown.replace("int64", "")
    for command in ("du", "files", "history"):
        assert "KiB" in cli.text(command, logs), command
