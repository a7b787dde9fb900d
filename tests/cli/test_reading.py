"""search, count, head and tail: what people see, what scripts read, and exit codes."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from decimal import Decimal

import pytest

import indextables as it
from indextables.cli import reading
from support.cli_rows import rows


def test_search_prints_the_best_matches_as_ndjson(cli, logs):
    found = cli.rows("search", logs, "disk", "-c", "id,message")
    assert {row["id"] for row in found} == {0, 2}
    assert list(found[0]) == ["id", "message", "_score"]


def test_search_marks_hits_for_people(cli, logs):
    assert "**disk** full on db1" in cli.text("search", logs, "disk")


def test_search_with_a_snippet_for_scripts(cli, logs):
    (row,) = cli.rows("search", logs, "full", "-c", "id", "--snippet", "message")
    assert row["_snippet"] == "disk <b>full</b> on db1"


def test_search_limits_rows_and_says_so_to_people(cli, logs):
    code, out, err = cli("search", logs, "disk", "-n", "1", "--format", "table")
    assert code == 0
    assert out.count("disk") == 1
    assert "--all" in err


def test_search_without_a_match_exits_1(cli, logs):
    assert cli("search", logs, "absent") == (1, "", "")


def test_search_in_the_past(cli, logs):
    assert cli("search", logs, "logout", "--version", "0")[0] == 1
    assert len(cli.rows("search", logs, "logout", "--version", "1")) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["message:("], 2, "unclosed parenthesis"),
        (["disk", "--where", "id <"], 2, ""),
        (["disk", "-c", "absent"], 2, "absent"),
        (["disk", "--snippet", "level"], 2, "indexed as text"),
        (["disk", "--version", "9"], 3, "9"),
        (["disk", "--as-of", "yesterday"], 2, "yesterday"),
        (["disk", "--set", "nonsense=1"], 2, "nonsense"),
        (["disk", "--set", "spark.executor.cores=1"], 2, "spark.executor.cores"),
        (["disk", "-n", "-1"], 2, "below zero"),
    ],
)
def test_a_search_that_is_wrong_exits_by_kind(cli, logs, arguments, code, message):
    result, out, err = cli("search", logs, *arguments)
    assert (result, out) == (code, "")
    assert message in err


def test_a_missing_table_exits_3(cli, tmp_path):
    code, _, err = cli("search", tmp_path / "absent", "disk")
    assert code == 3
    assert "no table" in err


@pytest.mark.parametrize("form", ["table", "log", "json", "ndjson"])
def test_escape_sequences_of_rows_are_never_printed(cli, logs, form):
    code, out, _ = cli("head", logs, "--format", form)
    assert code == 0
    assert "logout" in out
    assert "\x1b" not in out
    assert "\x9b" not in out


def test_json_and_csv_keep_the_exact_text(cli, logs):
    expected = "logout \x1b[31mred\x9b ok"
    assert json.loads(cli("head", logs, "--format", "json")[1])[3]["message"] == expected
    assert list(csv.reader(io.StringIO(cli("head", logs, "--format", "csv")[1])))[4][3] == expected


def test_count(cli, logs):
    assert cli.rows("count", logs, "disk") == [{"count": 2}]
    assert cli.text("count", logs, "--where", "level = 'INFO'") == "3\n"


def test_count_by_a_column(cli, logs):
    assert cli.rows("count", logs, "--by", "level") == [
        {"value": "INFO", "count": 3},
        {"value": "ERROR", "count": 1},
    ]
    assert cli.rows("count", logs, "disk", "--by", "LEVEL")[0]["count"] == 1


def test_a_quiet_count_answers_by_its_exit_code(cli, logs):
    assert cli("count", logs, "disk", "-q") == (0, "", "")
    assert cli("count", logs, "absent", "-q") == (1, "", "")


def test_tail_prints_the_newest_rows_in_order(cli, logs):
    assert [row["id"] for row in cli.rows("tail", logs, "-n", "2")] == [2, 3]
    assert [row["id"] for row in cli.rows("tail", logs, "disk", "-n", "1")] == [2]
    assert cli.rows("tail", logs, "-n", "1", "-c", "at") == [{"at": "2026-01-01T00:03:00.000000Z"}]


def test_tail_without_a_time_column_asks_for_one(cli, tmp_path):
    path = tmp_path / "plain"
    it.write(path, rows(0, "a", "b").select(["id"]))
    code, _, err = cli("tail", path)
    assert code == 2
    assert "--by" in err
    assert [row["id"] for row in cli.rows("tail", path, "--by", "id", "-n", "1")] == [1]


def test_tail_follows_appends_until_it_is_interrupted(cli, logs, monkeypatch):
    looks = iter(["new row", "newer row"])

    def append(seconds: float) -> None:
        message = next(looks, None)
        if message is None:
            raise KeyboardInterrupt
        it.write(logs, rows(9, message))

    monkeypatch.setattr(reading, "pause", append)
    code, out, _ = cli("tail", logs, "-n", "1", "-f", "-c", "message")
    assert code == 130
    assert [json.loads(line)["message"] for line in out.splitlines()][1:] == ["new row", "newer row"]


def follow(cli, monkeypatch, steps, *arguments: object) -> list[dict]:
    """Return what `tail -f -n 0` prints while the steps are done, one between two looks each."""
    remaining = iter(steps)

    def act(seconds: float) -> None:
        step = next(remaining, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(reading, "pause", act)
    code, out, err = cli("tail", *arguments, "-n", "0", "-f")
    assert code == 130, err
    return [json.loads(line) for line in out.splitlines()]


def test_tail_follows_what_matches(cli, logs, monkeypatch):
    steps = [lambda: it.write(logs, rows(4, "disk full on db2", "login", "disk slow"))]
    assert [row["id"] for row in follow(cli, monkeypatch, steps, logs, "disk")] == [4, 6]
    steps = [lambda: it.write(logs, rows(7, "disk full", "disk slow"))]
    found = follow(cli, monkeypatch, steps, logs, "disk", "--where", "level = 'ERROR'", "-c", "message")
    assert found == [{"message": "disk full"}]


def test_tail_does_not_repeat_rows_that_come_back(cli, logs, monkeypatch):
    steps = [
        lambda: it.open(logs).merge_splits(target_size="1G"),
        lambda: it.open(logs).restore(1),  # both files are added again
        lambda: it.open(logs).delete("id = 0"),
        lambda: it.open(logs).restore(1),
        lambda: it.write(logs, rows(4, "new disk")),
    ]
    assert [row["id"] for row in follow(cli, monkeypatch, steps, logs)] == [4]


@pytest.mark.parametrize("query", [[], ["message:(new OR changed)"], ["--where", "id >= 0"]])
def test_tail_prints_the_rows_that_an_upsert_adds_and_not_those_it_changes(cli, logs, monkeypatch, query):
    steps = [lambda: it.open(logs).upsert(rows(3, "changed row", "new row"), on=["id"])]
    assert [row["id"] for row in follow(cli, monkeypatch, steps, logs, *query)] == [4]


def test_tail_prints_the_rows_of_an_overwrite(cli, logs, monkeypatch):
    steps = [lambda: it.write(logs, rows(7, "disk a", "login"), mode="overwrite")]
    assert [row["id"] for row in follow(cli, monkeypatch, steps, logs, "disk")] == [7]


def test_tail_follows_the_newest_version_only(cli, logs):
    assert cli("tail", logs, "-f", "--version", "0")[0] == 2


def test_values_of_every_type_are_json(cli, tmp_path):
    path = str(tmp_path / "typed")
    row = {
        "price": Decimal("0.10"),
        "local": datetime(2024, 1, 31, 12),
        "tags": ["a", None],
        "user": {"name": "ada", "paid": [Decimal("1.5")]},
        "nothing": None,
    }
    it.write(path, [row, dict.fromkeys(row)])
    assert cli.rows("head", path) == [
        {
            "price": "0.10",
            "local": "2024-01-31T12:00:00.000000",
            "tags": ["a", None],
            "user": {"name": "ada", "paid": ["1.5"]},
            "nothing": None,
        },
        dict.fromkeys(row),
    ]


def test_search_explains_scores(cli, logs):
    found = cli.rows("search", logs, "disk full", "-c", "id", "--explain")
    parts = found[0]["_explanation"]
    assert [part["match"] for part in parts] == ["disk", "full"]
    assert sum(part["score"] for part in parts) == pytest.approx(found[0]["_score"])
    shown = cli.text("search", logs, "disk full", "-c", "id", "--explain")
    assert "row 1: " in shown
    assert "message:full  2.2 * idf" in shown
    assert "_explanation" not in shown


def test_search_for_rows_like_a_text(cli, logs):
    found = cli.rows("search", logs, "--like", "a slow disk", "-c", "id")
    assert [row["id"] for row in found] == [2, 0]
    assert "**slow**" in cli.text("search", logs, "--like", "a slow disk")
    assert cli("search", logs, "--like", "nothing of it")[0] == 1
    for wrong in (["disk", "--like", "disk"], [], ["--like", "disk", "--explain"]):
        assert cli("search", logs, *wrong)[0] == 2


def test_lists_and_structures_are_counted_and_have_no_order(cli, tmp_path):
    path = str(tmp_path / "nested")
    it.write(
        path, [{"tags": ["a", "b"], "user": {"name": "ada"}}, {"tags": ["a", "b"], "user": {"name": "bob"}}]
    )
    assert cli.rows("count", path, "--by", "tags") == [{"value": ["a", "b"], "count": 2}]
    assert {row["value"]["name"] for row in cli.rows("count", path, "--by", "user")} == {"ada", "bob"}
    for column in ("tags", "user"):
        code, _, err = cli("tail", path, "--by", column)
        assert code == 2
        assert column in err
