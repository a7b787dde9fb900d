"""Schemas, field mappings and partition values survive a round trip through their text."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.errors import ConfigError, SchemaError
from indextables.schema import (
    ALL_COLUMN,
    ARROW_TYPES,
    NULL_DIRECTORY,
    RESERVED_COLUMNS,
    SPLIT_PATH,
    Field,
    FieldMapping,
    TableSchema,
    decode_value,
    encode_value,
    escape,
    mapping_hash,
    partition_path,
    resolve_typemap,
    unescape,
)
from indextables.split.output import COMPUTED

NAMES = st.text("abcXYZ_é $.", min_size=1, max_size=6)
SCHEMAS = st.lists(
    st.tuples(NAMES, st.sampled_from(sorted(ARROW_TYPES))), max_size=8, unique_by=lambda pair: pair[0].lower()
).map(lambda pairs: TableSchema(tuple(Field(name, kind) for name, kind in pairs)))

PARTITION_VALUES = st.one_of(
    st.tuples(st.just("string"), st.text(min_size=1)),
    st.tuples(st.sampled_from(["byte", "short", "integer", "long"]), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("boolean"), st.booleans()),
    st.tuples(st.just("date"), st.dates()),
    st.tuples(
        st.just("timestamp"),
        st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
    ),
)


@given(SCHEMAS)
def test_a_schema_survives_sparks_json(schema: TableSchema) -> None:
    assert TableSchema.from_json(schema.to_json()) == schema


@given(SCHEMAS)
def test_a_schema_survives_arrow(schema: TableSchema) -> None:
    assert TableSchema.from_arrow(schema.arrow) == schema


@given(SCHEMAS)
def test_a_mapping_survives_the_registry(schema: TableSchema) -> None:
    mapping = FieldMapping.of(schema, (), {})
    assert FieldMapping.from_json(mapping.to_json()) == mapping


@given(PARTITION_VALUES)
def test_partition_values_come_back_typed(pair: tuple[str, object]) -> None:
    kind, value = pair
    if value == NULL_DIRECTORY:
        return
    assert decode_value(encode_value(value, kind), kind) == value


@given(st.text())
def test_a_directory_name_can_be_read_back(text: str) -> None:
    escaped = escape(text)
    assert unescape(escaped) == text
    assert "/" not in escaped


def test_null_has_a_directory_and_no_text() -> None:
    assert encode_value(None, "string") is None
    assert decode_value(None, "integer") is None
    assert decode_value(NULL_DIRECTORY, "integer") is None
    assert partition_path({"a": None, "b": "x"}, ("a", "b")) == f"a={NULL_DIRECTORY}/b=x"


def test_a_value_of_another_type_is_an_error() -> None:
    with pytest.raises(SchemaError, match="'x' is not of type date"):
        decode_value("x", "date")


def test_dates_are_iso() -> None:
    assert encode_value(date(2024, 1, 2), "date") == "2024-01-02"


def test_unsupported_types_are_named() -> None:
    text = '{"type":"struct","fields":[{"name":"a","type":{"type":"array"},"nullable":true,"metadata":{}}]}'
    with pytest.raises(SchemaError, match="column 'a'"):
        TableSchema.from_json(text)
    with pytest.raises(SchemaError, match="not Spark schema JSON"):
        TableSchema.from_json("{")


def test_both_spellings_of_the_typemap() -> None:
    schema = TableSchema((Field("title", "string"), Field("Body", "string"), Field("n", "long")))
    assert resolve_typemap(schema, (), {"body": "TEXT"}) == {"Body": "text"}
    assert resolve_typemap(schema, (), {"text": "title, body"}) == {"title": "text", "Body": "text"}
    with pytest.raises(ConfigError, match="takes text, string or ip"):
        resolve_typemap(schema, (), {"title": "words"})


def test_equal_mappings_hash_alike_and_others_do_not() -> None:
    one = '[{"name":"a","type":"text"},{"name":"b","type":"i64"}]'
    assert mapping_hash(one) == mapping_hash('[{"type":"i64","name":"b"},{"type":"text","name":"a"}]')
    assert mapping_hash(one) != mapping_hash('[{"name":"a","type":"text"}]')
    assert len(mapping_hash("not json")) == 16


def test_every_column_that_reads_compute_has_a_reserved_name():
    java = Path(it.__file__).parent / "spark" / "jvm" / "io" / "indextables" / "spark"
    in_spark = set(re.findall(r'"(_[a-z_]+)"', (java / "MetadataColumns.java").read_text()))
    assert {*COMPUTED, SPLIT_PATH, ALL_COLUMN} == RESERVED_COLUMNS == in_spark


def test_no_other_column_of_a_read_may_be_one_of_a_table():
    """A name like those of computed columns, in the sources, is reserved or not that of a column."""
    others = {
        "__it": "a column of an answer, which has no others",
        "__figures": "gets underscores while a column has it",
        "__request": "an option",
        "__row": "a field of the index: those of columns have other names",
        "__nulls": "a field of the index",
        "__unindexed": "a field of the index",
        "__index__": "a method of Python",
        "__version__": "of a module",
        "__arrow_c_stream__": "a method of Arrow",
        "__dataframe__": "a method of data frames",
        "__init__": "of a package",
        "__main__": "of Python",
        "__notes__": "of an exception",
    }
    named = set()
    for path in Path(it.__file__).parent.rglob("*.py"):
        named |= set(re.findall(r'"(__[a-z_]+)"', path.read_text()))
    assert named - others.keys() <= RESERVED_COLUMNS


@pytest.mark.parametrize("name", sorted(RESERVED_COLUMNS))
def test_no_column_has_a_reserved_name(tmp_path: Path, name: str):
    with pytest.raises(SchemaError, match=f"'{name.upper()}' has a name that is reserved"):
        it.write(tmp_path, [{name.upper(): 1}])
    it.write(tmp_path, [{"n": 1}])
    for change in ({"add": {name: "long"}}, {"rename": {"n": name}}):
        with pytest.raises(SchemaError, match="reserved for what reads compute: choose another one"):
            it.open(tmp_path).alter(**change)
    merging = {"spark.indextables.write.mergeSchema": "true"}
    for more in ({"settings": merging}, {"mode": "overwrite"}):
        with pytest.raises(SchemaError, match="reserved"):
            it.write(tmp_path, [{"n": 1, name: 2}], **more)
    assert it.open(tmp_path).version == 0
