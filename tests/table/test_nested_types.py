"""Arrays, structs, maps and addresses: what searches and conditions find in them, and what is refused with advice."""

from __future__ import annotations

import random
import re
from ipaddress import ip_address, ip_network
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import ConfigError, InputError, PredicateError, ProtocolError, QueryError, SchemaError
from indextables.log.actions import protocol
from indextables.schema import FieldMapping, TableSchema

IP = "spark.indextables.indexing.typemap."
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "tags": pa.list_(pa.string()),
        "numbers": pa.list_(pa.int32()),
        "user": pa.struct({"name": pa.string(), "bio": pa.string(), "home": pa.struct({"zip": pa.int64()})}),
        "attrs": pa.map_(pa.string(), pa.string()),
        "counts": pa.map_(pa.string(), pa.int64()),
        "client": pa.string(),
    }
)
LONG = "y" * 70_000
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "tags": ["red car", "blue"],
        "numbers": [1, 5],
        "user": {"name": "ada", "bio": "likes graphs", "home": {"zip": 7}},
        "attrs": [("color", "red"), ("size", "10")],
        "counts": [("a", 5)],
        "client": "10.1.2.3",
    },
    {
        "id": 2,
        "tags": ["x" * 70_000],
        "numbers": [],
        "user": {"name": None, "bio": None, "home": None},
        "attrs": [("color", LONG)],
        "counts": [("a", -5), ("b", 9)],
        "client": "2001:db8::5",
    },
    dict.fromkeys(SCHEMA.names) | {"id": 3},
    {
        "id": 4,
        "tags": ["car", "red", None],
        "numbers": [None, 7],
        "user": {"name": "Bob", "bio": "red", "home": {"zip": 8}},
        "attrs": [("x.y", ""), ("gone", None)],
        "counts": [],
        "client": "192.168.0.1",
    },
]


@pytest.fixture(scope="module")
def table() -> it.Table:
    settings = {f"{IP}client": "ip"}
    rows = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    it.write("memory://nested-types", rows, text=["tags", "user.bio"], settings=settings)
    return it.open("memory://nested-types")


def ids(table: it.Table, where: str) -> list[int]:
    found = sorted(table.to_arrow(where=where, columns=["id"]).column("id").to_pylist())
    assert table.count(where=where) == len(found)
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tags:red", [1, 4]),
        ('tags:"red car"', [1]),
        ('tags:"car red"', []),
        ('tags:"car red"~1', [4]),
        ("tags:" + "x" * 70_000, [2]),
        ("tags:xxx*", [2]),
        ("numbers:5", [1]),
        ("numbers:[5 TO *]", [1, 4]),
        ("user.name:ada", [1]),
        ("USER.NAME:ada", [1]),
        ("user.name:a*", [1]),
        ("user.home.zip:[7 TO 7]", [1]),
        ("user.name:*", [1, 4]),
        ("NOT user.name:ada", [2, 3, 4]),
        ("attrs.color:red", [1]),
        (f"attrs.color:{LONG}", [2]),
        (f"attrs.color:{LONG}y", []),
        ("attrs.COLOR:red", []),
        ('attrs.x.y:""', [4]),
        ("attrs.color:*", [1, 2]),
        ("attrs.gone:*", []),
        ("attrs.color: IN [red blue]", [1]),
        ("counts.a:5", [1]),
        ("counts.a:<0", [2]),
        ("counts.a:[* TO 9]", [1, 2]),
        ("counts.b:{9 TO *]", []),
        ("counts.a:>9223372036854775806", []),
        ("red", [1, 4]),
        ("client:10.0.0.0/8", [1]),
        ("client:10.1.2.3", [1]),
        ('client:"2001:db8::/32"', [2]),
        ("client:[10.0.0.0 TO 192.168.0.0/16]", [1, 4]),
        ("client:[* TO 10.255.255.255]", [1]),
        ("client:{10.1.2.3 TO *]", [2, 4]),
        ("client: IN [10.1.2.3 192.168.0.0/16]", [1, 4]),
        ("client:*", [1, 2, 4]),
    ],
)
def test_a_search_finds_what_is_inside(table: it.Table, query: str, expected: list[int]) -> None:
    assert ids(table, f"* INDEXQUERY '{query}'") == expected


