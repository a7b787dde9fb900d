"""The parts of a score as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from indextables.errors import InputError


def score_text(explanation: Sequence[Mapping[str, Any]]) -> str:
    """Return the parts of a score, the `_explanation` of a row of `Table.search`, as text: one line each.

    >>> import indextables as it, pyarrow as pa
    >>> rows = pa.table({"message": ["disk full", "disk slow", "login ok"]})
    >>> _ = it.write("memory://doc-score-text", rows, text=["message"])
    >>> found = it.open("memory://doc-score-text").search("disk^2", limit=1, explain=True)
    >>> print(it.score_text(found.column("_explanation")[0].as_py()))
    0.94001 = 0.94001
      0.94001  message:disk  2 * 2.2 * idf 0.47 * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2))
    """
    try:
        parts = [_line(part) for part in explanation]
        scores = [part["score"] for part in explanation]
    except (TypeError, KeyError, AttributeError):
        raise InputError(
            "explanation is not the value of _explanation that search(explain=True) returns"
        ) from None
    if not parts:
        return "0: no part of the query matches by the index"
    head = f"{_number(sum(scores))} = {' + '.join(map(_number, scores))}"
    return "\n".join([head, *parts])


def _line(part: Mapping[str, Any]) -> str:
    column, match = part["column"], part["match"]
    name = match if column is None else f"{column}:{match}"
    return f"  {_number(part['score'])}  {name}{_formula(part)}"


def _formula(part: Mapping[str, Any]) -> str:
    if part["boost"] is None:
        return ""
    boost = "" if part["boost"] == 1 else f"{part['boost']:g} * "
    if part["idf"] is None:
        return f"  {boost}1"
    frequency = f"{part['frequency']:g}"
    norm = f"0.25 + 0.75 * {part['length']:g} / {part['average_length']:.4g}"
    return f"  {boost}2.2 * idf {part['idf']:.4g} * {frequency} / ({frequency} + 1.2 * ({norm}))"


def _number(score: float) -> str:
    return f"{score:.5g}"
