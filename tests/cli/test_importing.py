"""import: formats, types, patterns, modes, stdin, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indextables as it
from indextables.cli.log_lines import LogRows, to_pattern

CSV = "id,at,host,message\n1,2026-01-01 10:00:00,db1,disk is full again\n2,2026-01-01 11:00:00,db2,the login was ok\n"


@pytest.fixture
def table(tmp_path) -> str:
    return str(tmp_path / "table")


def written(tmp_path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


NDJSON = '{"id": 1, "message": "disk is full"}\n{"id": 2, "message": "all is well"}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", CSV),
        ("a.csv.gz", CSV),
        ("a.tsv", CSV.replace(",", "\t")),
        ("a.ndjson", NDJSON),
        ("a.jsonl", NDJSON),
        ("a.json", NDJSON),
        ("a.json", json.dumps([json.loads(line) for line in NDJSON.splitlines()])),
    ],
)
def test_a_file_is_imported_by_the_format_of_its_name(cli, tmp_path, table, name, text):
    (done,) = cli.rows("import", table, written(tmp_path, name, text))
    assert (done["rows"], done["version"]) == (2, 0)
    assert [row["id"] for row in cli.rows("search", table, "message:disk", "-c", "id")] == [1]


def test_parquet_is_imported_and_said_in_words(cli, tmp_path, table):
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3], "at": pa.array([0, 1, 2], pa.timestamp("ms"))}), file)
    assert "imported 3 rows" in cli.text("import", table, file)
    assert it.open(table).schema.field("at").type == pa.timestamp("us", "UTC")


def test_columns_of_sentences_are_text_unless_others_are_named(cli, tmp_path, table):
    file = written(tmp_path, "a.csv", CSV)
    kinds = {row["column"]: row["index"] for row in cli.rows("import", table, file, "--dry-run")}
    assert kinds == {"id": "numbers", "at": "times", "host": "exact", "message": "text"}
    assert cli("describe", table)[0] == 3  # a dry run writes nothing
    cli.rows("import", table, file, "--text", "host", "--partition-by", "id")
    (shown,) = cli.rows("describe", table)
    assert {c["name"]: c["index"] for c in shown["columns"]} == {
        "id": "partition",
        "at": shown["columns"][1]["index"],
        "host": "text",
        "message": "string",
    }


def test_types_are_given_and_those_of_an_existing_table_are_kept(cli, tmp_path, table):
    cli.rows("import", table, written(tmp_path, "a.csv", "code\n007\n"), "--types", "code=string")
    cli.rows("import", table, written(tmp_path, "b.csv", "code\n008\n"))
    assert sorted(row["code"] for row in cli.rows("head", table)) == ["007", "008"]
    for wrong in ("code", "code=money"):
        assert cli("import", table, written(tmp_path, "a.csv", "code\n1\n"), "--types", wrong)[0] == 2


def test_stdin(cli, table, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(NDJSON.encode())))
    assert cli("import", table, "-")[0] == 2
    assert cli.rows("import", table, "-", "--from", "ndjson")[0]["rows"] == 2


def test_a_version_for_so_many_rows(cli, tmp_path, table):
    text = "".join(f'{{"n": {n}}}\n' for n in range(10))
    (done,) = cli.rows("import", table, written(tmp_path, "a.ndjson", text), "--commit-every", 4)
    assert (done["rows"], done["version"]) == (10, 2)
    assert sorted(row["n"] for row in cli.rows("head", table, "--all")) == list(range(10))


def test_modes(cli, tmp_path, table):
    file = written(tmp_path, "a.csv", CSV)
    cli.rows("import", table, file)
    assert cli("import", table, file, "--mode", "error")[0] == 2
    code, _, err = cli("import", table, file, "--mode", "overwrite")
    assert code == 2
    assert "--yes" in err
    cli.rows("import", table, file, file, "--mode", "overwrite", "--yes")
    assert it.open(table).count() == 4


SYSLOG = "Jan  2 03:04:05 web1 sshd[77]: Failed password for root\nnot a line of a log\n"


def test_a_raw_log_with_a_named_pattern_keeps_lines_that_do_not_match(cli, tmp_path, table):
    (done,) = cli.rows("import", table, written(tmp_path, "a.log", SYSLOG), "--pattern", "syslog")
    assert (done["rows"], done["unmatched_lines"]) == (2, 1)
    rows = {row["host"]: row for row in cli.rows("head", table)}
    assert (rows["web1"]["pid"], rows["web1"]["message"]) == (77, "Failed password for root")
    assert rows["web1"]["timestamp"].partition("-")[2] == "01-02T03:04:05.000000Z"
    assert rows[None]["message"] == "not a line of a log"
    assert "1 line without a match" in cli.text(
        "import", table, written(tmp_path, "b.log", SYSLOG), "--pattern", "syslog"
    )


def test_a_raw_log_with_an_expression(cli, tmp_path, table):
    pattern = r"(?P<at>\S+) (?P<ms>\d+) (?P<message>.*)"
    file = written(tmp_path, "a.log", "2026-01-02T03:04:05Z 12 disk full\n")
    cli.rows("import", table, file, "--pattern", pattern, "--types", "at=timestamp,ms=long")
    assert cli.rows("head", table) == [
        {"at": "2026-01-02T03:04:05.000000Z", "ms": 12, "message": "disk full"}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.log", "--pattern", "("], "not a regular expression"),
        (["a.log", "--pattern", "(?P<x>.*)"], "(?P<message>...)"),
        (["a.log", "--pattern", "apache2"], "there is no pattern"),
        (["a.log", "--types", "pid=long"], "no group"),
        (["a.csv", "--pattern", "syslog"], "raw logs"),
        (["a.unknown"], "--from"),
        (["absent.csv"], "No such file"),
        (["broken.csv"], "cannot be read as csv"),
        (["broken.ndjson"], "cannot be read as ndjson"),
        (["broken.parquet"], "cannot be read as parquet"),
        (["broken.csv.gz"], "cannot be read"),
        (["a.csv", "--commit-every", "0"], "above zero"),
        (["empty.log"], "no row"),
    ],
)
def test_what_cannot_be_imported_exits_2_and_writes_nothing(cli, tmp_path, table, arguments, message):
    written(tmp_path, "a.log", "a line\n")
    written(tmp_path, "a.csv", CSV)
    for name, text in {"csv": "a,b\n1\n", "ndjson": "{", "parquet": "PAR1", "csv.gz": ""}.items():
        (tmp_path / f"broken.{name}").write_text(text or "not gzip")
    (tmp_path / "empty.log").write_text("")
    code, out, err = cli("import", table, tmp_path / arguments[0], *arguments[1:])
    assert (code, out) == (2, "")
    assert message in err
    assert cli("describe", table)[0] == 3


def test_a_time_without_a_year_is_the_latest_that_is_past():
    rows = LogRows(to_pattern("syslog", {}, None), now=lambda: datetime(2026, 1, 5, tzinfo=UTC))
    lines = ["Jan  4 00:00:00 h p: a", "Dec 31 23:59:59 h p: b", "Feb 29 00:00:00 h p: c"]
    (batch,) = rows.batches(lines)
    assert [at.year for at in batch.column("timestamp").to_pylist()] == [2026, 2025, 2024]


def test_a_file_of_an_earlier_layout_is_imported_into_a_table_whose_columns_were_changed(cli, tmp_path):
    path, file = str(tmp_path / "t"), tmp_path / "rows.csv"
    it.write(path, [{"id": 1, "host": "web1"}])
    it.open(path).alter(add={"region": "string"}, default={"region": "eu"})
    file.write_text("id,host\n2,web2\n")
    code, _, err = cli("import", path, file)
    assert code == 0, err
    assert it.open(path).count(where="region = 'eu'") == 2
    assert "region" in cli.text("describe", path)


def test_a_column_of_types_that_the_file_does_not_have_is_an_error(cli, tmp_path, table):
    for name, text in {"a.csv": CSV, "a.ndjson": NDJSON}.items():
        code, _, err = cli("import", table, written(tmp_path, name, text), "--types", "zzz=long")
        assert code == 2
        assert "zzz" in err
        assert "message" in err  # what the file has
    assert cli("describe", table)[0] == 3


def test_a_column_of_types_may_come_late_in_a_long_file(cli, tmp_path, table, monkeypatch):
    monkeypatch.setattr("indextables.cli.formats._BLOCK", 200)
    lines = ['{"id": 1}\n'] * 200
    late = written(tmp_path, "late.ndjson", "".join([*lines, '{"id": 2, "rare": 7}\n']))
    cli.rows("import", table, late, "--types", "rare=long")
    assert cli.rows("count", table, "--where", "rare = 7") == [{"count": 1}]
    never = written(tmp_path, "never.ndjson", "".join(lines))
    assert cli("import", tmp_path / "other", never, "--types", "rare=long")[0] == 2
    assert cli("describe", tmp_path / "other")[0] == 3


def test_names_of_columns_in_another_case_keep_the_types_of_the_table(cli, tmp_path, table):
    cli.rows("import", table, written(tmp_path, "a.csv", "code\n007\n"), "--types", "code=string")
    cli.rows("import", table, written(tmp_path, "b.csv", "Code\n008\n"))
    assert sorted(row["code"] for row in cli.rows("head", table)) == ["007", "008"]


def test_text_in_another_encoding_is_refused_or_named(cli, tmp_path, table):
    files = {"a.csv": "id,name\n1,café\n", "a.ndjson": '{"id": 1, "name": "café"}\n'}
    for name, text in files.items():
        path = tmp_path / name
        path.write_bytes(text.encode("latin-1"))
        code, _, err = cli("import", table, path)
        assert code == 2
        assert "--encoding latin-1" in err
        cli.rows("import", table, path, "--encoding", "latin-1")
    assert [row["name"] for row in cli.rows("head", table)] == ["café", "café"]
    for wrong in ("klingon", "rot13"):
        assert cli("import", table, tmp_path / "a.csv", "--encoding", wrong)[0] == 2
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    assert cli("import", table, tmp_path / "a.parquet", "--encoding", "latin-1")[0] == 2


def test_bytes_that_are_not_utf8_in_a_column_of_text_name_the_encoding(cli, tmp_path, table):
    cli.rows("import", table, written(tmp_path, "a.csv", "name\nabc\n"))
    (tmp_path / "b.csv").write_bytes("name\ncafé\n".encode("latin-1"))
    code, _, err = cli("import", table, tmp_path / "b.csv")
    assert code == 2
    assert "--encoding" in err


def test_a_failure_in_a_later_file_says_what_is_committed(cli, tmp_path, table):
    good, more = written(tmp_path, "a.csv", CSV), written(tmp_path, "c d.csv", CSV)
    broken = written(tmp_path, "b.csv", "id,at\n1\n")
    code, _, err = cli("import", table, good, broken, more)
    assert code == 2
    assert f"2 rows committed, up to version 0 of {table}: all of {good}" in err
    assert f"indextables import {table} {broken} '{more}'" in err
    assert it.open(table).count() == 2
    assert "committed" not in cli("import", table, broken, good)[2]


def test_a_failure_between_the_commits_of_a_file_says_so(cli, tmp_path, table):
    text = "2026-01-01T10:00:00Z one\n" * 30_000 + "2026-02-30T10:00:00Z two\n"
    file = written(tmp_path, "a.log", text)
    code, _, err = cli("import", table, file, "--commit-every", 5000)
    assert code == 2
    assert "20,000 rows committed, up to version 3" in err
    assert it.open(table).count() == 20_000


def test_the_pattern_of_a_raw_log_is_recognized_and_announced(cli, tmp_path, table):
    iso = "2026-01-02T03:04:05Z ERROR disk full\n  at main.c:3\n"
    code, out, err = cli("import", table, written(tmp_path, "a.log", iso))
    assert (code, json.loads(out)["unmatched_lines"]) == (0, 1)
    assert "the lines have the pattern iso" in err
    assert [row["level"] for row in cli.rows("tail", table)] == ["ERROR"]
    cli.rows("import", table, written(tmp_path, "b.log", iso))  # the same pattern again
    assert it.open(table).count() == 4


def test_lines_of_no_known_pattern_are_messages_and_a_pattern_is_suggested(cli, tmp_path, table):
    code, _, err = cli("import", table, written(tmp_path, "a.log", "a line\nanother line\n"))
    assert code == 0
    assert "--pattern" in err
    assert cli.rows("head", table)[0] == {"message": "a line"}
    assert cli("import", table, written(tmp_path, "b.log", "a line\n"))[0] == 0


def test_lines_that_do_not_fit_the_columns_of_the_table_are_refused(cli, tmp_path, table):
    pattern = r"(?P<at>\S+) (?P<level>\w+) (?P<message>.*)"
    file = written(tmp_path, "a.log", "2026-01-02T03:04:05Z INFO disk full\n")
    cli.rows("import", table, file, "--pattern", pattern, "--types", "at=timestamp")
    plain = written(tmp_path, "b.log", "a line\n")
    for name in (file, plain):
        code, _, err = cli("import", table, name)
        assert code == 2
        assert "at, level, message" in err
        assert "--pattern" in err
    assert it.open(table).count() == 1
    cli.rows("import", table, file, "--pattern", pattern, "--types", "at=timestamp")


def test_a_pattern_that_matches_no_line_is_refused_with_the_first(cli, tmp_path, table):
    file = written(tmp_path, "a.log", "a line\nanother line\n")
    code, _, err = cli("import", table, file, "--pattern", "syslog")
    assert code == 2
    assert "'a line'" in err
    assert cli("describe", table)[0] == 3


def test_lines_with_nanoseconds_have_the_pattern_of_iso_times(cli, tmp_path, table):
    cli.rows("import", table, written(tmp_path, "a.log", "2026-01-02T03:04:05.123456789Z INFO ok then\n"))
    assert cli.rows("head", table)[0]["timestamp"] == "2026-01-02T03:04:05.123456Z"


def test_an_append_shows_how_the_table_indexes_its_columns(cli, tmp_path, table):
    file = written(tmp_path, "a.csv", CSV)
    cli.rows("import", table, file)
    kinds = {row["column"]: row["index"] for row in cli.rows("import", table, file, "--dry-run")}
    assert kinds["message"] == "text"
    assert "message string (text)" in cli("import", table, file, "--format", "table")[2]


def test_stdin_that_is_closed_is_an_error(cli, table, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    code, _, err = cli("import", table, "-", "--from", "csv")
    assert code == 2
    assert "stdin is closed" in err
