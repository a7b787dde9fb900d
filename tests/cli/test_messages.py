"""What a command says to people: that nothing was found and why, where hits were, and what is wrong with its input."""

from __future__ import annotations

import io
import re

import pytest

import indextables as it

NOTHING = [
    (["search", "{table}", "zebra"], 1, "no match"),
    (["search", "{table}", "disk", "--where", "id > 99"], 1, "no match"),
    (["search", "{table}", "--like", "zebra"], 1, "no row"),
    (["head", "{table}", "--where", "id > 99"], 0, "no row"),
    (["tail", "{table}", "--by", "id", "--where", "id > 99"], 0, "no row"),
    (["count", "{table}", "zebra", "--by", "level"], 0, "no match"),
    (["count", "{table}", "--every", "1", "--on", "id", "--where", "id > 99"], 0, "no row"),
    (["diff", "{table}", "0", "0"], 0, "versions 0 and 0 have the same files"),
    (["diff", "{table}", "1", "1", "--rows", "--exit-code"], 1, "versions 1 and 1 have the same rows"),
    (["files", "{table}", "--where", "id > 99"], 0, "no split that may hold such a row"),
    (["settings", "nothinglike"], 1, "no setting has 'nothinglike' in its key"),
    (["ls", "{table}/absent"], 1, "no table below {table}/absent"),
    (["sql", "SELECT * FROM t WHERE id > 99", "t={table}"], 1, "no row"),
]


@pytest.mark.parametrize(("words", "expected", "note"), NOTHING, ids=lambda value: str(value)[:40])
def test_nothing_found_is_said_to_people_and_not_to_scripts(cli, logs, words, expected, note):
    if words[0] == "sql":
        pytest.importorskip("duckdb")
    words = [word.format(table=logs) for word in words]
    code, out, err = cli(*words, "--format", "table")
    assert code == expected
    assert note.format(table=logs) in err.splitlines()
    assert out == ""
    assert cli(*words, "--json") == (expected, "", "")
    assert cli(*words) == (expected, "", "")  # in a pipe


@pytest.mark.parametrize(
    ("where", "hint"),
    [
        ("level = 'info'", "no row; values are case-sensitive: level = 'INFO' finds 3"),
        ("level = 'Info' AND id < 2", "no row; values are case-sensitive: level = 'INFO' AND id < 2 finds 2"),
        ("level = 'nope'", "no row"),
        ("message TEXTSEARCH 'zebra and'", "no row"),
        ("at = '2020-01-31T00:00:00z'", "no row"),
    ],
)
def test_a_value_in_another_case_is_a_hint(cli, tmp_path, where, hint):
    path = tmp_path / "t"
    rows = [
        {"id": n, "level": "INFO", "message": "disk full", "at": "2026-01-31T00:00:00Z"} for n in range(3)
    ]
    it.write(path, rows, text=["message"])
    code, _, err = cli("head", path, "--where", where, "--format", "table")
    assert (code, err) == (0, f"{hint}\n")


def test_a_search_ends_with_what_it_took(cli, logs):
    def footer(*arguments: object) -> str:
        code, _, err = cli("search", logs, *arguments, "--format", "table")
        assert code == 0
        return re.sub(r"[\d,]+ ms", "N ms", err.splitlines()[-1])

    assert footer("disk") == "2 hits in 2 splits, N ms, version 1"
    assert footer("disk", "--where", "id = 0") == "1 hit in 1 of 2 splits, N ms, version 1"
    assert footer("disk", "-n", 1).startswith("the best 1 of 2 hits in ")
    assert footer("disk", "-n", 1).endswith("; --all prints every match")
    assert footer("disk", "-n", 2).startswith("2 hits in ")
    assert footer("disk", "-v", 0) == "2 hits in 1 split, N ms, version 0"
    assert footer("--like", "disk") == "2 rows, N ms, version 1"
    assert cli("search", logs, "disk")[2] == ""


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("message:(a", ["unclosed parenthesis", "  message:(a", "          ^"]),
        ("", ["the query is empty: write * to match every row"]),
        ("  ", ["the query is empty: write * to match every row"]),
    ],
)
@pytest.mark.parametrize("command", ["search", "count", "explain"])
def test_a_wrong_query_is_shown_with_the_place(cli, logs, command, query, lines):
    code, _, err = cli(command, logs, query)
    assert code == 2
    printed = err.splitlines()
    assert len(printed) == len(lines)
    assert printed[0].startswith(f"indextables: cannot parse the query: {lines[0]}")
    assert printed[1:] == lines[1:]


