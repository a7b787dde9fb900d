"""HTML of notebooks: small tables and bars, without scripts. Every text is untrusted, and escaped.

Colours are those of the page (`currentColor`), so that light and dark themes both work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

MOST_ROWS: Final = 20
_CELL: Final = 200
_STYLE: Final = "font-size:0.9em;opacity:0.7"


def safe(value: object) -> str:
    """Return a value as HTML text, cut where it is long. Nothing for None.

    >>> safe("<b>1</b>"), safe(1234), safe(None)
    ('&lt;b&gt;1&lt;/b&gt;', '1,234', '')
    """
    if value is None:
        return ""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    text = text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"
    return escape(text.encode("utf-8", "replace").decode())


def table_html(caption: str, names: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Return a table of at most 20 rows, which says how many more there are."""
    every = list(rows)
    head = "".join(f'<th style="text-align:left">{safe(name)}</th>' for name in names)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in every[:MOST_ROWS])
    more = f"and {len(every) - MOST_ROWS:,} more" if len(every) > MOST_ROWS else ""
    notes = "".join(f'<div style="{_STYLE}">{safe(text)}</div>' for text in (more, note) if text)
    return (
        f'<div><table><caption style="text-align:left"><strong>{safe(caption)}</strong></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
    )


def result_html(caption: str, result: Any) -> str:
    """Return the fields of a result that people read: those of its repr that say something."""
    shown = [field.name for field in dataclasses.fields(result) if field.repr and field.name != "table_path"]
    rows = [(name.replace("_", " "), getattr(result, name)) for name in shown]
    return table_html(caption, ("", ""), [row for row in rows if row[1] not in (0, "", ())])


def bars_svg(counts: Sequence[int], label: str, *, width: int = 480, height: int = 48) -> str:
    """Return bars of these heights, as one picture with a text for those who do not see it.

    >>> bars_svg([1, 2], "rows").count("<rect")
    2
    """
    most, step = max(counts, default=0) or 1, width / max(len(counts), 1)
    bars = "".join(
        f'<rect x="{n * step:.1f}" y="{height - height * count / most:.1f}" width="{max(step - 1, 0.5):.1f}" '
        f'height="{height * count / most:.1f}"/>'
        for n, count in enumerate(counts)
    )
    return (
        f'<svg role="img" aria-label="{safe(label)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" fill="currentColor" opacity="0.6">{bars}</svg>'
    )


def _cells(row: Sequence[object]) -> str:
    return "".join(f'<td style="text-align:left">{safe(value)}</td>' for value in row)
