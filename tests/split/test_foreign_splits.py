"""Splits of other writers are read in full: every row, column and type, every filter, and searches too."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
import tantivy

from indextables.config import Settings
from indextables.errors import CorruptTableError, QueryError, SchemaError
from indextables.predicates import TRUE, Compare, TextQuery, parse_where
from indextables.schema import Field, FieldMapping, TableSchema
from indextables.split import RowRequest, SplitReader, open_split
from indextables.split.container.bundle import open_bundle
from indextables.split.foreign import document_rows
from indextables.storage import open_store
from support.foreign import FIXTURES, TABLES, pack, write_foreign

Row = dict[str, Any]

needs_fixtures = pytest.mark.skipif(not TABLES, reason="the fixtures are not next to this checkout")

EVERY = TableSchema(
    (
        Field("i8", "byte"),
        Field("i32", "integer"),
        Field("i64", "long"),
        Field("f32", "float"),
        Field("f64", "double"),
        Field("flag", "boolean"),
        Field("day", "date"),
        Field("at", "timestamp"),
        Field("raw", "binary"),
        Field("host", "string"),
        Field("body", "string"),
        Field("ip", "string"),
        Field("later", "string"),
        Field("payload", '{"type":"struct","fields":[]}'),
        Field("gone", "string"),
    )
)
READABLE = [name for name in EVERY.names if name not in ("payload", "gone")]
LARGE = 2**53 + 1
MOMENT = datetime(2024, 5, 1, 12, 30, 15, 123457, tzinfo=UTC)
BEFORE = datetime(1950, 2, 3, 4, 5, 6, 789012, tzinfo=UTC)
FULL: Row = {
    "i8": -128,
    "i32": 7,
    "i64": LARGE,
    "f32": 0.5,
    "f64": 0.1,
    "flag": True,
    "day": date(1969, 7, 20),
    "at": MOMENT,
    "raw": b"\x00\xff",
    "host": "Web-1",
    "body": "Disk full on the Web server",
    "ip": "10.0.0.3",
    "later": None,
}
EMPTY: Row = dict.fromkeys(READABLE)
ODD: Row = EMPTY | {
    "f64": math.nan,
    "flag": False,
    "day": date(2001, 1, 1),
    "at": BEFORE,
    "host": "",
    "body": "disk; DISK, disk",
    "ip": "2001:db8::1",
    "raw": b"",
}


def settings(tmp_path: Path) -> Settings:
    return Settings({"spark.indextables.cache.directoryPath": str(tmp_path / "cache")})


def fields() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("i8", "i32", "i64"):
        builder.add_integer_field(name, stored=True, indexed=True, fast=True)
    for name in ("f32", "f64"):
        builder.add_float_field(name, stored=True, fast=True)
    builder.add_boolean_field("flag", stored=True, fast=True)
    builder.add_date_field("day", stored=True, fast=True)
    builder.add_date_field("at", stored=True, fast=True)
    builder.add_bytes_field("raw", stored=True)
    builder.add_text_field("host", stored=True, tokenizer_name="raw", fast=True)
    builder.add_text_field("body", stored=True, tokenizer_name="default")
    builder.add_ip_addr_field("ip", stored=True)
    builder.add_json_field("payload", stored=True)
    builder.add_text_field("gone", stored=False, tokenizer_name="raw")
    return builder.build()


def document(row: Row) -> Row:
    """Return a row as other writers store it: no nulls, dates as timestamps, IPv4 addresses as IPv6."""
    found = {name: value for name, value in row.items() if value is not None}
    if "day" in found:
        found["day"] = datetime.combine(found["day"], datetime.min.time(), UTC)
    return found | {"payload": {"a": 1}, "gone": "x"}


def split_of(tmp_path: Path, *segments: list[Row], **options: Any) -> Path:
    return write_foreign(
        tmp_path / "part-1.split", fields(), [[document(row) for row in rows] for rows in segments], **options
    )


def opened(path: Path, tmp_path: Path, schema: TableSchema | None = EVERY) -> SplitReader:
    return open_split(
        open_store(str(path.parent)),
        path.name,
        path.stat().st_size,
        settings=settings(tmp_path),
        schema=schema,
    )


def rows_of(reader: SplitReader, request: RowRequest) -> list[Row]:
    batches = list(reader.rows(request))
    return [row for batch in batches for row in batch.to_pylist()]


def plain(rows: list[Row]) -> list[Row]:
    """Replace NaN by a value that equals itself."""
    return [{name: "NaN" if value != value else value for name, value in row.items()} for row in rows]


def numbered(count: int, start: int = 0) -> list[Row]:
    return [
        EMPTY | {"i32": i, "body": f"row {i} of many", "host": f"h{i % 7}"}
        for i in range(start, start + count)
    ]


def test_every_type_comes_back_as_the_table_has_it(tmp_path: Path) -> None:
    with opened(split_of(tmp_path, [FULL, EMPTY, ODD]), tmp_path) as reader:
        assert reader.num_rows == reader.count() == 3
        assert reader.schema == EVERY
        [batch] = reader.rows(RowRequest(tuple(READABLE)))
        assert batch.schema.types == [EVERY.field(name).arrow_type for name in READABLE]
        assert plain(batch.to_pylist()) == plain([FULL, EMPTY, ODD])


def test_without_a_schema_the_widest_types_stand_in(tmp_path: Path) -> None:
    with opened(split_of(tmp_path, [FULL]), tmp_path, schema=None) as reader:
        assert {name: reader.schema.field(name).type for name in ("i8", "f32", "day", "ip")} == {
            "i8": "long",
            "f32": "double",
            "day": "timestamp",
            "ip": "string",
        }
        assert rows_of(reader, RowRequest(("i8", "day"))) == [
            {"i8": -128, "day": datetime(1969, 7, 20, tzinfo=UTC)}
        ]


def test_columns_that_cannot_be_read_are_refused_and_the_others_are_not(tmp_path: Path) -> None:
    with opened(split_of(tmp_path, [FULL]), tmp_path) as reader:
        for name, reason in (("payload", "struct"), ("gone", "without being stored")):
            assert reader.mapping.get(name) is None
            with pytest.raises(SchemaError, match=f"column '{name}' cannot be read.*{reason}"):
                rows_of(reader, RowRequest((name,)))
        assert rows_of(reader, RowRequest(("i32",))) == [{"i32": 7}]


@pytest.mark.parametrize("kind", ["string", "double", "date"])
def test_a_field_of_another_type_than_the_column_is_refused(tmp_path: Path, kind: str) -> None:
    with (
        opened(split_of(tmp_path, [FULL]), tmp_path, TableSchema((Field("i32", kind),))) as reader,
        pytest.raises(SchemaError, match=f"is {kind} in the table and a field of type i64"),
    ):
        rows_of(reader, RowRequest(("i32",)))


def test_a_number_beyond_its_column_is_an_error(tmp_path: Path) -> None:
    with (
        opened(split_of(tmp_path, [FULL | {"i32": 2**40}]), tmp_path) as reader,
        pytest.raises(SchemaError, match="not of type integer"),
    ):
        rows_of(reader, RowRequest(("i32",)))


def test_several_segments_and_deleted_documents(tmp_path: Path) -> None:
    path = split_of(tmp_path, numbered(50), numbered(30, start=50), numbered(5, start=80), delete=("i32", 55))
    names = open_bundle(open_store(str(tmp_path)), path.name).members
    assert any(name.endswith(".del") for name in names)
    with opened(path, tmp_path) as reader:
        assert reader.num_rows == reader.count() == 84
        found = [row["i32"] for row in rows_of(reader, RowRequest(("i32",)))]
        assert found == [i for i in range(85) if i != 55]
        assert reader.count(TextQuery("TEXTSEARCH", "body", "row AND 54")) == 1
        assert reader.count(TextQuery("TEXTSEARCH", "body", "55")) == 0


def test_rows_come_in_bounded_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_rows, "RUN_ROWS", 7)
    rows = numbered(40)
    with opened(split_of(tmp_path, rows), tmp_path) as reader:
        batches = list(reader.rows(RowRequest(("i32", "body"))))
        assert max(batch.num_rows for batch in batches) == 7
        assert [n for batch in batches for n in batch.column("i32").to_pylist()] == list(range(40))
        limited = RowRequest(("i32",), parse_where("host = 'h3'", EVERY), limit=3)
        assert [row["i32"] for row in rows_of(reader, limited)] == [3, 10, 17]
        assert rows_of(reader, RowRequest(("i32",), limit=2)) == [{"i32": 0}, {"i32": 1}]
        searched = RowRequest(("i32",), TextQuery("TEXTSEARCH", "body", "3 OR 30 OR 39"))
        assert [row["i32"] for row in rows_of(reader, searched)] == [3, 30, 39]


WHERE: list[tuple[str, Callable[[Row], bool]]] = [
    ("i64 = 9007199254740993", lambda r: r["i64"] == LARGE),
    ("f64 > 5", lambda r: r["f64"] is not None and (math.isnan(r["f64"]) or r["f64"] > 5)),
    ("f64 = 0.1", lambda r: r["f64"] == 0.1),
    ("day < DATE '1970-01-01'", lambda r: r["day"] is not None and r["day"] < date(1970, 1, 1)),
    ("at >= TIMESTAMP '2024-05-01 12:30:15.123457'", lambda r: r["at"] is not None and r["at"] >= MOMENT),
    ("host = 'Web-1'", lambda r: r["host"] == "Web-1"),
    ("NOT host = 'Web-1'", lambda r: r["host"] is not None and r["host"] != "Web-1"),
    ("body LIKE '%full%'", lambda r: "full" in (r["body"] or "")),
    ("later IS NULL AND flag", lambda r: bool(r["flag"])),
    ("ip IN ('10.0.0.3', '1.1.1.1') OR i32 IS NULL", lambda r: r["ip"] == "10.0.0.3" or r["i32"] is None),
    ("body TEXTSEARCH 'disk AND full'", lambda r: "full" in (r["body"] or "")),
    ("body TEXTSEARCH 'disk' AND flag = false", lambda r: r["flag"] is False),
    ("NOT body TEXTSEARCH 'full'", lambda r: r["body"] is not None and "full" not in r["body"]),
    ("body TEXTSEARCH 'nowhere' OR i8 < 0", lambda r: (r["i8"] or 0) < 0),
    ("host FIELDMATCH 'Web-*'", lambda r: (r["host"] or "").startswith("Web-")),
    ("i32 INDEXQUERY '[5 TO 9]'", lambda r: r["i32"] is not None and 5 <= r["i32"] <= 9),
    ("* INDEXQUERY 'body:disk AND at:[* TO 1960-01-01]'", lambda r: r["at"] == BEFORE),
]


@pytest.fixture(scope="module")
def three_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return split_of(tmp_path_factory.mktemp("three"), [FULL, EMPTY], [ODD])


@pytest.mark.parametrize(("where", "holds"), WHERE, ids=[where for where, _ in WHERE])
def test_conditions_hold_for_exactly_the_rows_they_should(
    three_rows: Path, where: str, holds: Callable[[Row], bool]
) -> None:
    rows = [FULL, EMPTY, ODD]
    with opened(three_rows, three_rows.parent) as reader:
        predicate = parse_where(where, EVERY)
        wanted = [row for row in rows if holds(row)]
        assert plain(rows_of(reader, RowRequest(tuple(READABLE), predicate))) == plain(wanted)
        assert reader.count(predicate) == len(wanted)


def test_searches_have_scores_and_snippets(three_rows: Path) -> None:
    with opened(three_rows, three_rows.parent) as reader:
        query = TextQuery("TEXTSEARCH", "body", "disk")
        first, second = rows_of(reader, RowRequest(("host", "_score", "_snippet"), query, top=5))
        assert (first["host"], second["host"]) == ("", "Web-1")
        assert first["_score"] > second["_score"] > 0
        assert second["_snippet"] == "<b>Disk</b> full on the Web server"


def test_a_search_that_does_not_fit_its_column_is_refused(three_rows: Path) -> None:
    with opened(three_rows, three_rows.parent) as reader:
        for query in (TextQuery("TEXTSEARCH", "host", "web"), TextQuery("FIELDMATCH", "payload", "a")):
            with pytest.raises(QueryError):
                reader.count(query)


def test_the_tables_own_mapping_decides_what_is_text(tmp_path: Path) -> None:
    path = split_of(tmp_path, [FULL, ODD])
    mapping = FieldMapping.of(EVERY, (), {"host": "text", "later": "text"})
    with open_split(
        open_store(str(path.parent)), path.name, settings=settings(tmp_path), mapping=mapping
    ) as reader:
        assert reader.count(TextQuery("TEXTSEARCH", "host", "web")) == 1
        assert reader.count(TextQuery("TEXTSEARCH", "later", "web")) == 0
        assert reader.count(TextQuery("FIELDMATCH", "body", '"disk; DISK, disk"')) == 1


def test_the_index_of_the_rows_is_made_once_and_only_for_searches(tmp_path: Path) -> None:
    path = split_of(tmp_path, [FULL, ODD])
    with opened(path, tmp_path) as reader:
        assert reader.count(parse_where("host = 'Web-1'", EVERY)) == 1
    assert len(list((tmp_path / "cache").glob("[!.]*"))) == 1
    for _ in range(2):
        with opened(path, tmp_path) as reader:
            assert reader.count(TextQuery("TEXTSEARCH", "body", "disk")) == 2
    assert len(list((tmp_path / "cache").glob("[!.]*"))) == 2


def test_a_search_is_ready_once_the_index_of_the_rows_is_built(tmp_path: Path) -> None:
    query = TextQuery("TEXTSEARCH", "body", "disk")
    with opened(split_of(tmp_path, [FULL, ODD]), tmp_path) as reader:
        assert not reader.is_ready(TRUE, may_extract=False)
        assert reader.is_ready(TRUE, may_extract=True)
        assert not reader.is_ready(query, may_extract=True)
        assert reader.count(query) == 2
        assert reader.is_ready(query, may_extract=False)


def test_an_empty_split_has_no_rows(tmp_path: Path) -> None:
    with opened(split_of(tmp_path, []), tmp_path) as reader:
        assert reader.num_rows == 0
        assert rows_of(reader, RowRequest(("i32",), TextQuery("TEXTSEARCH", "body", "x"))) == []
        assert reader.count(TRUE) == 0


def members(path: Path) -> dict[str, bytes]:
    bundle = open_bundle(open_store(str(path.parent)), path.name)
    return {name: bundle.read(name) for name in bundle.members}


def test_a_damaged_store_is_noticed(tmp_path: Path) -> None:
    files = members(split_of(tmp_path, numbered(100)))
    [store] = [name for name in files if name.endswith(".store")]
    for position in (0, len(files[store]) // 2):
        damaged = bytearray(files[store])
        damaged[position] ^= 0x55
        path = pack((files | {store: bytes(damaged)}).items(), tmp_path / f"damaged-{position}.split")
        with (
            opened(path, tmp_path) as reader,
            pytest.raises(CorruptTableError, match=f"checksum of '{store}'"),
        ):
            rows_of(reader, RowRequest(("i32",)))


@pytest.mark.parametrize("meta", [b"{", b"[]", b'{"segments":[]}', b'{"schema":[{}],"segments":[]}'])
def test_a_damaged_description_is_noticed(tmp_path: Path, meta: bytes) -> None:
    path = pack([("meta.json", meta)], tmp_path / "damaged.split")
    with pytest.raises(CorruptTableError, match=r"meta\.json"):
        opened(path, tmp_path)


def test_a_store_with_fewer_documents_than_it_says_is_noticed(tmp_path: Path) -> None:
    files = members(split_of(tmp_path, numbered(10)))
    meta = orjson.loads(files["meta.json"])
    meta["segments"][0]["max_doc"] = 12
    path = pack((files | {"meta.json": orjson.dumps(meta)}).items(), tmp_path / "damaged.split")
    with opened(path, tmp_path) as reader, pytest.raises(CorruptTableError, match="row 10 cannot be read"):
        rows_of(reader, RowRequest(("i32",)))


def test_an_index_of_rows_that_lie_elsewhere_is_refused(tmp_path: Path) -> None:
    files = members(split_of(tmp_path, numbered(1)))
    path = pack((files | {"_parquet_manifest.json": b"{}"}).items(), tmp_path / "companion-1.split")
    with pytest.raises(SchemaError, match="it indexes Parquet files outside the table"):
        opened(path, tmp_path)


def test_a_bundle_of_something_else_is_refused(tmp_path: Path) -> None:
    path = pack([("notes.txt", b"hello")], tmp_path / "other.split")
    with pytest.raises(CorruptTableError, match="not a split of a table"):
        opened(path, tmp_path)


@needs_fixtures
@pytest.mark.parametrize("name", TABLES)
def test_the_splits_of_the_original_hold_their_rows(tmp_path: Path, name: str) -> None:
    expected = orjson.loads((FIXTURES / f"{name}.expected.json").read_bytes())
    partitions = expected["partitionColumns"]
    schema = TableSchema(
        tuple(Field(*column) for column in expected["schema"] if column[0] not in partitions)
    )
    store, found = open_store(str(FIXTURES / name)), []
    for path in expected["paths"]:
        known = dict(part.split("=", 1) for part in path.split("/")[:-1])
        with open_split(store, path, settings=settings(tmp_path), schema=schema) as reader:
            rows = rows_of(reader, RowRequest(tuple(schema.names)))
            assert reader.count(TextQuery("INDEXQUERY", "*", "*")) == len(rows) == reader.num_rows
            for row in rows:
                text = next(value for value in row.values() if isinstance(value, str))
                assert reader.count(TextQuery("INDEXQUERY", "*", f'"{text}"')) >= 1
            found += [row | known for row in rows]
    assert sorted(found, key=orjson_key) == sorted(expected["allRows"], key=orjson_key)


def orjson_key(row: Row) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)


def test_batches_have_the_columns_in_the_order_asked_for(tmp_path: Path) -> None:
    with opened(split_of(tmp_path, [FULL]), tmp_path) as reader:
        [batch] = reader.rows(RowRequest(("host", "i8", "_score", "at")))
        assert batch.schema.names == ["host", "i8", "_score", "at"]
        assert batch.column("at").type == pa.timestamp("us", tz="UTC")


def test_json_fields_are_read_as_the_arrays_maps_and_structs_of_the_table(tmp_path: Path) -> None:
    builder = tantivy.SchemaBuilder()
    for name in ("user", "tags", "scores", "attrs", "note"):
        builder.add_json_field(name, stored=True)
    builder.add_float_field("price", stored=True)
    documents = [
        {
            "user": {"name": "ada", "born": -1000, "home": {"zip": 7}, "left": None},
            "tags": {"_values": ["a", "2024-01-01T00:00:00Z"]},
            "scores": {"scores": [1, 2.5]},
            "attrs": {"1": True},
            "note": {"b": [1, None]},
            "price": 12.5,
        },
        {},
    ]
    schema = TableSchema.from_arrow(
        pa.schema(
            {
                "user": pa.struct(
                    {
                        "name": pa.string(),
                        "born": pa.timestamp("us", "UTC"),
                        "home": pa.struct({"zip": pa.int32()}),
                        "left": pa.decimal128(9, 2),
                    }
                ),
                "tags": pa.list_(pa.string()),
                "scores": pa.list_(pa.float64()),
                "attrs": pa.map_(pa.int32(), pa.bool_()),
                "note": pa.string(),
                "price": pa.decimal128(9, 2),
            }
        )
    )
    split = write_foreign(tmp_path / "part-1.split", builder.build(), [documents])
    with opened(split, tmp_path, schema=schema) as reader:
        first, second = rows_of(reader, RowRequest(tuple(schema.names)))
        assert first == {
            "user": {
                "name": "ada",
                "born": datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
                "home": {"zip": 7},
                "left": None,
            },
            "tags": ["a", "2024-01-01T00:00:00Z"],
            "scores": [1.0, 2.5],
            "attrs": [(1, True)],
            "note": '{"b":[1,null]}',
            "price": Decimal("12.50"),
        }
        assert set(second.values()) == {None}
        request = RowRequest(("price",), Compare("=", "user.name", "ada"))
        assert rows_of(reader, request) == [{"price": Decimal("12.50")}]
