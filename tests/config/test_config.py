"""Settings: known keys only, checked values, older names still read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import indextables
from indextables.config import Setting, Settings, keys, layered
from indextables.errors import ConfigError
from indextables.log.cleanup import StateRetention

SOURCES = Path(indextables.__file__).parent


def test_defaults_apply() -> None:
    assert Settings().get(keys.TARGET_SPLIT_SIZE) == keys.TARGET_SPLIT_SIZE.default


def test_case_of_a_key_does_not_matter() -> None:
    assert Settings({"SPARK.indextables.write.targetsplitsize": "1M"}).get(keys.TARGET_SPLIT_SIZE) == 1 << 20


def test_the_newest_name_of_a_key_wins() -> None:
    older = keys.TARGET_SPLIT_SIZE.aliases[0]
    assert Settings({older: "2M"}).get(keys.TARGET_SPLIT_SIZE) == 2 << 20
    both = {older: "2M", keys.TARGET_SPLIT_SIZE.key: "3M"}
    assert Settings(both).get(keys.TARGET_SPLIT_SIZE) == 3 << 20


def test_the_older_prefix_is_read() -> None:
    settings = Settings({"spark.tantivy4spark.indexing.typemap.Message": "text"})
    assert settings.family(keys.TYPEMAP) == {"Message": "text"}


def test_spark_may_be_left_out_of_a_key() -> None:
    short = {"indextables.write.targetSplitSize": "2M", "Indextables.indexing.typemap.Body": "text"}
    settings = Settings(short)
    assert settings.get(keys.TARGET_SPLIT_SIZE) == 2 << 20
    assert settings.family(keys.TYPEMAP) == {"Body": "text"}
    assert dict(settings) == {keys.TARGET_SPLIT_SIZE.key: "2M", f"{keys.TYPEMAP.prefix}Body": "text"}


@pytest.mark.parametrize("name", [setting.key for setting in keys.ALL])
def test_every_key_is_known_without_spark(name: str) -> None:
    short = name.removeprefix("spark.")
    assert dict(Settings({short: "x"})) == {name: "x"}


def test_a_key_with_and_without_spark_must_have_one_value() -> None:
    short, long = "indextables.write.targetSplitSize", "spark.indextables.write.targetSplitSize"
    assert Settings({short: "2M", long: "2M"}).get(keys.TARGET_SPLIT_SIZE) == 2 << 20
    for options in ({short: "2M", long: "3M"}, {long: "3M", short: "2M"}):
        with pytest.raises(ConfigError) as caught:
            Settings(options)
        assert f"settings {long!r} and {short!r}" in str(caught.value)
        assert "different values" in str(caught.value)


def test_names_that_differ_in_case_are_columns_of_their_own() -> None:
    both = {"indextables.indexing.typemap.A": "text", "spark.indextables.indexing.typemap.a": "string"}
    assert Settings(both).family(keys.TYPEMAP) == {"A": "text", "a": "string"}
    with pytest.raises(ConfigError, match="different values"):
        Settings(both | {"spark.indextables.indexing.typemap.A": "string"})


def test_a_conflict_of_secrets_does_not_show_them() -> None:
    both = {"indextables.aws.secretKey": "hush-1", "spark.indextables.aws.secretKey": "hush-2"}
    with pytest.raises(ConfigError) as caught:
        Settings(both)
    assert "hush" not in str(caught.value)


def test_an_unknown_key_without_spark_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'indextables\.stats\.truncation\.enabled'\?"):
        Settings({"indextables.stats.truncation.enable": "true"})
    merged, warnings = layered({}, {"indextables.write.targetSplitSize": "2M", "indextables.nope": "1"})
    assert merged == {keys.TARGET_SPLIT_SIZE.key: "2M", "indextables.nope": "1"}
    assert warnings == ()


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(ConfigError, match="unknown setting 'spark.indextables.nope'"):
        Settings({"spark.indextables.nope": "1"})


def test_keys_of_other_programs_are_not_ours() -> None:
    Settings({"spark.sql.shuffle.partitions": "4"})


@pytest.mark.parametrize("key", ["path", "typemap.m", "spark.indextable.write.targetSplitSize"])
def test_a_key_without_the_prefix_is_an_error(key: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown setting '{key}': settings begin with"):
        Settings({key: "1"})


@pytest.mark.parametrize("value", ["0", "-1", "1X", "", "lots"])
def test_a_bad_value_says_what_it_takes(value: str) -> None:
    with pytest.raises(ConfigError, match="it takes a size"):
        Settings({keys.TARGET_SPLIT_SIZE.key: value}).get(keys.TARGET_SPLIT_SIZE)


def test_settings_travel() -> None:
    options = {keys.HEAP_SIZE.key: "64M", "spark.indextables.indexing.typemap.Body": "text"}
    assert dict(Settings(dict(Settings(options)))) == options


def test_every_key_is_read_somewhere() -> None:
    code = "\n".join(p.read_text() for p in SOURCES.rglob("*.py") if p.name != "keys.py")
    names = [name for name, value in vars(keys).items() if value in (*keys.ALL, *keys.FAMILIES)]
    unread = [name for name in names if not re.search(rf"\bkeys\.{name}\b", code)]
    assert unread == []


SPEC_KEYS = {
    "checkpoint.enabled": "true",
    "checkpoint.interval": "10",
    "checkpoint.parallelism": "8",
    "checkpoint.read.timeoutSeconds": "60",
    "checkpointRetention.duration": "7200000",
    "cleanup.dryRun": "false",
    "cleanup.failurePolicy": "continue",
    "dataSkippingNumIndexedCols": "32",
    "logRetention.duration": "2592000000",
    "mergeOnWrite.async.enabled": "true",
    "mergeOnWrite.enabled": "true",
    "purge.txLogRetentionHours": "24",
    "purgeOnWrite.enabled": "true",
    "state.compaction.afterMerge": "true",
    "state.compaction.largeRemoveThreshold": "0",
    "state.compaction.maxManifests": "20",
    "state.compaction.tombstoneThreshold": "0.10",
    "state.compression": "zstd",
    "state.compressionLevel": "3",
    "state.entriesPerManifest": "50000",
    "state.format": "avro",
    "state.gc.minManifestAgeHours": "1",
    "state.read.parallelism": "8",
    "state.retention.hours": "168",
    "state.retention.versions": "2",
    "state.retry.baseDelayMs": "100",
    "state.retry.maxAttempts": "10",
    "state.retry.maxDelayMs": "5000",
    "state.schema.renormalizeThreshold": "5",
    "stats.truncation.enabled": "true",
    "stats.truncation.maxLength": "32",
    "transaction.cache.enabled": "true",
    "transaction.cache.expirationSeconds": "300",
    "transaction.compression.enabled": "true",
    "transaction.retry.baseDelayMs": "100",
    "transaction.retry.maxAttempts": "10",
    "transaction.retry.maxDelayMs": "5000",
}
"""Every key that the descriptions of the format name, with a value that they give."""


@pytest.mark.parametrize("key", SPEC_KEYS)
def test_every_key_of_the_format_is_known(key: str) -> None:
    given = {f"spark.indextables.{key}": SPEC_KEYS[key]}
    settings = Settings(given)
    for setting in keys.ALL:
        settings.get(setting)
    for merged, warnings in (layered(given, {}), layered({}, given)):
        assert len(merged) + len(warnings) == 1, "read, or said to have no effect"
        assert all("has no effect" in warning for warning in warnings)


def test_a_key_without_effect_is_said_to_have_none_once(caplog: pytest.LogCaptureFixture) -> None:
    option = {"spark.indextables.mergeOnWrite.minBatchesToTrigger": "2"}
    for _ in range(2):
        assert dict(Settings(option)) == {}
    assert len(caplog.messages) == 1
    assert "has no effect in this release: a merge begins when a partition has" in caplog.text


def test_an_unknown_key_of_the_session_is_a_warning_and_of_an_option_an_error() -> None:
    typo = {"spark.indextables.write.targetSpiltSize": "1M", "spark.indextables.azure.acountKey": "x"}
    merged, warnings = layered(typo, {})
    assert merged == {}
    assert "did you mean 'spark.indextables.write.targetSplitSize'" in warnings[0]
    assert "unknown setting 'spark.indextables.azure.acountKey'" in warnings[1]
    merged, warnings = layered({}, typo)
    assert warnings == ()
    with pytest.raises(ConfigError, match="did you mean"):
        Settings(merged)


def test_an_option_wins_over_the_session_under_any_of_its_names() -> None:
    older = keys.TARGET_SPLIT_SIZE.aliases[0]
    session = {keys.TARGET_SPLIT_SIZE.key: "3M", "spark.indextables.aws.Region": "a"}
    options = {older: "2M", "SPARK.indextables.aws.region": "b"}
    merged, warnings = layered(session, options)
    assert warnings == ()
    settings = Settings(merged)
    assert settings.get(keys.TARGET_SPLIT_SIZE) == 2 << 20
    assert settings.family(keys.AWS) == {"region": "b"}


def test_the_older_retention_of_states_is_read_where_the_newer_is_not_set() -> None:
    older = {"spark.indextables.checkpointRetention.duration": "7200000"}
    assert StateRetention.of(Settings(older)).age_ms == 7_200_000
    both = older | {"spark.indextables.state.retention.hours": "168"}
    assert StateRetention.of(Settings(both)).age_ms == 168 * 3_600_000
    assert StateRetention.of(Settings(older), hours=5).age_ms == 5 * 3_600_000


@pytest.mark.parametrize("setting", [keys.CACHE_DIRECTORY, keys.TEMP_DIRECTORY])
@pytest.mark.parametrize("path", ["s3://bucket/cache", "file:///tmp/cache", "a\0b"])
def test_a_directory_must_be_one_on_this_machine(setting: Setting[str], path: str) -> None:
    with pytest.raises(ConfigError, match="it takes a path on a local disk"):
        Settings({setting.key: path}).get(setting)
    assert Settings({setting.key: "/tmp/a b"}).get(setting) == "/tmp/a b"
