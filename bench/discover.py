"""A query of the web UI (rows, histogram, most frequent values of five columns) against the search alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import indextables as it
from bench.measure import Comparison, timed_in_turns
from indextables.demo import log_table
from indextables.ui.conditions import to_asked
from indextables.ui.discovery import overview_answer, rows_answer

FIELDS: Final = ("level", "service", "host", "status", "date")
QUERIES: Final = ("message:(timeout AND connection)", "cache", "quarantined")
_SPLITS: Final = 4
_SLOWDOWN: Final = 5


def measure(home: Path, say: Callable[[str], None], *, rows: int, repeat: int) -> list[Comparison]:
    """Return one comparison for each query; the UI may take five times as long as the search."""
    path = home / "discover"
    say(f"writing {rows:,} rows")
    data, step = log_table(rows), -(-rows // _SPLITS)
    for start in range(0, rows, step):
        it.write(path, data.slice(start, step), text=["message"])
    table = it.open(path)
    found = []
    for query in QUERIES:
        asked = to_asked(table, {"q": query})

        def discover(asked=asked) -> None:  # type: ignore[no-untyped-def]
            rows_answer(asked)
            overview_answer(asked, FIELDS)

        def search(query=query, limit=asked.limit) -> None:  # type: ignore[no-untyped-def]
            table.search(query, limit=limit, snippet="message")

        say(query)
        ours, other = timed_in_turns([discover, search], repeat=repeat, warm_up_seconds=0)
        name = f"Discover: {query}"
        found.append(Comparison(name, ours, "Table.search", other, at_least=1 / _SLOWDOWN, by_best=True))
    return found
