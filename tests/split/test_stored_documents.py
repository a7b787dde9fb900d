"""The file of stored documents: wrong lengths are rejected before the engine opens it."""

from __future__ import annotations

import zlib
from pathlib import Path

import orjson
import pytest
import tantivy

from indextables.config import Settings, keys
from indextables.errors import CorruptTableError
from indextables.schema import Field, TableSchema
from indextables.split import RowRequest, open_split
from indextables.split.container.bundle import open_bundle
from indextables.split.index_cache.document_store_check import check_store, empty_store
from indextables.storage import open_store
from support.foreign import pack, write_foreign

ROWS = 3000
END = 28
HUGE = b"\x7f" * 5 + b"\x81"
"""A variable-length integer of at least 2**35, for more memory than there is."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the members of a split with enough blocks of documents for a skip index with layers."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("n", stored=True, fast=True)
    builder.add_text_field("t", stored=True, tokenizer_name="raw")
    path = tmp_path_factory.mktemp("stored") / "a.split"
    rows = [{"n": n, "t": f"{n:x}" * 80} for n in range(ROWS)]
    write_foreign(path, builder.build(), [rows])
    bundle = open_bundle(open_store(str(path.parent)), path.name)
    return {name: bundle.read(name) for name in bundle.members}


def name_in(files: dict[str, bytes]) -> str:
    return next(name for name in files if name.endswith(".store"))


def parts(files: dict[str, bytes]) -> tuple[bytes, bytes, bytes]:
    """Return the blocks, the skip index and the end of the file."""
    content = files[name_in(files)].split(b'{"version"')[0]
    blocks = int.from_bytes(content[-END + 4 : -END + 12], "little")
    return content[:blocks], content[blocks:-END], content[-END:]


def sealed(content: bytes) -> bytes:
    """Return the content with Tantivy's footer and a right checksum."""
    version = {"major": 0, "minor": 27, "patch": 0, "index_format_version": 7}
    footer = orjson.dumps({"version": version, "crc": zlib.crc32(content)})
    return content + footer + len(footer).to_bytes(4, "little") + (1337).to_bytes(4, "little")


def read(files: dict[str, bytes], store: bytes, tmp_path: Path) -> int:
    path = pack((files | {name_in(files): store}).items(), tmp_path / "x.split")
    settings = Settings({keys.CACHE_DIRECTORY.key: str(tmp_path / "cache")})
    schema = TableSchema((Field("n", "long"), Field("t", "string")))
    with open_split(open_store(str(tmp_path)), path.name, settings=settings, schema=schema) as split:
        return sum(batch.num_rows for batch in split.rows(RowRequest(("n", "t"))))


def test_a_store_in_layers_is_read(files: dict[str, bytes], tmp_path: Path) -> None:
    blocks, index, end = parts(files)
    assert index[0] & 0x7F > 1, "its index has layers"
    assert read(files, sealed(blocks + index + end), tmp_path) == ROWS


def test_lengths_that_a_store_does_not_have_are_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    blocks, index, end = parts(files)
    far = end[:4] + (1 << 60).to_bytes(8, "little") + end[12:]
    large_block = (0xFFFFFFF0).to_bytes(4, "little") + blocks[4:]
    beyond_ratio = (1 << 29).to_bytes(4, "little") + blocks[4:]
    crafted = {
        "layers": blocks + HUGE + end,
        "a layer": blocks + b"\x81" + HUGE + end,
        "blocks": blocks + b"\x81\x88" + HUGE + b"\x80\x80" + end,
        "block": blocks + b"\x81\x8a\x81\x80\x80\x81" + HUGE + end,
        "more than the file has": blocks + index + far,
        "claims to hold 4294967280": large_block + index + end,
        f"claims to hold {1 << 29}": beyond_ratio + index + end,
        "ends too early": blocks + b"\x01" * 4 + end,
        "shorter": b"",
    }
    for number, (message, content) in enumerate(crafted.items()):
        with pytest.raises(CorruptTableError, match=f"store. cannot be read.*{message}"):
            read(files, sealed(content), tmp_path / str(number))


def test_the_empty_store_is_one(tmp_path: Path) -> None:
    (tmp_path / "empty.store").write_bytes(empty_store())
    check_store(tmp_path / "empty.store")
