"""The manifest of a column-group store: what can be asked of it, and bytes that are none."""

import contextlib
import copy
import pickle
import zlib
from collections import UserDict
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.codec import decode, encode, format_of
from indextables.columns.schemas import schema_text
from indextables.errors import CorruptTableError, InputError
from support.columns_values import FULL, manifests, number

STREAM = bytes.fromhex("acb1cad409")


@pytest.mark.spec(
    "Empty delta logs and stats handling",
    "Delta log filtering by type",
    "Multiple delta log entries with different types",
    "Python bindings for Transaction and Manifest delta logs/stats",
)
def test_delta_logs_are_given_in_order_and_by_type():
    assert [log.path for log in FULL.get_delta_logs()] == ["d1", "d2", "d3"]
    for kind, path in (
        (DeltaLogType.PRIMARY_KEY, "d1"),
        (DeltaLogType.POSITIONAL, "d2"),
        (DeltaLogType.EQUALITY, "d3"),
    ):
        assert [log.path for log in FULL.get_delta_logs_by_type(kind)] == [path]
    assert Manifest().get_delta_logs() == Manifest().get_delta_logs_by_type(DeltaLogType.EQUALITY) == []


@pytest.mark.spec(
    "Empty delta logs and stats handling",
    'Typical stats keys: "pk.delete", "bloomfilter", "bm25"',
    "Python bindings for Transaction and Manifest delta logs/stats",
)
def test_stats_are_given_by_key_and_unknown_ones_are_named():
    assert FULL.get_stat("bm25") == ["s1", "s2"]
    assert FULL.get_all_stats() == {"bloomfilter": ["z"], "bm25": ["s1", "s2"], "pk.delete": []}
    assert Manifest().get_all_stats() == {}
    with pytest.raises(
        InputError, match="no statistic 'bm26' in the manifest; there are 'bloomfilter', 'bm25'"
    ):
        FULL.get_stat("bm26")
    with pytest.raises(InputError, match="there are none"):
        Manifest().get_stat("x")


@pytest.mark.spec("ColumnGroups delegation methods work correctly")
def test_column_groups_are_found_by_number_and_by_column():
    assert FULL.columns == ("id", "vec", "text")
    assert FULL.num_rows == FULL.column_groups[1].num_rows == 200
    assert FULL.column_group(1).columns == ("text",)
    assert FULL.column_group_for("vec") == FULL.column_group(0)
    assert FULL.column_group_for("nothing") is None
    for index in (2, -1):
        with pytest.raises(InputError, match=f"no column group {index}: the manifest has 2"):
            FULL.column_group(index)
    assert (Manifest().num_rows, Manifest().columns) == (0, ())


@pytest.mark.spec("ColumnGroups delegation methods work correctly")
def test_builders_return_another_manifest():
    group = ColumnGroup(("id",), "parquet", (ColumnGroupFile("a", 0, 3),))
    index, lob = Index("id", "sort", "i"), LobFile("l", 1, 2, 3, 4)
    built = (
        Manifest()
        .with_column_group(group)
        .with_delta_log("d1", 3)
        .with_delta_log("d2", 1, DeltaLogType.EQUALITY)
        .with_stat("bm25", ["old"])
        .with_stat("bm25", ["s"], {"k": "v"})
        .with_index(index)
        .with_lob_file(lob)
    )
    assert built == Manifest(
        (group,),
        (DeltaLog("d1", 3), DeltaLog("d2", 1, DeltaLogType.EQUALITY)),
        {"bm25": Statistics(("s",), {"k": "v"})},
        (index,),
        (lob,),
    )
    before = Manifest(stats={"a": Statistics(())})
    before.with_stat("b", [])
    assert list(before.stats) == ["a"]


