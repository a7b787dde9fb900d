"""The container of a split: its layout, the names of its members, their checksums and Bloom filters."""

from indextables.split.container.blooms import SplitBlooms, bloom_members
from indextables.split.container.bundle import (
    BLOOM_COLUMNS,
    CHUNK_CHECKSUMS,
    MANIFEST,
    MAPPING,
    PAGE_DIRECTORY,
    RANKING,
    ROW_RUNS,
    Bundle,
    Member,
    Written,
    open_bundle,
    rows_member,
    write_bundle,
)
from indextables.split.container.composition import Component, components

__all__ = [
    "BLOOM_COLUMNS",
    "CHUNK_CHECKSUMS",
    "MANIFEST",
    "MAPPING",
    "PAGE_DIRECTORY",
    "RANKING",
    "ROW_RUNS",
    "Bundle",
    "Component",
    "Member",
    "SplitBlooms",
    "Written",
    "bloom_members",
    "components",
    "open_bundle",
    "rows_member",
    "write_bundle",
]
