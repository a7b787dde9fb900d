"""The live files of a snapshot: a base state, decoded only when needed, and what later versions added and removed."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Added, AddFile, Adds, PerFile, from_entries, to_entries
from indextables.runtime import lazy_property
from indextables.state import KEY, LIVE_SCHEMA, Delta, Gatherer, Selection, TableState, drop_rows, keep_last

_AT_ONCE: Final = 1 << 17
"""How many files are gathered into one array: their strings together must stay below 2 GB."""


_ONE_MANIFEST: Final = Selection(
    manifests=lambda manifests: list(manifests[-1:]),
    reads_index=lambda _: False,
    index_columns=(),
    blocks=lambda _: None,
    entries=lambda entries: entries,
    restart=lambda: None,
)


@dataclass(frozen=True, slots=True)
class Removed:
    """A file that is no longer live; `over_base`: the base state may have it."""

    size: int | None
    over_base: bool


Overlay: TypeAlias = dict[str, Added | Removed | int]
"""What later versions did with a file, by key. A number is the row of an added file in `AddedRows`."""


class AddedRows:
    """Files that were added in large numbers, as entries of a state, in the order in which they were added."""

    def __init__(self, entries: pa.Table | None = None) -> None:
        self.entries = pa.Table.from_batches([], LIVE_SCHEMA) if entries is None else entries

    def __len__(self) -> int:
        return int(self.entries.num_rows)

    def __getitem__(self, row: int) -> Added:
        ((_, added),) = from_entries(self.entries.slice(row, 1))
        return added

    def followed_by(self, entries: pa.Table) -> AddedRows:
        return AddedRows(pa.concat_tables([self.entries, entries]) if len(self) else entries)


class LiveFiles(Mapping[str, AddFile]):
    """Files by key, in the order of the base and then of the log. Immutable; `edit` builds the next one.

    Looking up, counting and iterating decode the base, once. `select`, `sample`, `expected` and `edit` do not.

    >>> files = LiveFiles()
    >>> changes = files.edit()
    >>> changes.add("a", AddFile("a", {}, 1), version=0, timestamp_ms=0)
    >>> list(changes.done()), list(files)
    (['a'], [])
    """

    def __init__(
        self,
        base: TableState | None = None,
        overlay: Overlay | None = None,
        *,
        start: int = -1,
        exact_from: int = -1,
        rows: AddedRows | None = None,
    ) -> None:
        """Use `start` for the version of a JSON checkpoint from which the files were read, if there is no base."""
        self.base = base
        self.exact_from = exact_from
        """The version after which it is known when a file was added; other files were added at some time up to it."""
        self._start = start
        self._overlay = overlay or {}
        self._rows = rows or AddedRows()

    def edit(self) -> LiveFilesEdit:
        return LiveFilesEdit(self, dict(self._overlay), self._rows)

    def starting(self, start: int, *, exact_from: int) -> LiveFiles:
        """Return the same files, marked as read from the checkpoint of version `start`."""
        return LiveFiles(self.base, self._overlay, start=start, exact_from=exact_from, rows=self._rows)

    @property
    def base_version(self) -> int:
        """The version of the state or checkpoint that it was read from, or -1 without one."""
        return self._start if self.base is None else self.base.version

    @property
    def expected(self) -> int:
        """Estimated file count: the base state's counters plus later adds and removes."""
        if self.base is None:
            return len(self._overlay)
        changes = self._overlay.values()
        added = sum(not isinstance(change, Removed) for change in changes)
        replaced = sum(not isinstance(change, int) and change.over_base for change in changes)
        return max(0, self.base.manifest.num_files + added - replaced)

    def select(self, selection: Selection) -> pa.Table:
        """Return the files as entries, without some of the base that the selection leaves out."""
        return self._base_and_fresh(None if self.base is None else self.base.select(selection))

    def sample(self) -> pa.Table:
        """Return some files as entries: those of one manifest of the base, and those added since."""
        return self.select(_ONE_MANIFEST)

    def delta(self, *, may_replace: bool = False) -> Delta:
        """Return what later versions changed since the base, for writing the next state.

        `may_replace`: readers of the state know that a later entry of a file replaces an earlier one.
        """
        back = {
            key for key, change in self._overlay.items() if isinstance(change, Added) and change.over_base
        }
        removed = {key: change for key, change in self._overlay.items() if isinstance(change, Removed)}
        return Delta(
            self._fresh,
            removed={key: change.size for key, change in removed.items() if change.over_base},
            passed=frozenset(key for key, change in removed.items() if not change.over_base),
            replaces=bool(back) and not may_replace,
            replaced=frozenset(back) if may_replace else frozenset(),
        )

    def entries(self) -> pa.Table:
        """Return all files as entries of a state."""
        return self._base_and_fresh(None if self.base is None else self.base.entries())

    def __getitem__(self, key: str) -> AddFile:
        added = self.get_added(key)
        if added is None:
            raise KeyError(key)
        return added.file

    def get_added(self, key: str) -> Added | None:
        """Return a file with the version and time at which it was added; None if it is not live."""
        change = self._overlay.get(key)
        if isinstance(change, Added):
            return change
        if isinstance(change, int):
            return self._rows[change]
        if change is not None or self.base is None or key not in self.base.rows:
            return None
        ((_, added),) = from_entries(self.base.entries().slice(self.base.rows[key], 1))
        return added

    def __contains__(self, key: object) -> bool:
        change = self._overlay.get(key)  # type: ignore[call-overload]
        if change is None:
            return self.base is not None and key in self.base.rows
        return not isinstance(change, Removed)

    def __iter__(self) -> Iterator[str]:
        if self.base is not None:
            yield from (key for key in self.base.rows if key not in self._overlay)
        yield from (key for key, change in self._overlay.items() if not isinstance(change, Removed))

    def __len__(self) -> int:
        return len(self._overlay) if self.base is None else sum(1 for _ in self)

    def items(self) -> ItemsView[str, AddFile]:
        return _Items(self)

    def values(self) -> ValuesView[AddFile]:
        return _Values(self)

    def __reduce__(self) -> tuple[Callable[..., LiveFiles], tuple[Overlay, int, int, AddedRows]]:
        """Pickle the files themselves: in another process, a base would need its store."""
        if self.base is None:
            return _unpickle, (self._overlay, self._start, self.exact_from, self._rows)
        return _unpickle, (dict(from_entries(self.entries())), self._start, self.exact_from, AddedRows())

    def __repr__(self) -> str:
        return f"<LiveFiles: state {self.base_version}, {len(self._overlay)} changes>"

    def pairs(self) -> Iterator[tuple[str, AddFile]]:
        """Yield keys and files; each object is built when it is reached."""
        return ((key, added.file) for key, added in self.added())

    def added(self) -> Iterator[tuple[str, Added]]:
        """Yield keys and files with the version and time at which each file was added."""
        return self._additions() if self.base is None else from_entries(self.entries())

    def added_after(self, version: int, timestamp_ms: int | None = None) -> Iterator[tuple[str, Added]]:
        """Yield the files added after a version and, if given, after a time; manifests without any are not read."""
        if self.base is not None:
            candidates = dict(from_entries(self._drop_covered(self.base.added_after(version))))
            yield from (
                (key, added) for key, added in candidates.items() if _is_later(added, version, timestamp_ms)
            )
        yield from (
            (key, added) for key, added in self._additions() if _is_later(added, version, timestamp_ms)
        )

    def _additions(self) -> Iterator[tuple[str, Added]]:
        return from_entries(self._fresh) if len(self._rows) else self._objects()

    def _objects(self) -> Iterator[tuple[str, Added]]:
        return ((key, change) for key, change in self._overlay.items() if isinstance(change, Added))

    @lazy_property
    def _fresh(self) -> pa.Table:
        """Files added since the base, as entries in the order of the log."""
        pool, end = self._rows.entries, len(self._rows)
        if not end:
            return to_entries(self._objects())
        if set(map(type, self._overlay.values())) == {int}:
            return _rows_of(pool, np.fromiter(self._overlay.values(), np.int64, len(self._overlay)))
        objects = to_entries(self._objects())
        if objects.num_rows:
            pool = pa.concat_tables([pool, objects])
        number = itertools.count(end)
        changes = (change for change in self._overlay.values() if not isinstance(change, Removed))
        places = [change if isinstance(change, int) else next(number) for change in changes]
        return _rows_of(pool, np.array(places, np.int64))

    def _base_and_fresh(self, old: pa.Table | None) -> pa.Table:
        """Return the entries of the base that are still live, and those added since."""
        fresh = self._fresh
        return fresh if old is None else pa.concat_tables([self._drop_covered(keep_last(old, KEY)), fresh])

    def _drop_covered(self, entries: pa.Table) -> pa.Table:
        """Return the entries of the base that later versions neither replaced nor removed."""
        if not self._overlay or entries.num_rows == 0:
            return entries
        covered = pc.is_in(entries.column(KEY), value_set=pa.array(self._overlay, pa.string()))
        return drop_rows(entries, np.asarray(covered))


