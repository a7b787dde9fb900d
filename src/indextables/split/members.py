"""The names of what a split of ours holds besides the files of its index."""

from __future__ import annotations

from typing import Final

ROWS: Final = "rows-0.parquet"
MANIFEST: Final = "columns.manifest"
MAPPING: Final = "field_mapping.json"
CHECKSUMS: Final = "checksums.json"

CHUNK_CHECKSUMS: Final = ".crc32"
"""After the name of a Parquet member: the member with the checksums of its column chunks."""
