"""The parts of a split and their sizes: the files of its index, its rows, its Bloom filters and its footers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from indextables.split.container.bundle import BLOOM_COLUMNS, CHUNK_CHECKSUMS, PAGE_DIRECTORY, Bundle

_BY_SUFFIX: Final = {
    ".fast": "fastfield",
    ".fieldnorm": "fieldnorm",
    ".term": "term",
    ".idx": "postings",
    ".pos": "positions",
    ".store": "store",
    ".filter": "bloom",
    ".parquet": "rows",
    f".parquet{CHUNK_CHECKSUMS}": "rows_checksums",
    f".parquet{PAGE_DIRECTORY}": "rows_pages",
}
_METADATA: Final = "metadata"
_ROWS_FOOTER: Final = "rows_footer"
_FOOTER: Final = "footer"


@dataclass(frozen=True)
class Component:
    """A part of a split. `field_name` is the column that it belongs to, None if it holds several."""

    key: str
    type: str
    size: int
    field_name: str | None = None


def components(bundle: Bundle) -> list[Component]:
    """Return the parts of a split in the order of the file, without gaps: their sizes add up to its own.

    CorruptTableError if the split names the columns of its Bloom filters wrongly.
    """
    columns = _bloom_columns(bundle)
    parts: list[Component] = []
    end = 0
    for member in sorted(bundle.members.values(), key=lambda member: member.offset):
        parts += _gap(end, member.offset)
        end = member.offset + member.length
        footer = bundle.parquet_footers.get(member.name)
        of_footer = 0 if footer is None else footer.length
        parts.append(
            Component(member.name, _type(member.name), member.length - of_footer, columns.get(member.name))
        )
        if footer is not None:
            parts.append(Component(footer.name, _ROWS_FOOTER, footer.length))
    return [
        *parts,
        *_gap(end, bundle.footer_start),
        Component(_FOOTER, _FOOTER, bundle.size - bundle.footer_start),
    ]


def _type(name: str) -> str:
    return next((kind for suffix, kind in _BY_SUFFIX.items() if name.endswith(suffix)), _METADATA)


def _gap(start: int, end: int) -> list[Component]:
    """Return the bytes between two members of another writer's split, which may leave some out of its table."""
    return [Component(f"bytes {start} to {end}", "unnamed", end - start)] if end > start else []


def _bloom_columns(bundle: Bundle) -> dict[str, str]:
    """Return the column of each member that is a Bloom filter."""
    if BLOOM_COLUMNS not in bundle.members:
        return {}
    try:
        names = orjson.loads(bundle.read(BLOOM_COLUMNS))
        return {str(member): str(column) for column, member in names.items()}
    except (ValueError, AttributeError) as reason:
        raise bundle.damaged(f"{BLOOM_COLUMNS} cannot be read ({reason!r})") from reason
