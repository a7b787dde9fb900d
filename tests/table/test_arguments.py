"""A wrong argument is our own error, which names the argument and says what it takes."""

from __future__ import annotations

from datetime import date, timedelta

import pyarrow as pa
import pytest

import indextables as it

ROWS = pa.table({"day": ["mon", "tue"], "id": [1, 2], "message": ["disk full", "login ok"]})


@pytest.fixture
def table(tmp_path):
    it.write(tmp_path, ROWS, partition_by=["day"], text=["message"])
    return it.open(tmp_path)


WRONG = {
    "path": (lambda t: it.open(5), "path is a int; it takes the path or URI of a table"),
    "path of a write": (lambda t: it.write(None, ROWS), "path is a NoneType"),
    "version": (lambda t: it.open(t.uri, version="0"), "version is '0'; it takes the number of a version"),
    "version as a flag": (lambda t: it.open(t.uri, version=True), "version is True"),
    "version as a float": (lambda t: it.open(t.uri, version=0.0), "version is 0.0"),
    "as_of": (
        lambda t: it.open(t.uri, as_of=date(2026, 1, 1)),
        "as_of is datetime.date.*it takes a datetime",
    ),
    "settings": (lambda t: it.open(t.uri, settings=["a"]), "settings is a list; it takes a dictionary"),
    "key of a setting": (
        lambda t: it.open(t.uri, settings={1: "a"}),
        "settings has the key 1; keys are strings",
    ),
    "mode": (lambda t: it.write(t.uri, ROWS, mode=5), "mode is 5; it takes append, overwrite, error, ignore"),
    "txn": (
        lambda t: it.write(t.uri, ROWS, txn=5),
        "txn is 5; it takes the application's name, .* and a number",
    ),
    "txn of three": (lambda t: it.write(t.uri, ROWS, txn=("a", 1, 2)), "txn is"),
    "txn with a flag": (lambda t: it.write(t.uri, ROWS, txn=("a", True)), "txn is"),
    "until": (lambda t: t.changes(0, until=5.0), "until is 5.0; it takes the number of a version"),
    "until as a flag": (lambda t: t.changes(0, until=True), "until is True"),
    "adds_only": (lambda t: t.changes(0, adds_only="no"), "adds_only is 'no'; it takes True or False"),
    "columns of changes": (lambda t: t.changes(-1).to_arrow("id"), "columns is the string 'id'"),
    "columns of changes, twice": (
        lambda t: t.changes(-1).to_arrow(["id", "ID"]),
        "names 'id' more than once",
    ),
    "columns of changes, none": (lambda t: t.changes(-1).to_arrow([]), "columns is empty"),
    "restore": (lambda t: t.restore("0"), "version is '0'; it takes the number of a version"),
    "drop_partitions": (lambda t: t.drop_partitions(None), "a condition is a string, not NoneType"),
    "older_than": (lambda t: t.purge(5), "older_than is 5; it takes whole hours or days"),
    "older_than, negative": (
        lambda t: t.purge(timedelta(-1)),
        "older_than is .*it takes whole hours or days",
    ),
    "log_retention": (lambda t: t.purge(log_retention="soon"), "log_retention is 'soon'"),
    "dry_run": (lambda t: t.purge(dry_run="no"), "dry_run is 'no'; it takes True or False"),
    "clean_versions": (lambda t: t.clean_versions("x"), "older_than is 'x'; it takes whole hours or days"),
    "clean_versions, flag": (
        lambda t: t.clean_versions(True),
        "retention_hours is True; it takes a whole number",
    ),
    "clean_versions, negative": (
        lambda t: t.clean_versions(-1),
        "retention_hours is -1; it takes a whole number",
    ),
    "clean_versions, both": (
        lambda t: t.clean_versions("7 days", retention_hours=3),
        "older_than and retention_hours exclude each other",
    ),
    "upgrade_protocol": (lambda t: t.upgrade_protocol(min_reader_version="4"), "min_reader_version is '4'"),
    "describe_log": (lambda t: t.describe_log(include_all="no"), "include_all is 'no'"),
    "truncate_time_travel": (
        lambda t: t.truncate_time_travel(dry_run=1),
        "dry_run is 1; it takes True or False",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_argument_is_an_input_error_that_changes_nothing(table, case):
    call, message = WRONG[case]
    with pytest.raises(it.InputError, match=message):
        call(table)
    assert table.refresh().version == 0
    assert table.refresh().count() == 2


def test_settings_may_be_a_mapping_or_settings(table):
    settings = it.Settings({"spark.indextables.write.rowGroupRows": "9"})
    assert dict(it.open(table.uri, settings=settings).settings) == dict(settings)
    assert dict(it.open(table.uri, settings=dict(settings)).settings) == dict(settings)
    assert it.write(table.uri, ROWS, settings=settings) == 1


def test_clean_versions_takes_the_same_durations_as_purge(table):
    assert table.clean_versions("7 days").dry_run is False
    assert table.clean_versions(timedelta(hours=36), dry_run=True).dry_run is True
    assert (
        table.clean_versions(24) == table.clean_versions(retention_hours=24) == table.clean_versions("1 day")
    )


@pytest.mark.parametrize("value", ["48", "48 hours", "2 days", "2 DAYS"])
def test_settings_take_the_same_durations(value):
    settings = it.Settings({"spark.indextables.purge.defaultRetentionHours": value})
    assert settings.get(it.config.keys.PURGE_RETENTION_HOURS) == 48


@pytest.mark.parametrize("value", ["172800000", "48 hours", "2 days"])
def test_settings_in_milliseconds_take_durations_too(value):
    settings = it.Settings({"spark.indextables.logRetention.duration": value})
    assert settings.get(it.config.keys.LOG_RETENTION_MS) == 172_800_000


def test_a_duration_that_does_not_parse_is_a_config_error():
    settings = it.Settings({"spark.indextables.state.retention.hours": "a week"})
    with pytest.raises(it.ConfigError, match="it takes a whole number of hours, or whole hours or days"):
        settings.get(it.config.keys.STATE_RETENTION_HOURS)
