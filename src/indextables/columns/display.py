"""A manifest for people: one line for a prompt, a table for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from indextables.columns.manifest import ColumnGroup, Manifest

_MOST_NAMES: Final = 8
_MOST_ROWS: Final = 100


def in_a_line(manifest: Manifest) -> str:
    """Return the manifest in one line, for `repr`."""
    groups = [f"[{_names(group.columns)}] in {_files(group)}" for group in manifest.column_groups]
    parts = [f"{manifest.num_rows:,} rows: {_names(groups, '; ')}"] if groups else []
    if manifest.delta_logs:
        parts.append(f"{_count(len(manifest.delta_logs), 'delta log')} of {_entries(manifest)}")
    if manifest.stats:
        parts.append(f"stats {_names(list(manifest.stats))}")
    if manifest.indexes:
        named = [f"{index.index_type} of {index.column_name}" for index in manifest.indexes]
        parts.append(f"indexes {_names(named)}")
    if manifest.lob_files:
        parts.append(_count(len(manifest.lob_files), "large-object file"))
    return f"Manifest({'; '.join(parts)})"


def as_html(manifest: Manifest) -> str:
    """Return the manifest as a table for a notebook. Names are untrusted input, and escaped."""
    rows = [
        ("column group", _names(group.columns), f"{_files(group)}, {group.num_rows:,} rows")
        for group in manifest.column_groups
    ]
    rows += [
        ("delta log", log.path, f"{log.type.name}, {_count(log.num_entries, 'entry', 'entries')}")
        for log in manifest.delta_logs
    ]
    rows += [("stat", key, _names(stat.paths)) for key, stat in manifest.stats.items()]
    rows += [("index", index.column_name, f"{index.index_type}, {index.path}") for index in manifest.indexes]
    rows += [
        ("large objects", lob.path, f"{_count(lob.total_rows, 'row')}, {lob.file_size_bytes:,} bytes")
        for lob in manifest.lob_files
    ]
    shown = rows[:_MOST_ROWS]
    body = "".join("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in shown)
    more = f"<p>and {len(rows) - len(shown):,} more</p>" if len(rows) > len(shown) else ""
    return (
        f"<table><caption>Manifest, {manifest.num_rows:,} rows</caption><tbody>{body}</tbody></table>{more}"
    )


def _safe(text: str) -> str:
    # A page has to be UTF-8, and paths need not be.
    return escape(text.encode("utf-8", "replace").decode())


def _files(group: ColumnGroup) -> str:
    return _count(len(group.files), f"{group.format} file")


def _entries(manifest: Manifest) -> str:
    return _count(sum(log.num_entries for log in manifest.delta_logs), "entry", "entries")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _names(names: Sequence[str], separator: str = ", ") -> str:
    shown = separator.join(names[:_MOST_NAMES])
    return f"{shown}{separator}and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else shown