def test_null_elements_do_not_move_the_words_after_them() -> None:
    values = [["a b", "c"], ["a b", None, "c"], ["a b", "", "c"], [None, "a", "b c"]]
    rows = pa.table({"id": range(4), "t": pa.array(values, pa.list_(pa.string()))})
    it.write("memory://null-elements", rows, text=["t"])
    table = it.open("memory://null-elements")
    assert ids(table, "t TEXTSEARCH '\"b c\"~1'") == [0, 1, 3]  # by the index
    assert ids(table, "t TEXTSEARCH '\"a b c\"~1'") == [0, 1, 3]  # by the rows
    assert ids(table, "t TEXTSEARCH '\"a* b c\"~1'") == [0, 1, 3]


def test_an_array_has_a_value_if_an_element_is_not_null() -> None:
    least = -(1 << 63)
    columns = {
        "texts": (pa.string(), [[], [None], ["red", None], None, ["--"], ["", "a"]]),
        "strings": (pa.string(), [[], [None], [""], None, [None, "x"], ["y" * 70_000]]),
        "longs": (pa.int64(), [[], [None], [least], None, [None, 0], [5]]),
        "flags": (pa.bool_(), [[], [None], [False], None, [None, True], [True]]),
        "wide": (pa.decimal128(38, 0), [[], [None], [-(10**38) + 1], None, [None, 0], [1]]),
        "days": (pa.date32(), [[], [None], [-(1 << 20)], None, [None, 0], [1]]),
    }
    arrays = {name: pa.array(values, pa.list_(kind)) for name, (kind, values) in columns.items()}
    it.write("memory://array-values", pa.table({"id": range(6), **arrays}), text=["texts"])
    table = it.open("memory://array-values")
    for name in columns:
        with_value = [2, 5] if name == "texts" else [2, 4, 5]
        for query in (f"{name}:*", f"_exists_:{name}", f"{name}:[* TO *]"):
            assert ids(table, f"* INDEXQUERY '{query}'") == with_value, query
        assert ids(table, f"* INDEXQUERY 'NOT {name}:*'") == sorted({*range(6)} - {*with_value})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("array_contains(tags, 'blue')", [1]),
        ("NOT array_contains(tags, 'car')", [1, 2]),
        ("array_contains(numbers, 7)", [4]),
        ("NOT array_contains(numbers, 1)", [2]),
        ("user.name = 'ada'", [1]),
        ("NOT user.name = 'ada'", [4]),
        ("user.name IS NULL", [2, 3]),
        ("user.home IS NULL", [2, 3]),
        ("user.home.zip > 7", [4]),
        ("user.name IN ('Bob', NULL)", [4]),
        ("user.bio TEXTSEARCH 'red'", [4]),
        ("user INDEXQUERY 'ada'", [1]),
        ("NOT tags TEXTSEARCH 'car'", [2]),
        ("client = '10.1.2.3'", [1]),
        ("client FIELDMATCH '10.0.0.0/8'", [1]),
        ("attrs IS NOT NULL", [1, 2, 4]),
    ],
)
def test_a_condition_reaches_inside(table: it.Table, condition: str, expected: list[int]) -> None:
    assert ids(table, condition) == expected


