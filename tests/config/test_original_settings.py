"""Settings of IndexTables for Scala: each is read, or accepted with a warning; none fails a write or a search."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import indextables as it
from indextables.config import UNREAD, Settings, keys, layered
from indextables.errors import ConfigError
from support.original import ROWS, original_keys, original_settings

_TABLES = itertools.count()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("original")


@pytest.mark.parametrize("key", original_keys())
def test_a_key_is_read_or_has_one_warning(key: str, directory: Path) -> None:
    value = original_settings(directory)[key]
    for spelling in (key, key.lower(), key.replace("spark.indextables.", "spark.tantivy4spark.")):
        for session, options in (({spelling: value}, {}), ({}, {spelling: value})):
            merged, warnings = layered(session, options)
            assert merged or warnings
            assert len(warnings) <= 1
            assert all(("has no effect" in text or "indexed as" in text) and "'" in text for text in warnings)
            settings = Settings(merged)
            for setting in keys.ALL:
                settings.get(setting)


@pytest.mark.parametrize("key", original_keys())
def test_a_table_is_written_and_searched_with_a_key(key: str, directory: Path) -> None:
    _write_and_search({key: original_settings(directory)[key]})


def test_a_table_is_written_and_searched_with_all_keys(directory: Path) -> None:
    _write_and_search(original_settings(directory))


def _write_and_search(settings: dict[str, str]) -> None:
    uri = f"memory://original-settings-{next(_TABLES)}"
    it.write(uri, ROWS, text=["title", "content", "message"], settings=settings)
    table = it.open(uri, settings=settings)
    assert table.search("content:disk").column("id").to_pylist() == [1]
    assert table.count(query="title:disk") == 2
    assert table.to_arrow(where="payload = '{\"a\": 2}'").column("id").to_pylist() == [2]


def test_no_key_is_both_read_and_without_effect() -> None:
    unread = [key for group in UNREAD for key in group.keys]
    assert len({key.lower() for key in unread}) == len(unread)
    assert [key for key in unread if key.lower() in keys.BY_NAME] == []


def test_a_key_without_effect_is_named_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indextables.config.settings._warned", set())
    for _ in range(3):
        Settings(
            {"spark.indextables.read.batchOptimization.profile": "balanced", "targetRecordsPerSplit": "9"}
        )
    assert len(caplog.messages) == 2
    assert "'spark.indextables.read.batchOptimization.profile' has no effect" in caplog.messages[0]
    assert "write.targetSplitSize" in caplog.messages[1]


@pytest.mark.parametrize("option", ["targetRecordsPerSplit", "bloomFiltersEnabled", "forceStandardStorage"])
def test_its_options_without_a_prefix_are_known(option: str) -> None:
    merged, (warning,) = layered({}, {option: "1"})
    assert merged == {}
    assert f"setting {option!r} has no effect in this release" in warning


@pytest.mark.parametrize(
    ("typo", "nearest"),
    [
        ("spark.indextables.read.defaultLimt", "spark.indextables.read.defaultLimit"),
        ("spark.indextables.write.targetSpiltSize", "spark.indextables.write.targetSplitSize"),
    ],
)
def test_a_typo_names_the_nearest_key(typo: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{nearest}'"):
        Settings({typo: "1"})
    assert f"did you mean '{nearest}'" in layered({typo: "1"}, {})[1][0]


@pytest.mark.parametrize(
    "typemap", [{"payload": "JSON", "client_ip": "ip"}, {"json": "payload", "ip": "client_ip"}]
)
def test_columns_of_json_are_indexed_by_exact_value_and_addresses_as_such(typemap: dict[str, str]) -> None:
    settings = {f"{keys.TYPEMAP.prefix}{name}": kind for name, kind in typemap.items()}
    merged, warnings = layered({}, settings)
    assert merged == settings
    assert len(warnings) == 1
    assert "indexed as `string`, by exact value" in warnings[0]
    uri = f"memory://original-settings-{next(_TABLES)}"
    it.write(uri, ROWS, settings=settings)
    it.write(uri, ROWS, settings=settings)
    assert it.open(uri).count(where="client_ip = '10.0.0.2' AND payload = '{\"a\": 2}'") == 2
    assert it.open(uri).count("client_ip:10.0.0.2/32") == 2


def test_a_column_named_like_a_type_keeps_its_own_typemap() -> None:
    rows = ROWS.rename_columns(["json" if name == "content" else name for name in ROWS.column_names])
    uri = f"memory://original-settings-{next(_TABLES)}"
    it.write(uri, rows, settings={f"{keys.TYPEMAP.prefix}json": "text"})
    assert it.open(uri).count(query="json:failed") == 1
    assert layered({}, {f"{keys.TYPEMAP.prefix}json": "text"})[1] == ()


def test_a_cache_of_size_zero_has_the_default_size() -> None:
    assert Settings({keys.CACHE_MAX_SIZE.key: "0"}).get(keys.CACHE_MAX_SIZE) == keys.CACHE_MAX_SIZE.default
    assert Settings({keys.CACHE_MAX_SIZE.key: "100G"}).get(keys.CACHE_MAX_SIZE) == 100 << 30


def test_an_interval_of_zero_writes_no_state(tmp_path: Path) -> None:
    for _ in range(12):
        it.write(tmp_path / "t", ROWS, settings={keys.CHECKPOINT_INTERVAL.key: "0"})
    assert list((tmp_path / "t" / "_transaction_log").glob("state-v*")) == []
    assert it.open(tmp_path / "t").count() == 36
