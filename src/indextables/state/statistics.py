"""Statistics of many files: the minima and maxima of a block or a manifest, for columns that do not partition.

Only the files of this implementation count, because their statistics have one meaning. If the file of another writer is
among them, or one without a bound for the column, there is no bound for all. Strings are truncated to the length from
which on a maximum may be a prefix of the true one, so that the largest of them bounds every file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.runtime import LimitedThreads
from indextables.schema import FLOAT_TYPES, INTEGER_TYPES, TIME_TYPES, Field
from indextables.state.manifest import StatBounds
from indextables.state.map_columns import map_column
from indextables.stats import CUT_LENGTH

MAX_COLUMNS: Final = 16
"""So many columns get bounds: more would make the block index, which every pruned read fetches, too large."""

_TEXT_TYPES: Final = frozenset({"string", "date"})
_TYPES: Final = _TEXT_TYPES | INTEGER_TYPES | FLOAT_TYPES | TIME_TYPES
_ISO_DATE: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_INTEGER: Final = r"^-?[0-9]{1,18}$"
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"

_PLAIN: Final[dict[str, tuple[re.Pattern[str], Callable[[str], Any]]]] = {
    kind: (re.compile(pattern.strip("^$"), re.DOTALL), value)
    for kinds, pattern, value in (
        ({"string"}, f".{{0,{CUT_LENGTH}}}", str),
        ({"date"}, _ISO_DATE, str),
        (INTEGER_TYPES | TIME_TYPES, _INTEGER, int),
        (FLOAT_TYPES, _NUMBER, float),
    )
    for kind in kinds
}
"""The usual form of a bound as text, and the function that parses it."""

_FEW: Final = 1000

Starts: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Measured:
    """The columns that get bounds, and the mappings by which this implementation recognises its own files."""

    columns: Sequence[Field] = ()
    own_refs: Collection[str] = ()


def bounds_by_column(
    entries: pa.Table, measured: Measured, counts: Sequence[int], workers: LimitedThreads | None = None
) -> dict[str, list[StatBounds]]:
    """Return the bounds of each column: of the first `counts[0]` entries, of the next `counts[1]`, and so on."""
    if not entries.num_rows:
        return {}
    ours = pc.is_in(entries.column("docMappingRef"), value_set=pa.array(measured.own_refs, pa.string()))
    foreign = np.asarray(pc.invert(ours))
    if foreign.all():
        return {}
    starts: Starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)

    def side(column: Field, name: str, *, largest: bool) -> list[str | None]:
        texts = map_column(entries.column(name), column.name)
        return _extremes(texts, column.type, foreign, starts, largest=largest)

    few = _Few.of(entries) if len(counts) == 1 and not foreign.any() else None

    def bounds(column: Field) -> list[StatBounds] | None:
        if few is not None and (quick := few.bounds(column)) is not None:
            return [quick]
        lows, highs = side(column, "minValues", largest=False), side(column, "maxValues", largest=True)
        if all(text is None for text in (*lows, *highs)):
            return None
        return [StatBounds(column.type, *pair) for pair in zip(lows, highs, strict=True)]

    by_column: dict[str, list[StatBounds]] = {}
    columns = [column for column in measured.columns if column.type in _TYPES]
    while columns and len(by_column) < MAX_COLUMNS:
        missing = MAX_COLUMNS - len(by_column)
        batch, columns = columns[:missing], columns[missing:]
        results = map(bounds, batch) if workers is None else workers.map(bounds, batch)
        for column, parts in zip(batch, results, strict=True):
            if parts is not None:
                by_column[column.name] = parts
    return by_column


class _Few:
    """The bounds of a commit's few files, if every file has them in the usual form. An Arrow call would cost more."""

    def __init__(self, lows: _Maps, highs: _Maps) -> None:
        self._lows = lows
        self._highs = highs

    @classmethod
    def of(cls, entries: pa.Table) -> _Few | None:
        if entries.num_rows > _FEW:
            return None
        lows, highs = (_Maps.of(entries.column(name)) for name in ("minValues", "maxValues"))
        return None if lows is None or highs is None else cls(lows, highs)

    def bounds(self, column: Field) -> StatBounds | None:
        """Return the bounds of a column, or None if some are not in the usual form."""
        lows, highs = self._lows.plain(column), self._highs.plain(column)
        if lows is None or highs is None:
            return None
        low, high = min(lows), max(highs)
        if isinstance(low, str):
            return StatBounds(column.type, low, high)
        return StatBounds(column.type, _text(low), _text(high))