class LiveFilesEdit:
    """Builds the live files of the next version."""

    def __init__(self, before: LiveFiles, overlay: Overlay, rows: AddedRows) -> None:
        self._base = before.base
        self._start = before.base_version
        self._exact_from = before.exact_from
        self._overlay = overlay
        self._rows = rows
        self._next_row = len(rows)
        self._entries: list[pa.Table] = []

    def add_many(self, keys: list[str], files: Adds, *, version: PerFile, timestamp_ms: PerFile) -> None:
        """Add the files in order. No object is made for any of them unless the base may have one of them."""
        overlay = self._overlay
        changes = () if overlay.keys().isdisjoint(keys) else [overlay[key] for key in keys if key in overlay]
        if all(
            isinstance(change, int) or (isinstance(change, Added) and not change.over_base)
            for change in changes
        ):
            self._entries.append(files.entries(keys, version, timestamp_ms))
            self._overlay.update(zip(keys, itertools.count(self._next_row)))
            self._next_row += len(keys)
            return
        versions, times = (np.broadcast_to(each, len(keys)).tolist() for each in (version, timestamp_ms))
        for key, file, at, ms in zip(keys, files, versions, times, strict=True):
            self.add(key, file, version=at, timestamp_ms=ms)

    def add(self, key: str, file: AddFile, *, version: int, timestamp_ms: int) -> None:
        previous = self._overlay.get(key)
        if isinstance(previous, Removed):
            del self._overlay[key]  # it moves to the end of the order
        over_base = previous is not None and not isinstance(previous, int) and previous.over_base
        if file.added_at_version is not None:  # added again, with another delta log
            version = min(version, file.added_at_version)
            timestamp_ms = min(timestamp_ms, file.added_at_timestamp or timestamp_ms)
            file = dataclasses.replace(
                file,
                data_change=file.added_data_change or False,
                added_at_version=None,
                added_at_timestamp=None,
                added_data_change=None,
            )
        self._overlay[key] = Added(file, version, timestamp_ms, over_base)

    def remove(self, key: str, size: int | None) -> None:
        previous = self._overlay.get(key)
        if isinstance(previous, Removed):
            return
        self._overlay.pop(key, None)
        if self._base is not None:
            if isinstance(previous, int):
                previous = self._all_rows()[previous]
            previous_size = previous.file.size if previous is not None else None
            self._overlay[key] = Removed(
                size if size is not None else previous_size, previous is None or previous.over_base
            )

    def done(self) -> LiveFiles:
        rows = self._all_rows()
        return LiveFiles(self._base, self._overlay, start=self._start, exact_from=self._exact_from, rows=rows)

    def _all_rows(self) -> AddedRows:
        if self._entries:
            self._rows = self._rows.followed_by(pa.concat_tables(self._entries))
            self._entries = []
        return self._rows


def _unpickle(overlay: Overlay, start: int, exact_from: int, rows: AddedRows) -> LiveFiles:
    return LiveFiles(None, overlay, start=start, exact_from=exact_from, rows=rows)


def _rows_of(pool: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Return rows of a table, each at most once, in this order."""
    if (np.diff(rows) > 0).all():
        gone = np.ones(pool.num_rows, bool)
        gone[rows] = False
        return drop_rows(pool, gone)
    gatherer = Gatherer(pool)
    starts = range(0, len(rows), _AT_ONCE)
    return pa.concat_tables([gatherer.rows(rows[start : start + _AT_ONCE]) for start in starts])


def _is_later(added: Added, version: int, timestamp_ms: int | None) -> bool:
    return added.version > version and (timestamp_ms is None or added.timestamp_ms > timestamp_ms)


class _Items(ItemsView[str, AddFile]):
    _mapping: LiveFiles

    def __iter__(self) -> Iterator[tuple[str, AddFile]]:
        return self._mapping.pairs()


class _Values(ValuesView[AddFile]):
    _mapping: LiveFiles

    def __iter__(self) -> Iterator[AddFile]:
        return (file for _, file in self._mapping.pairs())