@pytest.fixture
def words(tmp_path) -> str:
    path = str(tmp_path / "words")
    it.write(path, [{"id": 1, "message": "a b c d"}], text=["message"])
    return path


def test_errors_of_an_import_name_options(cli, tmp_path, words):
    def refused(text: str, *options: str, table: str = words) -> str:
        file = tmp_path / "rows.ndjson"
        file.write_text(text)
        code, out, err = cli("import", table, file, *options)
        assert (code, out) == (2, "")
        assert not re.search(r"Table\.alter|ALTER TABLE|typemap|spark\.|Spark", err)
        return err

    added = '{"id": 2, "message": "b", "late": 1}\n'
    assert "or add them to the table: --set write.mergeSchema=true" in refused(added)
    assert "--types id=long reads it so" in refused('{"id": 2.5, "message": "b"}\n', "--types", "id=double")
    new = str(tmp_path / "new")
    assert "--text names 'nope', which is no column; there are id, message" in refused(
        '{"id": 1, "message": "b"}\n', "--text", "nope", table=new
    )
    assert "--text names 'id', which is long" in refused(
        '{"id": 1, "message": "b"}\n', "--text", "id", table=new
    )
    assert "--mode append" in refused('{"id": 1, "message": "b"}\n', "--mode", "error")
    cli.rows("import", words, tmp_path / "rows.ndjson")
    (tmp_path / "rows.ndjson").write_text(added)
    cli.rows("import", words, tmp_path / "rows.ndjson", "--set", "write.mergeSchema=true")
    assert it.open(words).count(where="late = 1") == 1


def test_a_dry_run_names_the_indexes_that_the_table_gets(cli, tmp_path):
    file = tmp_path / "rows.ndjson"
    file.write_text(
        '{"id": 1, "at": "2026-01-31T00:00:00Z", "day": "2026-01-31", "message": "the disk is full"}\n'
    )
    table = tmp_path / "t"
    for _ in range(2):  # before there is a table, and after
        plan = cli.rows("import", table, file, "--partition-by", "day", "--dry-run")
        assert {row["column"]: row["index"] for row in plan} == {
            "id": "numbers",
            "at": "times",
            "day": "partition",
            "message": "text",
        }
        cli.rows("import", table, file, "--partition-by", "day")


def test_every_takes_times_or_numbers(cli, logs):
    code, _, err = cli("count", logs, "--every", "1h", "--on", "level")
    assert code == 2
    assert err == (
        "indextables: --every takes a column of times or numbers, and 'level' is string; --by level counts its values\n"
    )


def test_count_by_has_bars_for_people_and_a_limit(cli, tmp_path):
    path = tmp_path / "t"
    it.write(path, [{"v": n} for n in range(30) for _ in range(n + 1)])
    code, out, err = cli("count", path, "--by", "v", "--format", "table")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 2 + 20
    assert lines[2].split() == ["29", "30", "█" * 40]
    assert err == "20 of 30 values; -n N prints more\n"
    assert len(cli.rows("count", path, "--by", "v")) == 30
    assert cli.rows("count", path, "--by", "v", "-n", 1) == [{"value": 29, "count": 30}]
    assert cli("count", path, "--by", "v", "-n", 40, "--format", "table")[2] == ""
    assert cli("count", path, "-n", 5)[0] == 2


