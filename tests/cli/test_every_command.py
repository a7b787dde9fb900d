"""Every command: its text, its JSON, wrong input and its exit code, its help, and its completion in bash."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import pytest

import indextables as it
from indextables.cli.parser import make_parser
from support.cli_rows import rows

# What a command is given, in which {table}, {days} (partitioned), {new} and {file} are paths, and a part of its text.
GOOD = {
    "search": (["{table}", "disk"], "**disk**"),
    "count": (["{table}", "disk"], "2"),
    "head": (["{table}"], "login ok"),
    "tail": (["{table}", "-n", "1"], "logout"),
    "ls": (["{home}"], "logs"),
    "describe": (["{table}"], "4 rows in 2 splits"),
    "files": (["{table}"], "split-"),
    "history": (["{table}"], "WRITE"),
    "show": (["{table}", "1"], "added"),
    "diff": (["{table}", "0", "1"], "added"),
    "du": (["{table}"], "rows_footer"),
    "explain": (["{table}", "disk"], "2 of 2 splits"),
    "import": (["{new}", "{file}"], "imported 2 rows"),
    "export": (["{table}", "-o", "{new}.csv", "--yes"], "wrote 4 rows"),
    "sql": (["SELECT count(*) AS n FROM t", "t={table}"], "4"),
    "merge": (["{table}"], "merged"),
    "checkpoint": (["{table}"], "wrote the state"),
    "restore": (["{table}", "0", "--yes"], "version 0"),
    "drop-partitions": (["{days}", "--where", "level = 'INFO'", "--yes"], "dropped by version 1"),
    "purge": (["{table}", "--yes"], "deleted 0 splits"),
    "truncate-history": (["{table}", "--yes"], "deleted"),
    "repair": (["{table}/_transaction_log", "--to", "{new}/_transaction_log"], "2 of 2 splits"),
    "doctor": (["{table}"], "Python"),
    "settings": (["targetSplitSize"], "targetSplitSize"),
    "completion": (["bash"], "complete"),
    "ui": (["{table}", "--no-browser"], "Ctrl-C"),
    "demo": (["{new}", "--rows", "20"], "indextables ui"),
}
# The keys that scripts read, in their order.
KEYS = {
    "search": "id at level message _score",
    "count": "count",
    "head": "id at level message",
    "tail": "id at level message",
    "ls": "name version rows files bytes last_commit error",
    "describe": "path version rows files bytes partition_columns min_reader_version min_writer_version columns",
    "files": "path partition_values num_records size modification_time",
    "history": "version timestamp operation files_added files_removed rows_added rows_removed bytes_added engine",
    "show": "change path rows size",
    "diff": "change path rows size",
    "du": "part bytes percent",
    "explain": "version splits splits_read skipped_by rows_in_splits_read bytes_of_splits_read "
    "foreign_splits_read notes",
    "import": "rows version unmatched_lines seconds",
    "export": "rows bytes file version",
    "sql": "n",
    "merge": "table_path status merged_files merge_groups original_size_bytes merged_size_bytes message rows linked "
    "indexed_again dropped_groups skipped_files failed_groups version duration_ms messages",
    "checkpoint": "version",
    "restore": "status version files_added files_removed",
    "drop-partitions": "table_path status partitions_dropped splits_removed total_size_bytes message version",
    "purge": "table_path status orphaned_files_found orphaned_files_deleted size_mb_deleted retention_hours "
    "tx_log_files_deleted expired_states_found expired_states_deleted dry_run duration_ms message manifests_deleted "
    "temporary_files_deleted",
    "truncate-history": "table_path status checkpoint_version versions_deleted checkpoints_deleted "
    "files_preserved message",
    "repair": "source_path target_path source_version total_splits valid_splits missing_splits status",
    "doctor": "severity check message number command",
    "settings": "key default meaning",
    "ui": "url",
    "demo": "path rows version",
}
# What reads the past, with an answer that differs between the two versions.
PAST = {
    "search": ["{table}", "*"],
    "count": ["{table}"],
    "head": ["{table}"],
    "tail": ["{table}"],
    "describe": ["{table}"],
    "files": ["{table}"],
    "history": ["{table}"],
    "du": ["{table}"],
    "explain": ["{table}"],
    "export": ["{table}", "-o", "-"],
    "sql": ["SELECT count(*) AS n FROM t", "t={table}"],
}
# Wrong input, and its exit code.
BAD = {
    "search": (["{table}", "message:("], 2),
    "count": (["{table}", "--by", "absent"], 2),
    "head": (["{table}", "-c", "absent"], 2),
    "tail": (["{table}", "--by", "absent"], 2),
    "ls": (["{home}/absent"], 1),
    "describe": (["{absent}"], 3),
    "files": (["{table}", "--where", "id <"], 2),
    "history": (["{absent}"], 3),
    "show": (["{table}", "9"], 3),
    "diff": (["{table}", "0", "9"], 3),
    "du": (["{table}", "--where", "id <"], 2),
    "explain": (["{table}", "message:("], 2),
    "import": (["{new}", "{home}/absent.csv"], 2),
    "export": (["{table}", "-o", "{new}.xml"], 2),
    "sql": (["SELEC", "{table}"], 2),
    "merge": (["{table}", "--target", "big"], 2),
    "checkpoint": (["{absent}"], 3),
    "restore": (["{table}", "9", "--yes"], 3),
    "drop-partitions": (["{days}", "--where", "id = 1", "--yes"], 2),
    "purge": (["{table}", "--older-than", "a week"], 2),
    "truncate-history": (["{table}"], 2),
    "repair": (["{absent}/_transaction_log"], 3),
    "doctor": (["{absent}"], 3),
    "settings": (["frobnicate"], 1),
    "completion": (["tcsh"], 2),
    "ui": (["{absent}"], 3),
    "demo": (["{new}", "--rows", "0"], 2),
}


def parsers() -> dict[str, argparse.ArgumentParser]:
    actions = make_parser()._actions
    (choices,) = [action.choices for action in actions if isinstance(action, argparse._SubParsersAction)]
    return dict(choices)


def commands() -> list[str]:
    return list(parsers())


@pytest.fixture
def fill(tmp_path, logs, monkeypatch):
    """Fill in the paths; `ui` prints its URL and ends."""
    days = tmp_path / "days"
    it.write(days, rows(0, "disk full", "login ok"), partition_by=["level"])
    file = tmp_path / "rows.ndjson"
    file.write_text('{"id": 1, "message": "disk is full"}\n{"id": 2, "message": "all is well"}\n')
    places = {"table": logs, "days": days, "file": file, "home": tmp_path, "new": tmp_path / "new"}
    places["absent"] = tmp_path / "absent"
    ui = pytest.importorskip("indextables.ui")
    monkeypatch.setattr(ui, "serve", lambda tables, address, *, browser, ready: ready(address.url))
    return lambda words: [word.format(**places) for word in words]


def test_the_table_has_every_command():
    assert sorted(GOOD) == sorted(BAD) == sorted(commands())
    assert sorted([*KEYS, "completion"]) == sorted(commands())
    assert sorted(PAST) == sorted(
        name for name, parser in parsers().items() if "--as-of" in parser._option_string_actions
    )


@pytest.mark.parametrize("command", GOOD)
def test_text_for_people(cli, fill, command):
    if command == "sql":
        pytest.importorskip("duckdb")
    words, text = GOOD[command]
    code, out, err = cli(command, *fill(words), "--format", "table")
    assert code == 0, err
    assert text in out


@pytest.mark.parametrize("command", KEYS)
def test_json_for_scripts(cli, fill, command):
    if command == "sql":
        pytest.importorskip("duckdb")
    code, out, err = cli(command, *fill(GOOD[command][0]), "--json")
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert found
    assert {" ".join(row) for row in found} == {KEYS[command]}


@pytest.mark.parametrize("command", PAST)
def test_a_time_reads_the_version_of_that_time(cli, fill, command, logs):
    if command == "sql":
        pytest.importorskip("duckdb")
    first = it.open(logs).history().sort_by("version").column("timestamp")[0].as_py()
    time = first if isinstance(first, str) else first.isoformat()
    words = [command, *fill(PAST[command]), "--json"]
    code, then, err = cli(*words, "--as-of", time)
    assert code == 0, err
    assert then == cli(*words, "--version", 0)[1]
    assert then != cli(*words)[1]
    assert cli(*words, "--as-of", "2001-01-01T00:00:00Z")[0] == 3


@pytest.mark.parametrize("command", BAD)
def test_wrong_input_has_an_exit_code_and_prints_nothing_to_stdout(cli, fill, command, tmp_path):
    if command == "sql":
        pytest.importorskip("duckdb")
    words, expected = BAD[command]
    code, out, err = cli(command, *fill(words), "--json")
    assert (code, out) == (expected, "")
    assert err or expected == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", commands())
def test_help(cli, command):
    code, out, _ = cli(command, "--help")
    assert code == 0
    assert out.startswith(f"usage: indextables {command}")
    assert "--json" in out
    assert cli(command, "--frobnicate")[0] == 2


def test_bash_completes_every_command_and_its_options(cli, tmp_path):
    bash = shutil.which("bash")
    script = tmp_path / "completion.bash"
    script.write_text(cli("completion", "bash")[1])

    def complete(*words: str) -> set[str]:
        line = (
            f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _indextables; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            [bash, "-uc", line], cwd=Path(tmp_path), capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stderr == ""
        return set(done.stdout.splitlines())

    (tmp_path / "my dir").mkdir()
    assert "my dir" in complete("indextables", "describe", "my")
    assert set(commands()) <= complete("indextables", "''")
    for command in commands():
        assert {"--json", "--format", "--help"} <= complete("indextables", command, "--"), command