@pytest.mark.parametrize(
    ("condition", "error", "advice"),
    [
        ("tags = 'x'", PredicateError, "array_contains"),
        ("user.nme = 'x'", PredicateError, "no field 'user.nme'"),
        ("array_contains(id, 1)", PredicateError, "needs an array"),
        ("* INDEXQUERY 'attrs:red'", QueryError, "attrs.key:value"),
        ("* INDEXQUERY 'attrs.color:r*'", QueryError, "without wildcards"),
        ("* INDEXQUERY 'attrs.size:[1 TO 5]'", QueryError, "strings"),
        ("* INDEXQUERY 'counts.a:x'", QueryError, "not a whole number"),
        ("* INDEXQUERY 'client:10.*'", QueryError, "10.0.0.0/8"),
        ("* INDEXQUERY 'client:foo'", QueryError, "not an address"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_advice(
    table: it.Table, condition: str, error: type[Exception], advice: str
) -> None:
    with pytest.raises(error, match=re.escape(advice)):
        table.count(where=condition)


def test_values_that_have_no_order_are_not_aggregated(table: it.Table) -> None:
    for ask in (table.stats, table.top_values):
        with pytest.raises(InputError, match="array<string>"):
            ask("tags")


def test_only_addresses_are_written_to_an_ip_column() -> None:
    for text in ("nope", "10.0.0.0/8", "", "fe80::1%eth0"):
        with pytest.raises(SchemaError, match="not an IP address"):
            it.write("memory://bad-address", {"client": [text]}, settings={f"{IP}client": "ip"})
    with pytest.raises(ConfigError, match="only strings"):
        it.write("memory://bad-address", {"n": [1]}, settings={f"{IP}n": "ip"})


def test_random_networks_and_ranges_find_the_addresses_that_are_in_them() -> None:
    rng = random.Random(5)
    texts = [str(ip_address(rng.getrandbits(32))) for _ in range(40)]
    texts += [str(ip_address(rng.getrandbits(128))) for _ in range(40)]
    texts += ["0.0.0.0", "255.255.255.255", "::", "ffff:" * 7 + "ffff", "::ffff:1.2.3.4"]
    it.write("memory://addresses", {"id": range(len(texts)), "a": texts}, settings={f"{IP}a": "ip"})
    table = it.open("memory://addresses")

    def number(text: str) -> int:
        address = ip_address(text)
        return int(address) | (0xFFFF << 32 if address.version == 4 else 0)

    for text in texts:
        width = 32 if ip_address(text).version == 4 else 128
        network = ip_network(f"{text}/{rng.randint(0, width)}", strict=False)
        low, high = number(str(network[0])), number(str(network[-1]))
        expected = [i for i, other in enumerate(texts) if low <= number(other) <= high]
        assert ids(table, f"""a INDEXQUERY '"{network}"'""") == expected, network
        other = rng.choice(texts)
        first, last = sorted([text, other], key=number)
        expected = [i for i, t in enumerate(texts) if number(first) <= number(t) < number(last)]
        query = f'a:["{first}" TO "{last}"}}'
        assert ids(table, f"a INDEXQUERY '{query}'") == expected, query


def test_paths_that_have_two_meanings_are_refused() -> None:
    struct = pa.array([{"b": 1}])
    with pytest.raises(SchemaError, match="'a.b'"):
        it.write("memory://ambiguous", pa.table({"a": struct, "A.B": [1]}))


def test_tables_without_new_types_are_written_as_before() -> None:
    it.write("memory://plain-types", {"n": [1], "s": ["x"]}, text=["s"])
    table = it.open("memory://plain-types")
    assert table.protocol.reader_features is None
    schema = TableSchema.from_arrow(pa.schema({"n": pa.int64(), "s": pa.string()}))
    assert FieldMapping.of(schema, (), {"s": "text"}).to_json() == (
        '[{"name":"n","type":"i64","sparkType":"long","indexed":false,"fast":true,"stored":false},'
        '{"name":"s","type":"text","sparkType":"string","indexed":true,"fast":false,"stored":false,"tokenizer":"words2"}]'
    )


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        ({"c": [[1]]}, {}),
        ({"c": pa.array([1], pa.timestamp("us"))}, {}),
        ({"c": pa.nulls(1)}, {}),
        ({"c": ["::1"]}, {f"{IP}c": "ip"}),
    ],
)
def test_a_release_without_these_types_refuses_the_table(
    rows: dict[str, Any], settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"memory://extended-{len(str(rows))}"
    it.write(uri, {"n": [1]})
    assert it.open(uri).protocol.reader_features is None
    it.write(uri, rows, mode="overwrite", settings=settings)
    assert it.open(uri).protocol.reader_features == {protocol.EXTENDED_TYPES}
    monkeypatch.setattr(protocol, "FEATURES", protocol.FEATURES - {protocol.EXTENDED_TYPES})
    with pytest.raises(ProtocolError, match="extendedTypes"):
        protocol.check_readable(it.open(uri).protocol, uri)


def test_rows_and_columns_of_python_values_are_written() -> None:
    it.write("memory://python-rows", [{"a": 1, "b": [1.5]}, {"b": None, "c": {"d": "x"}}])
    it.write("memory://python-rows", {"a": [3], "b": pa.nulls(1), "c": pa.nulls(1)})
    assert it.open("memory://python-rows").to_arrow().sort_by("a").to_pylist() == [
        {"a": 1, "b": [1.5], "c": None},
        {"a": 3, "b": None, "c": None},
        {"a": None, "b": None, "c": {"d": "x"}},
    ]
    for data in ([], [1], {"a": "text"}, {"a": [1, "x"]}, {"a": [1], "b": [1, 2]}, [{"a": object()}]):
        with pytest.raises(InputError, match=r"list of dictionaries"):
            it.write("memory://no-rows", data)
