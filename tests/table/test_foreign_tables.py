"""Tables of other writers: read, filtered and searched like ours, and appended to without losing a row."""

from __future__ import annotations

import gzip
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
import tantivy

import indextables as it
from indextables.errors import ConfigError, QueryError, SchemaError
from indextables.schema import mapping_hash, own_refs
from indextables.table import Table
from support.foreign import FIXTURES, TABLES, write_foreign

Row = dict[str, Any]
Holds = Callable[[Row], bool]

needs_fixtures = pytest.mark.skipif(not TABLES, reason="the fixtures are not next to this checkout")
each_table = pytest.mark.parametrize("name", TABLES)


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((FIXTURES / f"{name}.expected.json").read_bytes())
    return found


def copy(name: str, tmp_path: Path) -> str:
    return str(shutil.copytree(FIXTURES / name, tmp_path / name))


def opened(path: str, tmp_path: Path) -> Table:
    return it.open(path, settings={"spark.indextables.cache.directoryPath": str(tmp_path / "cache")})


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: orjson.dumps(row, option=orjson.OPT_SORT_KEYS))


def conditions(rows: list[Row]) -> list[tuple[str, Holds]]:
    """Conditions on whatever columns a fixture has, each with the same as Python."""
    middle = in_order(rows)[len(rows) // 2]
    number, words = middle["id"], [name for name, value in middle.items() if isinstance(value, str)]
    found: list[tuple[str, Holds]] = [
        (f"id > {number}", lambda row: row["id"] > number),
        (f"id <= {number} AND id <> {number - 1}", lambda row: row["id"] <= number != row["id"] + 1),
        (f"id IN ({number}, -1)", lambda row: row["id"] == number),
        ("id IS NULL", lambda _: False),
        (f"id INDEXQUERY '[{number} TO *]'", lambda row: row["id"] >= number),
    ]
    for name in words:
        text = middle[name]
        found += [
            (f"{name} = '{text}'", lambda row, n=name, t=text: row[n] == t),  # type: ignore[misc]
            (f"NOT {name} >= '{text}'", lambda row, n=name, t=text: row[n] < t),  # type: ignore[misc]
            (f"{name} LIKE '{text[:3]}%'", lambda row, n=name, t=text: row[n].startswith(t[:3])),  # type: ignore[misc]
        ]
    return found


@needs_fixtures
@each_table
def test_a_table_of_the_original_has_its_rows_and_types(tmp_path: Path, name: str) -> None:
    table, wanted = opened(copy(name, tmp_path), tmp_path), expected(name)
    rows = table.to_arrow()
    assert in_order(rows.to_pylist()) == in_order(wanted["allRows"])
    assert [[field.name, field.type] for field in table.snapshot.schema] == wanted["schema"]
    assert rows.schema == table.schema
    assert table.count() == wanted["rows"]
    assert table.version == wanted["version"]


@needs_fixtures
@each_table
def test_conditions_on_a_table_of_the_original(tmp_path: Path, name: str) -> None:
    table, rows = opened(copy(name, tmp_path), tmp_path), expected(name)["allRows"]
    for where, holds in conditions(rows):
        wanted = in_order([row for row in rows if holds(row)])
        assert in_order(table.to_arrow(where=where).to_pylist()) == wanted, where
        assert table.count(where=where) == len(wanted), where


@needs_fixtures
@each_table
def test_searches_on_a_table_of_the_original(tmp_path: Path, name: str) -> None:
    table, wanted = opened(copy(name, tmp_path), tmp_path), expected(name)
    rows = wanted["allRows"]
    column = next(
        n for n, kind in wanted["schema"] if kind == "string" and n not in wanted["partitionColumns"]
    )
    text = rows[-1][column]
    alike = [row for row in rows if row[column] == text]
    assert in_order(table.to_arrow(where=f"{column} FIELDMATCH '\"{text}\"'").to_pylist()) == in_order(alike)
    assert table.count(where=f"NOT {column} FIELDMATCH '\"{text}\"'") == len(rows) - len(alike)
    found = table.search(f'{column}:"{text}"', columns=[column], limit=None).to_pylist()
    assert [row[column] for row in found] == [text] * len(alike)
    assert all(row["_score"] > 0 for row in found)
    with pytest.raises(QueryError, match="is not tokenised"):
        table.to_arrow(where=f"{column} TEXTSEARCH '{text}'")


@needs_fixtures
@each_table
def test_an_append_keeps_old_and_new_rows(tmp_path: Path, name: str) -> None:
    path, wanted = copy(name, tmp_path), expected(name)
    table = opened(path, tmp_path)
    new = [row | {"id": -1 - i} for i, row in enumerate(wanted["allRows"][:2])]
    for round_ in range(2):
        version = it.write(path, pa.Table.from_pylist(new, table.schema))
        assert version == wanted["version"] + 1 + round_
        table = opened(path, tmp_path)
        assert table.version == version
        assert in_order(table.to_arrow().to_pylist()) == in_order(wanted["allRows"] + new * (round_ + 1))
    refs = {file.doc_mapping_ref for file in table.snapshot.files.values()}
    assert refs > set(wanted["registry"])
    assert refs - set(wanted["registry"]) == own_refs(table.metadata.configuration)
    assert table.count(where="id < 0") == 2 * len(new)
    old = it.open(path, version=wanted["version"])
    assert in_order(old.to_arrow().to_pylist()) == in_order(wanted["allRows"])


@needs_fixtures
def test_an_overwrite_replaces_what_the_original_wrote(tmp_path: Path) -> None:
    path = copy("02_five_appends", tmp_path)
    it.write(path, pa.table({"id": [1], "text": ["one word"]}), mode="overwrite", text=["text"])
    table = opened(path, tmp_path)
    assert table.to_arrow().to_pylist() == [{"id": 1, "text": "one word"}]
    assert table.count(where="text TEXTSEARCH 'word'") == 1


INLINE = [
    {"name": "id", "type": "i64", "fast": True, "indexed": True, "stored": True},
    {"name": "body", "type": "text", "tokenizer": "default", "fast": False, "indexed": True, "stored": True},
    {"name": "host", "type": "text", "tokenizer": "raw", "fast": True, "indexed": True, "stored": True},
    {"name": "load", "type": "f64", "fast": True, "indexed": True, "stored": True},
]
COLUMNS = [("id", "integer"), ("body", "string"), ("host", "string"), ("load", "double")]
ROWS: list[list[Row]] = [
    [
        {"id": 1, "body": "Disk full on db1", "host": "db1", "load": 0.5},
        {"id": 2, "body": "login ok", "host": "a b"},
    ],
    [{"id": 3, "body": "disk ok", "host": "db2", "load": math.nan}, {"id": 4, "host": "db1", "load": 2.0}],
]


def native_table(
    tmp_path: Path,
    *,
    columns: list[tuple[str, Any]] | None = None,
    registry: bool = False,
    extra: bool = False,
) -> str:
    """A table as the original's newest release writes it: doc mappings inside the adds, or in the registry."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", stored=True, indexed=True, fast=True)
    builder.add_text_field("body", stored=True)
    builder.add_text_field("host", stored=True, tokenizer_name="raw", fast=True)
    builder.add_float_field("load", stored=True, fast=True)
    builder.add_json_field("payload", stored=True)
    schema, root = builder.build(), tmp_path / "native"
    mapping = orjson.dumps(INLINE).decode()
    ref = mapping_hash(mapping)
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in columns or COLUMNS]
    metadata = {
        "id": "native",
        "format": {"provider": "indextables", "options": {}},
        "schemaString": orjson.dumps({"type": "struct", "fields": fields}).decode(),
        "partitionColumns": [],
        "configuration": {f"docMappingSchema.{ref}": mapping} if registry else {},
    }
    lines: list[Row] = [{"protocol": {"minReaderVersion": 4, "minWriterVersion": 4}}, {"metaData": metadata}]
    for number, rows in enumerate(ROWS):
        documents = [row | ({"payload": {"a": 1}} if extra else {}) for row in rows]
        path = write_foreign(root / f"part-{number}.split", schema, [documents])
        loads = [row["load"] for row in rows if not math.isnan(row.get("load", math.nan))]
        add = {
            "path": path.name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": 1,
            "dataChange": True,
            "numRecords": len(rows),
            "numMergeOps": 0,
            "minValues": {"load": f"{min(loads):g}"},
            "maxValues": {"load": f"{max(loads):g}"},
        }
        lines.append({"add": add | ({"docMappingRef": ref} if registry else {"docMappingJson": mapping})})
    log = root / "_transaction_log"
    log.mkdir()
    (log / f"{0:020}.json").write_bytes(gzip.compress(b"\n".join(map(orjson.dumps, lines))))
    return str(root)


def ids(table: Table, where: str) -> list[int]:
    return sorted(table.to_arrow(columns=["id"], where=where).column("id").to_pylist())


@pytest.mark.parametrize("registry", [False, True])
def test_the_doc_mapping_of_the_original_says_what_is_text(tmp_path: Path, registry: bool) -> None:
    path = native_table(tmp_path, registry=registry)
    table = opened(path, tmp_path)
    assert {field.name: field.kind for field in table.snapshot.mapping.fields} == {
        "id": "i64",
        "body": "text",
        "host": "string",
        "load": "f64",
    }
    assert ids(table, "body TEXTSEARCH 'disk'") == [1, 3]
    assert ids(table, "NOT body TEXTSEARCH 'disk'") == [2]
    assert ids(table, "host FIELDMATCH '\"a b\"'") == [2]
    assert [row["id"] for row in table.search("body:(disk AND full)", snippet="body").to_pylist()] == [1]
    with pytest.raises(QueryError, match="not tokenised"):
        table.count(where="host TEXTSEARCH 'db1'")

    new = pa.table({"id": [9], "body": ["a new disk"], "host": ["db9"], "load": [9.0]}, table.schema)
    for _ in range(2):
        it.write(path, new)
    table = opened(path, tmp_path)
    assert table.snapshot.mapping.get("body").kind == "text"  # type: ignore[union-attr]
    assert ids(table, "body TEXTSEARCH 'disk'") == [1, 3, 9, 9]
    assert ids(table, "host = 'db1' OR load >= 9") == [1, 3, 4, 9, 9]
    with pytest.raises(ConfigError, match="indexed as string"):
        it.write(path, table.to_arrow(), text=["host"])


def test_statistics_of_the_original_do_not_hide_nan(tmp_path: Path) -> None:
    path = native_table(tmp_path)
    for _ in range(2):
        table = opened(path, tmp_path)
        assert ids(table, "load > 100") == [3]
        assert ids(table, "load >= 2") == [3, 4]
        assert ids(table, "load = 100") == []
        assert ids(table, "load < 1") == [1]
        assert table.files("load = 100").num_rows == 0
        table.checkpoint()  # the same from the entries of a state


def test_columns_that_no_table_of_ours_can_hold_do_not_hide_the_others(tmp_path: Path) -> None:
    columns = [*COLUMNS, ("payload", {"type": "struct", "fields": []}), ("price", "interval day")]
    table = opened(native_table(tmp_path, columns=columns, extra=True), tmp_path)
    assert table.count() == 4
    assert ids(table, "body TEXTSEARCH 'disk'") == [1, 3]
    for read in (
        table.to_arrow,
        lambda: table.to_arrow(columns=["payload"]),
        lambda: table.to_arrow(columns=["id", "price"]),
        lambda: table.to_arrow(columns=["id"], where="payload IS NULL"),
    ):
        with pytest.raises(SchemaError, match=r"'payload'|'price'"):
            read()


@needs_fixtures
@each_table
def test_explain_notes_the_splits_of_the_original_until_they_are_merged(tmp_path: Path, name: str) -> None:
    path = copy(name, tmp_path)
    table = opened(path, tmp_path)
    column = next(field.name for field in table.snapshot.mapping.fields if field.kind in ("text", "string"))
    plan = table.explain(f"{column}:x")
    assert plan.splits_foreign == plan.splits_read > 0
    assert "written by another program" in plan.notes[0]
    assert "an index is built from their rows" in str(plan)
    assert "read from stored documents" in str(table.explain())


def test_splits_of_another_writer_are_ranked_with_the_others(tmp_path: Path) -> None:
    """The scores are those of the same rows in splits of this package, and a merge does not change them."""
    path = native_table(tmp_path)
    new = [{"id": 5, "body": "disk disk slow and a longer text", "host": "db9", "load": 1.0}]
    it.write(path, pa.Table.from_pylist(new, it.open(path).schema))
    table = opened(path, tmp_path)
    rows = [row for part in ROWS for row in part] + new
    it.write(tmp_path / "own", pa.Table.from_pylist(rows, table.schema), text=["body"])
    own = it.open(tmp_path / "own")
    assert table.explain("disk").splits_foreign == 2
    assert table.explain("disk").splits_read == 3
    for query in ("disk", "body:(disk OR ok)", 'body:"disk full" OR host:db1', "host:db1"):
        found, wanted = (t.search(query, columns=["id"], explain=True).to_pylist() for t in (table, own))
        assert sorted(found, key=lambda row: row["id"]) == sorted(wanted, key=lambda row: row["id"]), query
        assert [row["_score"] for row in found] == [row["_score"] for row in wanted], query
    before = table.search("disk OR ok", columns=["id"]).sort_by("id").to_pylist()
    table.merge_splits(target_size="1G")
    merged = opened(path, tmp_path)
    assert (merged.explain("disk").splits_foreign, merged.explain("disk").notes) == (0, ())
    assert merged.search("disk OR ok", columns=["id"]).sort_by("id").to_pylist() == before


def test_paging_explaining_and_likeness_work_on_splits_of_another_writer(tmp_path: Path) -> None:
    table = opened(native_table(tmp_path), tmp_path)
    everything = table.search("disk OR ok", limit=None).column("id").to_pylist()
    page = table.search("disk OR ok", limit=1, snippet="body")
    assert page.column("_snippet")[0].as_py().count("<b>") >= 1
    assert table.search("disk OR ok", limit=None, after=page).column("id").to_pylist() == everything[1:]
    assert table.more_like("full disk").column("id").to_pylist() == [1, 3]
