"""Splits with right checksums and a wrong index: reading them raises CorruptTableError, whatever the engine does."""

from __future__ import annotations

from pathlib import Path

import orjson
import pyarrow as pa
import pytest

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.predicates import parse_where
from indextables.schema import FieldMapping, TableSchema
from indextables.split import SplitWriter, open_split
from indextables.split.container.bundle import open_bundle, write_bundle
from indextables.split.index.engine import engine_errors
from indextables.storage import open_store
from support import fuzz_splits
from support.faults import MemoryStore
from support.fuzz_splits import MEMBERS, SPLIT, split_file, split_member

NUMBERS = {name: number for number, name in enumerate(fuzz_splits._NAMES)}


def member(suffix: str) -> str:
    return next(name for name in MEMBERS if name.endswith(suffix))


@pytest.mark.parametrize("suffix", [".idx", ".pos", ".term", ".fast", ".fieldnorm", "meta.json"])
@pytest.mark.parametrize("keep", [0, 1, 8, 40])
def test_an_index_file_that_is_cut_is_a_damaged_split(suffix: str, keep: int) -> None:
    name = member(suffix)
    with pytest.raises(CorruptTableError, match=r"x\.split is damaged"):
        split_member(bytes([NUMBERS[name]]) + MEMBERS[name][:keep])


@pytest.mark.parametrize("suffix", [".idx", ".term", ".fast"])
def test_an_index_file_whose_inside_is_wrong_is_a_damaged_split(suffix: str) -> None:
    name = member(suffix)
    raw = MEMBERS[name]
    with pytest.raises(CorruptTableError, match=r"x\.split is damaged"):
        split_member(bytes([NUMBERS[name]]) + b"\xff" * (len(raw) // 2) + raw[len(raw) // 2 :])


def test_a_panic_of_the_engine_is_a_damaged_split_and_other_base_exceptions_pass() -> None:
    class PanicException(BaseException):
        __module__ = "pyo3_runtime"

    store = MemoryStore()
    store.put("x.split", SPLIT)
    bundle = open_bundle(store, "x.split")
    with pytest.raises(CorruptTableError, match="x.split is damaged.*boom"), engine_errors(bundle):
        raise PanicException("boom")
    for other in (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        with pytest.raises(other), engine_errors(bundle):
            raise other


def test_an_index_that_has_other_rows_than_the_split_is_damaged() -> None:
    """The engine allocates memory for that many documents, and aborts the process if it cannot."""
    name = "meta.json"
    meta = orjson.loads(MEMBERS[name])
    meta["segments"][0]["max_doc"] = 1 << 31
    with pytest.raises(CorruptTableError):
        split_member(bytes([NUMBERS[name]]) + orjson.dumps(meta))


def test_an_index_with_deleted_documents_is_damaged() -> None:
    """Splits that this package writes have no deleted documents, and one document for each row."""
    meta = orjson.loads(MEMBERS["meta.json"])
    meta["segments"][0]["deletes"] = {"num_deleted_docs": 10, "opstamp": 9}
    alive = (60).to_bytes(4, "little") + ((1 << 50) - 1).to_bytes(8, "little")
    footer = MEMBERS[member(".idx")][MEMBERS[member(".idx")].index(b'{"version"') :]
    path = fuzz_splits._ROOT / "deleted.split"
    changed = {"meta.json": orjson.dumps(meta), member(".idx").replace(".idx", ".9.del"): alive + footer}
    write_bundle(path, [], (MEMBERS | changed).items())
    with pytest.raises(CorruptTableError, match="does not claim one document for each"):
        split_file(path.read_bytes())


def test_members_that_overlap_are_refused() -> None:
    """A split of one megabyte could fill a disk when it is extracted."""
    document = {"files": {f"m{n}": {"start": 0, "end": 1000} for n in range(50)}}
    raw = orjson.dumps(document)
    head = (403881646).to_bytes(4, "little") + (1).to_bytes(4, "little")
    split = bytes(1000) + head + raw + (len(raw) + 8).to_bytes(4, "little") + bytes(4)
    store = MemoryStore()
    store.put("x.split", split)
    with pytest.raises(CorruptTableError, match="overlap"):
        open_split(store, "x.split")


def test_lengths_that_the_file_does_not_have_take_no_memory() -> None:
    with pytest.raises(CorruptTableError):
        split_file(SPLIT[:-8] + b"\xff\xff\xff\x7f" + bytes(4))
    with pytest.raises(CorruptTableError):
        split_file(SPLIT[:-4] + b"\xff\xff\xff\xff")


def test_the_seed_itself_is_read() -> None:
    write_bundle(fuzz_splits._ROOT / "same.split", [], MEMBERS.items())
    split_file((fuzz_splits._ROOT / "same.split").read_bytes())


CLAIMS = (
    b"\x7f" * 5 + b"\x81",  # the number of layers of the skip index
    b"\x81\x7f\x7f\x7f\x7f\x7f\x81",
)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_document_store_of_a_split_of_ours_is_never_opened(claim: bytes) -> None:
    """The engine would allocate terabytes, and abort the process."""
    name = member(".store")
    content, footer = MEMBERS[name].split(b'{"version"')
    start = int.from_bytes(content[-24:-16], "little")
    crafted = content[:start] + claim + content[-28:] + b'{"version"' + footer
    split_member(bytes([NUMBERS[name]]) + crafted)
    split_member(bytes([NUMBERS[name]]) + b"no store at all")


@pytest.mark.parametrize("claim", [b"\xff\xff\xff\xff\xff\x7f", b"\xff\xff\xff\x01", b"\x7f"])
def test_a_directory_of_columns_that_claims_more_than_it_has_is_damaged(claim: bytes) -> None:
    """The engine would read past the end of the block until memory is exhausted."""
    name = member(".fast")
    raw = MEMBERS[name]
    at = raw.index(b"__row") - 5
    assert raw[at] == 3, "two columns have three ends"
    crafted = raw[:at] + claim + raw[at + len(claim) :]
    with pytest.raises(CorruptTableError, match="columns"):
        split_member(bytes([NUMBERS[name]]) + crafted)


def test_many_columns_lie_in_compressed_blocks(tmp_path: Path) -> None:
    batch = pa.record_batch({f"a_rather_long_name_{n}": pa.array([n, 2]) for n in range(1500)})
    schema = TableSchema.from_arrow(batch.schema)
    settings = Settings({keys.CACHE_DIRECTORY.key: str(tmp_path / "cache")})
    writer = SplitWriter(schema, FieldMapping.of(schema, (), {}), settings=settings, directory=tmp_path)
    writer.write(batch)
    path = writer.finish().path
    with open_split(open_store(str(tmp_path)), path.name, settings=settings) as split:
        assert split.count(parse_where("a_rather_long_name_7 = 7", schema)) == 1
