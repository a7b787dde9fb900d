"""The names of what a split of ours holds besides the files of its index."""

from __future__ import annotations

from typing import Final

MANIFEST: Final = "columns.manifest"
MAPPING: Final = "field_mapping.json"
CHECKSUMS: Final = "checksums.json"
BLOOM_COLUMNS: Final = "bloom.json"

CHUNK_CHECKSUMS: Final = ".crc32"
"""After the name of a Parquet member: the member with the checksums of its column chunks."""

PAGE_DIRECTORY: Final = ".pages"
"""After the name of a Parquet member: the member that says where its pages lie."""


def rows_member(group: int) -> str:
    """The Parquet file of a column group."""
    return f"rows-{group}.parquet"
