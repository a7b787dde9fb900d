"""Settings: known keys only, checked values, older names still heard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import indextables
from indextables.config import Settings, keys
from indextables.errors import ConfigError

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


def test_the_older_prefix_is_heard() -> None:
    settings = Settings({"spark.tantivy4spark.indexing.typemap.Message": "text"})
    assert settings.family(keys.TYPEMAP) == {"Message": "text"}


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(ConfigError, match="unknown setting 'spark.indextables.nope'"):
        Settings({"spark.indextables.nope": "1"})


def test_keys_of_other_programs_are_not_ours() -> None:
    Settings({"path": "/x", "spark.sql.shuffle.partitions": "4"})


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