@pytest.mark.parametrize(
    ("answer", "said"), [("", "\nno answer, so nothing is done\n"), ("n\n", "nothing is done\n")]
)
def test_a_question_without_consent_says_that_nothing_is_done(cli, logs, monkeypatch, answer, said):
    stdin = io.StringIO(answer)
    monkeypatch.setattr(stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    code, out, err = cli("restore", logs, 0)
    assert (code, out) == (130, "")
    assert err.endswith(f"[y/N] {said}")
    assert it.open(logs).version == 1


def test_a_version_may_be_part_of_the_name(cli, logs):
    assert cli.rows("show", f"{logs}@1") == cli.rows("show", logs, 1)
    code, _, err = cli("show", logs)
    assert (code, f"indextables show {logs} VERSION" in err) == (2, True)
    assert cli("show", f"{logs}@9")[0] == 3
    code, _, err = cli("search", f"{logs}@1", "disk")
    assert (code, f"To read version 1: {logs} --version 1" in err) == (3, True)


def test_sql_that_searches_is_shown_the_command_that_does(cli, logs):
    pytest.importorskip("duckdb")
    code, _, err = cli("sql", "SELECT * FROM logs WHERE message TextSearch 'disk'", logs)
    assert code == 2
    assert "DuckDB does not know TEXTSEARCH" in err
    assert "indextables search TABLE QUERY" in err
    assert "Parser Error" not in err


@pytest.fixture
def levels(tmp_path) -> str:
    path = str(tmp_path / "levels")
    rows = [{"id": n, "level": "ERROR", "message": f"disk {n}"} for n in range(3)]
    it.write(path, rows, text=["message"])
    return path


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("level:error", "no match; values of level are exact: level:ERROR finds 3"),
        ("disk AND Level:error", "no match; values of level are exact: disk AND Level:ERROR finds 3"),
        ("zebra AND level:error", "no match"),
        ("level:other", "no match"),
        ("message:zebra", "no match"),
        ("level:err*", "no match"),
        ('"level:error"', "no match"),
    ],
)
def test_an_exact_value_in_another_case_is_a_hint_for_a_query(cli, levels, query, note):
    code, _, err = cli("search", levels, query, "--format", "table")
    assert (code, err.splitlines()[0]) == (1, note)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("level = ERROR", "put text in quotes: level = 'ERROR'"),
        ("level IN (ERROR)", "put text in quotes: level = 'ERROR'"),
        ('"id" = 7', "write a column name in backticks, `id`"),
        ("id = 1 AND", "a value is missing after 'AND'"),
    ],
)
def test_a_wrong_condition_says_what_to_write(cli, levels, where, message):
    code, _, err = cli("count", levels, "--where", where)
    assert (code, message in err) == (2, True), err


def test_a_misspelled_column_or_command_is_named(cli, levels):
    code, _, err = cli("search", levels, "mesage:disk")
    assert code == 2
    assert "unknown column 'mesage'; did you mean 'message'? The columns are id, level, message" in err
    code, _, err = cli("serach", levels, "disk")
    assert (code, "did you mean 'search'?" in err) == (2, True)
    code, _, err = cli("nonsense")
    assert (code, "invalid choice" in err) == (2, True)


def test_values_that_a_semicolon_separates_are_imported(cli, tmp_path):
    file, table = tmp_path / "rows.csv", tmp_path / "t"
    file.write_text("id;name;size\n1;a;1,5\n2;b;2,5\n")
    code, _, err = cli("import", table, file)
    assert (code, "It looks separated by ';': --delimiter ';'" in err) == (2, True), err
    text = cli.text("import", table, file, "--delimiter", ";", "-q")
    assert text.rstrip().endswith("is at version 0 and has 2 rows")
    assert cli.rows("head", table)[0] == {"id": 1, "name": "a", "size": "1,5"}
    assert cli("import", table, file, "--delimiter", ";;")[0] == 2
    file.write_text("id;name\n1;a\n")
    code, _, err = cli("import", tmp_path / "other", file, "--dry-run")
    assert (code, "one column 'id;name', which looks separated by ';': --delimiter ';'" in err) == (
        0,
        True,
    ), err
    file.write_text("")
    assert "is empty; nothing of it was imported" in cli("import", table, file)[2]


def test_an_interrupted_import_says_what_is_committed(cli, tmp_path, monkeypatch):
    def interrupt(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("indextables.cli.importing.write_table", interrupt)
    (tmp_path / "rows.csv").write_text("id\n1\n")
    code, _, err = cli("import", tmp_path / "t", tmp_path / "rows.csv")
    assert (code, err.splitlines()[-1]) == (130, "interrupted; nothing was committed")


def test_a_dry_run_counts_the_lines_that_do_not_match(cli, tmp_path):
    file = tmp_path / "app.log"
    file.write_text("at disk full\n" + "other\n" * 96 + "at a\n" * 3)
    code, _, err = cli("import", tmp_path / "t", file, "--pattern", r"at (?P<message>.*)", "--dry-run")
    assert (code, "96 of the first 100 lines do not match the pattern" in err) == (0, True), err


def test_people_read_the_name_of_the_column_and_what_a_restore_does(cli, levels):
    it.write(levels, [{"id": 9, "level": "INFO", "message": "late"}])
    assert cli.text("count", levels, "--by", "level").split()[:2] == ["level", "count"]
    assert cli.rows("count", levels, "--by", "level")[0] == {"value": "ERROR", "count": 3}
    planned = cli.text("restore", levels, 0, "--dry-run")
    assert planned == "would bring back 0 splits and remove 1 (1 row)\n"
    assert cli.text("restore", levels, 0, "--yes") == "version 2 now has the rows of version 0\n"
