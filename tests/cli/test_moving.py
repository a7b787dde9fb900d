"""export, sql, count --every, settings, completion, demo and doctor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq
import pytest

import indextables as it
from indextables.errors import StorageError
from support.cli_rows import rows


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".csv":
        return pc_csv.read_csv(path)
    if path.suffix == ".arrow":
        return pa_ipc.open_file(path).read_all()
    return pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])


@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson", "arrow"])
def test_export(cli, logs, tmp_path, suffix):
    target = tmp_path / f"out.{suffix}"
    (done,) = cli.rows("export", logs, "-o", target)
    assert (done["rows"], done["version"]) == (4, 1)
    assert read(target).column("id").to_pylist() == [0, 1, 2, 3]
    assert cli("export", logs, "disk", "-o", target)[0] == 2  # it exists
    assert "wrote 2 rows" in cli.text("export", logs, "disk", "-o", target, "--yes", "-c", "id,message")
    assert read(target).column("id").to_pylist() == [0, 2]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def test_an_export_of_nothing_exits_1_and_a_wrong_one_2(cli, logs, tmp_path):
    assert cli("export", logs, "absent", "-o", tmp_path / "a.csv")[0] == 1
    assert cli("export", logs, "disk", "--where", "id > 0", "-o", tmp_path / "b.csv")[0] == 0
    assert cli("export", logs, "-o", tmp_path / "a.xml")[0] == 2
    assert cli("export", logs, "-o", tmp_path)[0] == 2
    assert cli("export", logs, "-o", tmp_path / "absent" / "a.csv")[0] == 2
    assert cli("export", logs)[0] == 2


def test_an_export_that_fails_leaves_the_old_file(cli, logs, tmp_path):
    target = tmp_path / "a.csv"
    target.write_text("old")
    assert cli("export", logs, "message:(", "-o", target, "--yes")[0] == 2
    assert target.read_text() == "old"


def test_sql(cli, logs):
    pytest.importorskip("duckdb")
    found = cli.rows(
        "sql", "SELECT a.level, count(*) AS n FROM logs a JOIN logs b USING (id) GROUP BY 1 ORDER BY 2", logs
    )
    assert found == [{"level": "ERROR", "n": 1}, {"level": "INFO", "n": 3}]
    assert "ERROR" in cli.text("sql", "SELECT * FROM t WHERE level = 'ERROR'", f"t={logs}")
    assert cli("sql", "SELECT * FROM logs WHERE id > 9", logs)[0] == 1
    assert cli("sql", "SELEC", logs)[0] == 2
    assert cli("sql", "SELECT id, id FROM logs", logs)[0] == 2
    assert cli("sql", "SELECT * FROM read_csv('/etc/passwd')", logs)[0] == 2
    assert cli("sql", "SELECT 1", "absent")[0] == 3


def test_sql_without_duckdb_says_so(cli, logs, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    code, _, err = cli("sql", "SELECT 1", logs)
    assert code == 2
    assert "pip install duckdb" in err


def test_count_for_each_interval(cli, logs):
    assert cli.rows("count", logs, "--every", "2m") == [
        {"bucket": "2026-01-01T00:00:00.000000Z", "count": 2},
        {"bucket": "2026-01-01T00:02:00.000000Z", "count": 2},
    ]
    assert cli.rows("count", logs, "disk", "--every", 2, "--on", "id") == [
        {"bucket": 0, "count": 1},
        {"bucket": 2, "count": 1},
    ]
    assert cli.rows("count", logs, "--every", "1h", "--by", "level")[0]["level"] == "ERROR"
    assert "████" in cli.text("count", logs, "--every", "1h")
    assert cli("count", logs, "absent", "--every", "1h", "-q")[0] == 1
    for wrong in (
        ["--every", "often"],
        ["--every", "x", "--on", "id"],
        ["--on", "id"],
        ["--every", "1h", "--on", "no"],
    ):
        assert cli("count", logs, *wrong)[0] == 2


def test_settings(cli):
    (row,) = cli.rows("settings", "write.targetSplitSize")[:1]
    assert row["key"].endswith("targetSplitSize")
    assert "targetSplitSize" in cli.text("settings", "SPARK.indextables.write.target")
    assert len(cli.rows("settings")) > 50
    assert cli("settings", "frobnicate")[0] == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command_and_option(cli, shell):
    code, out, _ = cli("completion", shell)
    assert code == 0
    for word in ("drop-partitions", "dry-run", "truncate-history", "ndjson"):
        assert word in out
    assert cli("completion", "tcsh")[0] == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["indextables", "sea"], ["search"]),
        (["indextables", "search", "--sn"], ["--snippet"]),
        (["indextables", "count", "--format", "nd"], ["ndjson"]),
        (["indextables", "completion", "f"], ["fish"]),
    ],
)
def test_completion_in_bash(cli, tmp_path, words, expected):
    script = tmp_path / "completion.bash"
    script.write_text(cli("completion", "bash")[1])
    command = (
        f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _indextables; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-uc", command], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout.split() == expected
    assert done.stderr == ""


def test_demo(cli, tmp_path):
    path = str(tmp_path / "demo")
    assert cli.rows("demo", path, "--rows", 100) == [{"path": path, "rows": 100, "version": 3}]
    assert it.open(path).count() == 100
    assert cli("demo", path)[0] == 2
    assert "indextables ui" in cli.text("demo", tmp_path / "other", "--rows", 10)
    assert cli("demo", path, "--rows", 0)[0] == 2


def test_the_log_of_the_demo_is_imported_by_its_pattern(cli, tmp_path):
    log, path = tmp_path / "app.log", tmp_path / "app"
    cli.rows("demo", log, "--log", "--rows", 50)
    assert cli("demo", log, "--log", "--rows", 50)[0] == 2
    (done,) = cli.rows("import", path, log, "--pattern", "iso")
    assert (done["rows"], done["unmatched_lines"]) == (50, 0)


def severities(found: list[dict]) -> dict[str, str]:
    return {row["check"]: row["severity"] for row in found}


def test_doctor_of_this_machine(cli, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    found = {row["check"]: row for row in cli.rows("doctor")}
    assert {"python", "java", "spark", "jar"} <= set(found)
    assert found["java"]["severity"] == "warning"
    assert "openjdk" in found["java"]["command"]
    assert "Python" in cli.text("doctor")


def test_doctor_of_a_table(cli, logs):
    found = cli.rows("doctor", logs, "--deep")
    assert set(severities(found).values()) <= {"ok", "warning"}
    assert severities(found)["checksums"] == "ok"
    for number in range(12):
        it.write(logs, rows(number, "more"))
    (small,) = [row for row in cli.rows("doctor", logs) if row["check"] == "small splits"]
    assert small["severity"] == "warning"
    assert small["command"] == f"indextables merge {logs} --target 256M"


def test_doctor_finds_damage_and_exits_5(cli, logs):
    (first, second) = sorted(Path(logs).glob("splits/*.split"))
    data = bytearray(first.read_bytes())
    data[100] ^= 1
    first.write_bytes(data)
    code, out, _ = cli("doctor", logs, "--deep")
    assert code == 5
    assert severities([json.loads(line) for line in out.splitlines()])["checksums"] == "error"
    second.unlink()
    code, out, _ = cli("doctor", logs)
    found = {row["check"]: row for row in map(json.loads, out.splitlines())}
    assert code == 5
    assert found["files"]["severity"] == "error"
    assert "repair" in found["files"]["command"]


def test_doctor_of_a_table_that_is_absent_or_unreadable(cli, tmp_path):
    assert cli("doctor", tmp_path / "absent")[0] == 3
    log = tmp_path / "bad" / "_transaction_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("damaged")
    code, out, _ = cli("doctor", tmp_path / "bad")
    assert code == 5
    assert "repair" in out


def test_every_command_has_a_help_that_names_its_options(cli):
    for name in ("import", "export", "sql", "merge", "purge", "doctor", "settings", "completion", "demo"):
        code, out, _ = cli(name, "--help")
        assert code == 0
        assert "--format" in out


def test_ui_refuses_before_it_serves(cli, logs, tmp_path, monkeypatch):
    pytest.importorskip("starlette")
    assert cli("ui", tmp_path / "absent")[0] == 3
    code, _, err = cli("ui", logs, "--host", "0.0.0.0")
    assert code == 2
    assert "--i-know" in err
    assert cli("ui", logs, "--port", "99999")[0] == 2
    for name in [name for name in sys.modules if name.startswith("indextables.ui")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = cli("ui", logs)
    assert code == 2
    assert 'pip install "CLONE[ui]", CLONE being the directory of your clone' in err


def test_ui_prints_the_url(cli, logs, monkeypatch):
    pytest.importorskip("starlette")
    monkeypatch.setattr("indextables.ui.serve", lambda tables, address, *, browser, ready: ready(address.url))
    (shown,) = cli.rows("ui", logs, "--no-browser")
    assert shown["url"].startswith("http://127.0.0.1:")
    assert "Ctrl-C" in cli.text("ui", logs, "--no-browser")


def test_export_to_stdout(logs):
    for arguments, expected in (
        (["-o", "-"], b'{"id":'),
        (["-o", "/dev/stdout", "--to", "csv"], b'"id","at"'),
        (["-o", "-", "--to", "parquet"], b"PAR1"),
        (["-o", "-", "--to", "arrow"], b"ARROW1"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "indextables", "export", logs, *arguments],
            capture_output=True,
            timeout=120,
            check=True,
        )
        assert done.stdout.startswith(expected), arguments
        assert done.stderr == b""


def test_export_to_a_pipe_or_a_device_does_not_replace_it(cli, logs):
    assert cli("export", logs, "-o", "/dev/null", "--to", "csv")[0] == 0
    assert Path("/dev/null").is_char_device()


def test_an_export_can_be_tried(cli, logs, tmp_path):
    target = tmp_path / "a.csv"
    target.write_text("old")
    (plan,) = cli.rows("export", logs, "disk", "-o", target, "-c", "id", "--dry-run")
    assert (plan["status"], plan["rows"], plan["columns"], plan["format"]) == ("dry_run", 2, ["id"], "csv")
    assert "would write 2 rows" in cli.text("export", logs, "disk", "-o", target, "--dry-run")
    assert target.read_text() == "old"


def test_sql_reads_an_older_version(cli, logs):
    pytest.importorskip("duckdb")
    assert cli.rows("sql", "SELECT count(*) AS n FROM logs", logs, "--version", 0) == [{"n": 3}]
    assert cli("sql", "SELECT 1", logs, "--as-of", "soon")[0] == 2


def test_a_file_is_no_table(cli, tmp_path, logs):
    file = tmp_path / "some.csv"
    file.write_text("a\n1\n")
    for command in (
        ["search", file, "x"],
        ["import", file, file],
        ["describe", file],
        ["merge", file],
        ["ui", file],
    ):
        code, _, err = cli(*command)
        assert code == 3, command
        assert f"indextables import NEW_TABLE {file}" in err


def test_a_repair_can_be_tried(cli, logs, tmp_path):
    new = tmp_path / "new" / "_transaction_log"
    (tried,) = cli.rows("repair", f"{logs}/_transaction_log", "--to", new, "--dry-run")
    assert (tried["valid_splits"], tried["source_version"]) == (2, 1)
    assert not new.exists()
    code, _, err = cli("repair", f"{logs}/_transaction_log", "--dry-run")
    assert code == 2
    assert "--to" in err


def test_credentials_that_are_missing_are_named(cli, logs, monkeypatch):
    def refused(*arguments, **options):
        raise StorageError("Error performing PUT http://169.254.169.254/latest/api/token")

    monkeypatch.setattr("indextables.cli.opening.open_table", refused)
    code, _, err = cli("count", "s3://bucket/logs")
    assert code == 6
    assert "No credentials are set" in err
    assert "AWS_ACCESS_KEY_ID" in err
    monkeypatch.setattr("indextables.cli.doctor.open_table", refused)
    code, out, _ = cli("doctor", logs)
    (access,) = [row for row in map(json.loads, out.splitlines()) if row["severity"] == "error"]
    assert code == 6
    assert access["check"] == "access"
    assert "No credentials are set" in access["message"]
    assert access["command"] == "indextables settings aws"


def test_the_log_of_the_demo_has_no_nulls_in_words(cli, tmp_path):
    cli.rows("demo", tmp_path / "app.log", "--log", "--rows", 3000)
    assert " None:" not in (tmp_path / "app.log").read_text()
