"""Times in imported text: by their offset, or in UTC if they have none; appended as they were created."""

from __future__ import annotations

import json

import pytest

import indextables as it

NAIVE = "2026-01-01 10:00:00"


@pytest.fixture
def table(tmp_path) -> str:
    return str(tmp_path / "table")


def written(tmp_path, name: str, *times: str) -> str:
    path = tmp_path / name
    if name.endswith(".csv"):
        path.write_text("id,at\n" + "".join(f'{n},"{time}"\n' for n, time in enumerate(times)))
    else:
        path.write_text("".join(f"{json.dumps({'id': n, 'at': time})}\n" for n, time in enumerate(times)))
    return str(path)


def times(cli, table: str) -> list[str]:
    return [row["at"] for row in cli.rows("head", table, "--all", "-c", "at")]


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_times_without_a_zone_are_utc_again_when_they_are_appended(cli, tmp_path, table, name):
    file = written(tmp_path, name, NAIVE)
    for _ in range(2):
        code, _, err = cli("import", table, file)
        assert code == 0, err
        assert "times of at have no zone and are read as UTC" in err
    assert times(cli, table) == ["2026-01-01T10:00:00.000000Z"] * 2


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (NAIVE, "2026-01-01T10:00:00.000000Z"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00.000000Z"),
        ("2026-01-01 10:00:00.5+02:00", "2026-01-01T08:00:00.500000Z"),
        ("2026-01-01T10:00:00-0130", "2026-01-01T11:30:00.000000Z"),
        ("2026-01-01 10:00:00 +02", "2026-01-01T08:00:00.000000Z"),
        ("2026-01-01 10:00:00,123 UTC", "2026-01-01T10:00:00.123000Z"),
        ("2026-01-01T10:00:00.123456000Z", "2026-01-01T10:00:00.123456Z"),
        ("2026-01-01", "2026-01-01T00:00:00.000000Z"),
    ],
)
def test_a_given_type_reads_every_form_of_a_time(cli, tmp_path, table, name, text, moment):
    cli.rows("import", table, written(tmp_path, name, text), "--types", "at=timestamp")
    assert times(cli, table) == [moment]


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_times_with_and_without_a_zone_are_found_in_one_column(cli, tmp_path, table, name):
    file = written(tmp_path, name, NAIVE, "2026-01-01T10:00:00.25+01:00")
    cli.rows("import", table, file)
    assert times(cli, table) == ["2026-01-01T10:00:00.000000Z", "2026-01-01T09:00:00.250000Z"]


def test_times_with_a_zone_are_not_announced(cli, tmp_path, table):
    assert "UTC" not in cli("import", table, written(tmp_path, "a.csv", "2026-01-01T10:00:00Z"))[2]


def test_a_null_among_times(cli, tmp_path, table):
    cli.rows("import", table, written(tmp_path, "a.csv", NAIVE, ""))
    assert times(cli, table) == ["2026-01-01T10:00:00.000000Z", None]


@pytest.mark.parametrize("text", ["soon", "2026-02-30 10:00:00", "2026-01-01T10:00:00.1234567Z"])
def test_what_is_no_time_is_named(cli, tmp_path, table, text):
    code, out, err = cli("import", table, written(tmp_path, "a.csv", NAIVE, text), "--types", "at=timestamp")
    assert (code, out) == (2, "")
    assert repr(text)[:-2] in err
    assert "--types at=string" in err
    assert cli("describe", table)[0] == 3


def test_text_that_looks_like_times_stays_text_in_a_column_of_strings(cli, tmp_path, table):
    cli.rows("import", table, written(tmp_path, "a.csv", NAIVE), "--types", "at=string")
    cli.rows("import", table, written(tmp_path, "a.csv", NAIVE))
    assert times(cli, table) == [NAIVE, NAIVE]


def test_a_file_larger_than_a_block_changes_from_no_zone_to_a_zone(cli, tmp_path, table, monkeypatch):
    monkeypatch.setattr("indextables.cli.formats._BLOCK", 200)
    zoned = "2026-01-01T10:00:00+01:00"
    cli.rows("import", table, written(tmp_path, "a.csv", *[NAIVE] * 100, *[zoned] * 100))
    found = times(cli, table)
    assert len(found) == 200
    assert it.open(table).schema.field("at").type.tz == "UTC"
    assert found[-1] == "2026-01-01T09:00:00.000000Z"
