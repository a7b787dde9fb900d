"""The parts of a score as rows of data: what matched, and the figures that its share follows from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from indextables.split.query import Part, part_text
from indextables.split.search.global_ranking import Summand

EXPLANATION_TYPE: Final = pa.list_(
    pa.struct(
        {
            "column": pa.string(),
            "match": pa.string(),
            "boost": pa.float64(),
            "idf": pa.float64(),
            "frequency": pa.float64(),
            "length": pa.float64(),
            "average_length": pa.float64(),
            "score": pa.float64(),
        }
    )
)
"""The column `_explanation`: the parts of a score. The figures of BM25 are null for a part with a constant score."""

_ROUNDING: Final = "rounding to 32 bits"


def explanation(summands: Sequence[Summand], score: float) -> list[dict[str, Any]]:
    """Return the parts of a score. Their sum, rounded once as by `math.fsum`, is the score.

    The engine adds in 32 bits where splits are not ranked together: what that changes is a part of its own.
    """
    rows = [_row(summand) for summand in summands]
    rest = score - math.fsum(row["score"] for row in rows)
    if rest and math.isfinite(rest):
        rows.append(dict.fromkeys(rows[0] if rows else ("column",)) | {"match": _ROUNDING, "score": rest})
    return rows


def _row(summand: Summand) -> dict[str, Any]:
    weight = summand.weight
    figures = {"idf": None, "frequency": None, "length": None, "average_length": None}
    return {
        "column": _column(summand.part),
        "match": part_text(summand.part),
        "boost": summand.boost,
        **(figures if weight is None else weight._asdict()),
        "score": summand.score,
    }


def _column(part: Part) -> str | None:
    column = getattr(part, "column", None)
    return None if column is None else str(column.name)
