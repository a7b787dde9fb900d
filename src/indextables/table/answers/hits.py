"""The hits of a search as something to look at in a notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import InputError
from indextables.notebook import MOST_ROWS, bars_svg, safe
from indextables.schema import SCORE, SNIPPET

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from indextables.split import Snippet
    from indextables.table.handle import TableSearches

_BARS: Final = 60
_WIDTHS: Final = (
    ("1s", 1), ("5s", 5), ("15s", 15), ("1m", 60), ("5m", 300), ("15m", 900), ("30m", 1800), ("1h", 3600),
    ("2h", 7200), ("3h", 10_800), ("6h", 21_600), ("12h", 43_200), ("1d", 86_400),
    ("1w", 604_800), ("1 month", 2_629_800), ("1y", 31_557_600),
)  # fmt: skip
_MARK: Final = re.compile(r"<b>(.*?)</b>", re.DOTALL)


@dataclass(frozen=True)
class Hits:
    """The best matches of a search: `arrow` has the rows, with `_score` and `_snippet`, `total` is how many match.

    `histogram` has the matches over time: `bucket` and `count`; None without a column of times. A notebook shows the
    snippets with the hits marked. Polars, DuckDB and pandas read the object as they read a table.

    >>> import indextables as it, pyarrow as pa
    >>> rows = pa.table({"message": ["disk full", "login ok"]})
    >>> _ = it.write("memory://doc-hits-type", rows, text=["message"])
    >>> hits = it.open("memory://doc-hits-type").hits("disk")
    >>> hits.total, len(hits), hits.arrow.column("message").to_pylist()
    (1, 1, ['disk full'])
    """

    query: str
    arrow: pa.Table = field(repr=False)
    total: int
    histogram: pa.Table | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """Return the number of rows that are here."""
        return int(self.arrow.num_rows)

    def __repr__(self) -> str:
        best = f"the best {len(self):,} of " if len(self) < self.total else ""
        return f"<indextables.Hits {self.query!r}: {best}{self.total:,} rows>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow's C interface."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas DataFrame."""
        return self.arrow.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a Polars DataFrame. InputError if Polars is not installed."""
        return to_polars(self.arrow)

    def _repr_html_(self) -> str:
        names = [name for name in self.arrow.column_names if name != SCORE]
        shown = self.arrow.slice(0, MOST_ROWS).to_pylist()
        head = "".join(f'<th style="text-align:left">{safe(name)}</th>' for name in ("score", *names))
        body = "".join(_row(row, names) for row in shown)
        caption = f"{self.query}: {self.total:,} rows"
        more = self.total - len(shown)
        note = f'<div style="font-size:0.9em;opacity:0.7">and {more:,} more</div>' if more > 0 else ""
        return (
            f"<div><div><strong>{safe(caption)}</strong></div>{self._bars()}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}</div>"
        )

    def _bars(self) -> str:
        if self.histogram is None or not self.histogram.num_rows:
            return ""
        rows = [row for row in self.histogram.to_pylist() if row["bucket"] is not None]
        if not rows:
            return ""
        first, last = rows[0]["bucket"], rows[-1]["bucket"]
        svg = bars_svg([row["count"] for row in rows], f"{self.total:,} rows from {first} to {last}")
        return f'<div>{svg}<div style="font-size:0.8em;opacity:0.7">{safe(first)} to {safe(last)}</div></div>'


def find_hits(
    table: TableSearches,
    query: str,
    *,
    limit: int,
    columns: Sequence[str] | None,
    where: str | None,
    snippet: str | Snippet | None,
    time_column: str | None,
) -> Hits:
    """Search, count and draw. See `Table.hits`."""
    if snippet is None:
        snippet = next(iter(text_columns(table)), None)
    rows = table.search(query, limit=limit, columns=columns, where=where, snippet=snippet)
    total = table.count(query, where=where)
    name = time_column if time_column is not None else next(iter(time_columns(table)), None)
    histogram = None
    if name is not None and total:
        stats = table.stats(name, query=query, where=where, distinct=False)
        if stats.min is not None:
            width = bucket_width(
                pc.cast(pa.scalar(stats.max), pa.int64()).as_py(),
                pc.cast(pa.scalar(stats.min), pa.int64()).as_py(),
            )
            histogram = table.histogram(name, every=width, query=query, where=where, fill=True)
    return Hits(query, rows, total, histogram)


def text_columns(table: TableSearches) -> list[str]:
    """Return the string columns that are indexed as text: those that have snippets."""
    mapped = {field.name for field in table.snapshot.mapping.fields if field.kind == "text"}
    return [f.name for f in table.schema if f.name in mapped and pa.types.is_string(f.type)]


def time_columns(table: TableSearches) -> list[str]:
    """Return the columns of timestamps, those that have a time zone first."""
    times = [f for f in table.schema if pa.types.is_timestamp(f.type)]
    return [f.name for f in sorted(times, key=lambda f: f.type.tz is None)]


def bucket_width(latest_us: int, earliest_us: int, bars: int = _BARS) -> str:
    """Return the narrowest usual width with which times, in microseconds, have at most so many buckets.

    >>> bucket_width(3_600_000_000, 0), bucket_width(0, 0)
    ('1m', '1s')
    """
    seconds = (latest_us - earliest_us) / 1_000_000
    return next((width for width, length in _WIDTHS if seconds / length <= bars), _WIDTHS[-1][0])


def to_polars(rows: pa.Table) -> pl.DataFrame:
    """Return rows as a Polars DataFrame."""
    try:
        import polars as pl  # noqa: PLC0415 - optional
    except ImportError:
        raise InputError("to_polars needs Polars, which is not installed: pip install polars") from None
    return pl.DataFrame(rows)


def _row(row: dict[str, object], names: Sequence[str]) -> str:
    score = row.get(SCORE)
    cells = [f"<td>{score:.2f}</td>" if isinstance(score, float) else "<td></td>"]
    for name in names:
        value = row[name]
        text = _clean(value) if name == SNIPPET and isinstance(value, str) else safe(value)
        cells.append(f'<td style="text-align:left">{text}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def _clean(snippet: str) -> str:
    """Return a snippet, which is escaped HTML but for its marks, with nothing else in it."""
    parts = _MARK.split(snippet)
    clean = [part.replace("<", "&lt;").replace(">", "&gt;") for part in parts]
    return "".join(f"<mark>{part}</mark>" if n % 2 else part for n, part in enumerate(clean))