def test_maps_are_equal_by_content_whatever_holds_them():
    entries = {"a": "1", "b": "2"}
    others = [MappingProxyType(entries), UserDict(entries), dict(reversed(entries.items()))]
    for other in others:
        assert ColumnGroupFile("p", properties=entries) == ColumnGroupFile("p", properties=other)
        assert Manifest(stats={"s": Statistics((), other)}) == Manifest(stats={"s": Statistics((), entries)})
        assert ColumnGroupFile("p", properties=other) != ColumnGroupFile("p", properties={"a": "1"})
    assert Manifest() != Manifest(delta_logs=(DeltaLog("d", 1),))


def test_a_manifest_travels():
    for manifest in (FULL, Manifest(), Manifest((ColumnGroup((), files=(ColumnGroupFile("p"),)),))):
        assert pickle.loads(pickle.dumps(manifest)) == copy.deepcopy(manifest) == manifest


def test_a_manifest_shows_itself_in_a_line():
    assert repr(FULL) == (
        "Manifest(200 rows: [id, vec] in 2 parquet files; [text] in 1 vortex file; 3 delta logs of 303 entries; "
        "stats bloomfilter, bm25, pk.delete; indexes hnsw of vec, sort of id; 1 large-object file)"
    )
    assert repr(Manifest()) == "Manifest()"
    wide = Manifest((ColumnGroup(tuple(f"c{i}" for i in range(1000))),))
    assert repr(wide) == "Manifest(0 rows: [c0, c1, c2, c3, c4, c5, c6, c7, and 992 more] in 0 parquet files)"


def test_a_notebook_is_shown_a_table_in_which_no_name_is_markup():
    page = FULL._repr_html_()
    for shown in ("id, vec", "POSITIONAL, 300 entries", "bm25", "hnsw, i1", "10 rows, 99 bytes"):
        assert shown in page
    evil = "<script>alert(1)</script>\udcff"
    hostile = Manifest(
        (ColumnGroup((evil,), evil),), (DeltaLog(evil, 1),), {evil: Statistics((evil,))},
        (Index(evil, evil, evil),), (LobFile(evil, 1, 1, 1, 1),),
    )  # fmt: skip
    assert "<script" not in hostile._repr_html_()
    hostile._repr_html_().encode()
    many = Manifest(delta_logs=tuple(DeltaLog(f"d{i}", 1) for i in range(5000)))
    assert "and 4,900 more" in many._repr_html_()
    assert len(many._repr_html_()) < 10_000


# Bytes that are no manifest.


@pytest.mark.parametrize("version", [1, 2, 3, 6])
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_truncated_manifest_is_refused(version: int, data: st.DataObject):
    raw = data.draw(manifests(version)).to_bytes(version)
    cut = data.draw(st.one_of(st.integers(0, len(raw) - 1), st.integers(max(0, len(raw) - 40), len(raw) - 1)))
    with pytest.raises(CorruptTableError):
        Manifest.from_bytes(raw[:cut])


def test_every_cut_of_a_container_is_refused():
    raw = FULL.to_bytes(6)
    for size in range(len(raw)):
        with pytest.raises(CorruptTableError):
            decode(raw[:size])


@pytest.mark.spec("Backward compatibility: reading old manifest format")
@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "the manifest is empty"),
        (b"Obj", "3 bytes are too few"),
        (b"PAR1....", "magic number"),
        (b'{"column_groups":[]}', "magic number"),
        (b"\x02\x04\x69\x64" * 5, "magic number"),
        (STREAM, "truncated"),
        (STREAM + number(0), "MILV stream of version 0"),
        (STREAM + number(4) + b"\0" * 9, "version 4; there are streams of versions 1 to 3 and Avro containers"),
        (STREAM + number(-1), "version -1"),
        (b"Obj\x01", "truncated"),
        (b"Obj\x01\0" + b"x" * 16, "without a schema"),
    ],
)  # fmt: skip
def test_foreign_bytes_and_other_versions_are_named(raw: bytes, why: str):
    for read in (decode, Manifest.from_bytes):
        with pytest.raises(CorruptTableError, match=why):
            read(raw)