class _Maps:
    """Maps with the same keys in the same order, as one writer leaves them."""

    def __init__(self, keys: list[str], items: list[str | None]) -> None:
        self._keys = keys
        self._items = items

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> _Maps | None:
        if column.num_chunks != 1 or column.null_count:
            return None
        maps = column.chunk(0)
        first, last = maps.offsets[0].as_py(), maps.offsets[len(maps)].as_py()
        keys = maps.keys.slice(first, last - first).to_pylist()
        of_one, odd = divmod(len(keys), len(maps))
        if odd or keys != keys[:of_one] * len(maps):
            return None
        return cls(keys[:of_one], maps.items.slice(first, last - first).to_pylist())

    def plain(self, column: Field) -> list[Any] | None:
        """Return the values of a column if all are in the usual form of its type."""
        if self._keys.count(column.name) != 1:
            return None
        texts: list[Any] = self._items[self._keys.index(column.name) :: len(self._keys)]
        pattern, value = _PLAIN[column.type]
        if None in texts or not all(map(pattern.fullmatch, texts)):
            return None
        return [value(text) for text in texts]


def over_all(parts: Mapping[str, Sequence[StatBounds]]) -> dict[str, StatBounds]:
    """Combine the bounds of parts to the bounds of all entries."""
    combined = {}
    for name, bounds in parts.items():
        if len(bounds) == 1:
            combined[name] = bounds[0]
            continue
        kind = bounds[0].kind
        low = _extreme([part.low for part in bounds], kind, largest=False)
        high = _extreme([part.high for part in bounds], kind, largest=True)
        if low is not None or high is not None:
            combined[name] = StatBounds(kind, low, high)
    return combined


def ordered(texts: pa.Array, kind: str) -> pa.Array:
    """Convert bounds to values that compare as the type of their column; null for texts that are not such a value."""
    if kind == "string":
        return texts
    if kind == "date":
        return _only(texts, _ISO_DATE)
    pattern, target = (_NUMBER, pa.float64()) if kind in FLOAT_TYPES else (_INTEGER, pa.int64())
    try:
        return texts.cast(target)
    except pa.ArrowInvalid:
        return _only(texts, pattern).cast(target)


def _extreme(texts: list[str | None], kind: str, *, largest: bool) -> str | None:
    nothing: npt.NDArray[np.bool_] = np.zeros(len(texts), bool)
    column = pa.array(texts, pa.string())
    return _extremes(column, kind, nothing, np.zeros(1, np.int64), largest=largest)[0]


def _extremes(
    texts: pa.StringArray, kind: str, foreign: npt.NDArray[np.bool_], starts: Starts, *, largest: bool
) -> list[str | None]:
    """Return the smallest or largest bound of each run of files, by the order of the type; None if a file has none."""
    if kind == "string" and (pc.max(pc.binary_length(texts)).as_py() or 0) > CUT_LENGTH:
        texts = pc.utf8_slice_codeunits(texts, 0, CUT_LENGTH)
    values = ordered(texts, kind)
    missing = np.asarray(values.is_null()) | foreign
    if missing.all():
        return [None] * len(starts)
    extremes: list[Any]
    if (
        kind in _TEXT_TYPES and len(starts) == 1
    ):  # usual for the few files of a commit, and cheaper than grouping
        extremes = [(pc.max if largest else pc.min)(values).as_py()]
    elif kind in _TEXT_TYPES:
        runs: npt.NDArray[np.int64] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))
        grouped = pa.table({"run": runs, "text": values}).group_by("run", use_threads=False)  # in their order
        extremes = grouped.aggregate([("text", "max" if largest else "min")]).column(1).to_pylist()
    else:
        numbers = np.asarray(pc.fill_null(values, 0))
        reduced = (np.maximum if largest else np.minimum).reduceat(numbers, starts)
        extremes = [_text(number) for number in reduced.tolist()]
    gaps = np.logical_or.reduceat(missing, starts).tolist()
    return [None if gap else text for text, gap in zip(extremes, gaps, strict=True)]


def _text(number: float) -> str | None:
    return None if number != number else repr(number)  # noqa: PLR0124 - NaN bounds nothing


def _only(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, pa.string()))