def test_the_format_of_foreign_bytes_is_refused_too():
    for raw in (b"", b"PAR1", STREAM, STREAM + number(7), b"Obj\x01", b"Obj\x01\0" + b"x" * 16):
        with pytest.raises(CorruptTableError):
            format_of(raw)


HUGE = number((1 << 63) - 1)
LEAST = number(-(1 << 63))


@pytest.mark.parametrize(
    "body",
    [HUGE, LEAST, LEAST + HUGE, b"\xff" * 30, b"\xff" * 9 + b"\x7f", number(-5), number(1 << 20),
     number(1) + number(-1), number(1) + number(1) + number(-3), number(1) + number(1) + HUGE,
     number(-1) + number(3) + number(1) + HUGE],
    ids=bytes.hex,
)  # fmt: skip
def test_huge_counts_and_negative_lengths_cost_nothing(body: bytes):
    sync = bytes(16)
    for raw in (
        STREAM + number(1) + body,
        STREAM + number(3) + body,
        container(number(1) + number(len(body)) + body + sync),
        container(number(1) + body + sync),
        container(body + number(5) + bytes(5) + sync),
        b"Obj\x01" + body,
    ):
        with pytest.raises(CorruptTableError):
            decode(raw)


def container(blocks: bytes, codec: bytes = b"null") -> bytes:
    """A header of version 6 and what is given, with a sync marker of zeros."""
    schema = schema_text(6).encode()
    entries = [b"avro.codec", codec, b"avro.schema", schema]
    return b"Obj\x01\x04" + b"".join(number(len(e)) + e for e in entries) + b"\0" + bytes(16) + blocks


def test_a_container_has_a_record_whole_and_nothing_behind_it():
    one = number(1) + number(5) + bytes(5)
    assert decode(container(one + bytes(16))) == Manifest()
    assert decode(container(b"\0\0" + bytes(16) + one + bytes(16))) == Manifest()  # after an empty block
    for blocks, why in (
        (b"", "without a record"),
        (b"\0\0" + bytes(16), "without a record"),
        (one + b"x" * 16, "no sync marker"),
        (one + bytes(15), "no sync marker"),
        (number(1) + number(6) + bytes(6) + bytes(16), "ends at byte 5 of a record of 6"),
        (number(1) + number(4) + bytes(4) + bytes(16), "truncated"),
        (number(-1) + number(5) + bytes(5) + bytes(16), "block of -1 records"),
    ):
        with pytest.raises(CorruptTableError, match=why):
            decode(container(blocks))


def test_compressed_records_grow_only_so_far():
    def squeezed(plain: bytes) -> bytes:
        stream = zlib.compressobj(9, wbits=-15)
        data = stream.compress(plain) + stream.flush()
        return container(number(1) + number(len(data)) + data + bytes(16), b"deflate")

    assert decode(squeezed(bytes(5))) == Manifest()
    with pytest.raises(CorruptTableError, match="inflates to more than 1[67] MB"):
        decode(squeezed(bytes(40 << 20)))
    with pytest.raises(CorruptTableError, match="'lz9', which this release cannot read"):
        decode(container(number(1) + number(5) + bytes(5) + bytes(16), b"lz9"))


@pytest.mark.spec("All delta log types: PRIMARY_KEY, POSITIONAL, EQUALITY")
def test_a_delta_log_of_unknown_type_is_refused():
    raw = STREAM + number(1) + number(0) + number(1) + number(1) + b"d" + number(3) + number(1) + bytes(2)
    with pytest.raises(CorruptTableError, match="delta log of unknown type 3 \\('d'\\)"):
        decode(raw)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_other_bytes_are_an_error_of_ours(junk: bytes):
    for raw in (
        junk,
        STREAM + number(1) + junk,
        STREAM + number(3) + junk,
        container(junk),
        encode(FULL)[:2600] + junk,
    ):
        with contextlib.suppress(CorruptTableError):
            decode(raw)
