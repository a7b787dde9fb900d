"""What is true of every dataset of column groups, whatever happened to it: a plain model, and the checks against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from indextables.columns import Manifest
from support.simulation.datasets import SHARED, Attempt, DatasetLedger, Meant, Seen

Files = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class State:
    """One version, as a reader would care: names, in order, and rows."""

    columns: Mapping[str, Files]
    logs: tuple[str, ...] = ()
    stats: Mapping[str, str] = ()  # type: ignore[assignment]
    indexes: Mapping[str, tuple[str, int]] = ()  # type: ignore[assignment]
    lobs: tuple[str, ...] = ()


EMPTY = State({}, (), {}, {}, ())


def state_of(manifest: Manifest) -> State:
    """Of a manifest. No column is there twice, nor any name."""
    columns = [name for group in manifest.column_groups for name in group.columns]
    assert len(columns) == len(set(columns)), f"a column is there twice: {columns}"
    found = State(
        {
            name: tuple((_name(file.path), file.end_index - file.start_index) for file in group.files)
            for group in manifest.column_groups
            for name in group.columns
        },
        tuple(_name(log.path) for log in manifest.delta_logs),
        {key: " ".join(map(_name, statistic.paths)) for key, statistic in manifest.stats.items()},
        {index.column_name: (_name(index.path), index.num_rows) for index in manifest.indexes},
        tuple(_name(lob.path) for lob in manifest.lob_files),
    )
    for names in (found.logs, found.lobs, *(map(_file_name, files) for files in found.columns.values())):
        listed = list(names)
        assert len(listed) == len(set(listed)), f"something is there twice: {listed}"
    assert len(manifest.indexes) == len(found.indexes), "a column has one index twice"
    return found


def check_dataset(manifests: Sequence[tuple[bytes, Manifest]], ledger: DatasetLedger) -> None:
    """`manifests` are all versions from 1 on, each with the id of its writer."""
    meant = {made: attempt for attempt in ledger.attempts for made in attempt.ids}
    states = [EMPTY, *(state_of(manifest) for _, manifest in manifests)]
    places: dict[bytes, int] = {}
    for version, (made, _) in enumerate(manifests, 1):
        assert made in meant, f"version {version} has no writer"
        assert made not in places, f"versions {places[made]} and {version} are one transaction"
        places[made] = version
        check_version(version, states, meant[made])
    for attempt in ledger.attempts:
        check_answer(attempt, places)
    for seen in ledger.seen:
        check_seen(seen, states)


def check_version(version: int, states: Sequence[State], attempt: Attempt) -> None:
    """It is what its writer meant, applied to the version before, or for an overwrite to what its writer had read."""
    what = f"version {version}, {attempt.resolver} of {attempt.meant}"
    after, before, read = states[version], states[version - 1], states[attempt.read_version]
    if attempt.resolver == "fail":
        assert attempt.read_version == version - 1, f"{what}: others had committed"
    if attempt.resolver == "merge":
        check_nothing_undone(what, before, read, attempt.meant)
    base = read if attempt.resolver == "overwrite" else before
    assert after == modelled(base, attempt.meant), f"{what} is not what it should be"
    rows = {sum(count for _, count in files) for files in after.columns.values()}
    assert len(rows) <= 1, f"{what}: column groups differ in rows"
    for column, (_, covered) in after.indexes.items():
        assert rows == {covered}, f"{what}: the index of {column} covers {covered} of {rows} rows"


def check_nothing_undone(what: str, before: State, read: State, meant: Meant) -> None:
    """A merge replaces and drops only what its writer had seen."""
    if meant.kind == "drop":
        known = (None, read.columns.get(meant.column))
        assert before.columns.get(meant.column) in known, f"{what}: files went that it never saw"
    if meant.kind == "positions" and meant.rows:
        kept = (before.columns.get(name, ())[: len(files)] == files for name, files in read.columns.items())
        assert any(kept), f"{what}: other rows are at those positions"
    if meant.kind == "stat":
        known_stats = (None, read.stats.get(SHARED), meant.name)
        assert before.stats.get(SHARED) in known_stats, f"{what}: a statistic went that it never saw"
    if meant.kind == "index":
        known_indexes = (None, read.indexes.get(meant.column), (meant.name, meant.rows))
        assert before.indexes.get(meant.column) in known_indexes, f"{what}: an index went that it never saw"


def modelled(base: State, meant: Meant) -> State:
    """What the attempt makes of a state; what is there already stays as it is."""
    name = meant.name
    match meant.kind:
        case "log":
            logs, lobs = (names if name in names else (*names, name) for names in (base.logs, base.lobs))
            return replace(base, logs=logs, lobs=lobs, stats={**base.stats, name: name})
        case "rows":
            wanted = {column for columns in meant.shape for column in columns}
            if any((name, 1) in base.columns.get(column, ()) for column in wanted):
                return base
            added = {column: (*base.columns.get(column, ()), (name, 1)) for column in wanted}
            indexes = {column: index for column, index in base.indexes.items() if column not in wanted}
            return replace(base, columns={**base.columns, **added}, indexes=indexes)
        case "column":
            return replace(base, columns={name: ((name, meant.rows),), **base.columns})
        case "drop":
            columns = {column: files for column, files in base.columns.items() if column != meant.column}
            indexes = {column: index for column, index in base.indexes.items() if column != meant.column}
            return replace(base, columns=columns, indexes=indexes)
        case "positions":
            return replace(base, logs=base.logs if name in base.logs else (*base.logs, name))
        case "stat":
            return replace(base, stats={**base.stats, SHARED: name})
        case "index":
            return replace(base, indexes={**base.indexes, meant.column: (name, meant.rows)})


def check_answer(attempt: Attempt, places: Mapping[bytes, int]) -> None:
    """Who was told that a commit is there can find it, who was told that it is not cannot; doubt has a reason."""
    made = [places[each] for each in attempt.ids if each in places]
    told = f"{attempt.resolver} of {attempt.meant} by {attempt.actor} ({attempt.outcome} {attempt.error})"
    if attempt.outcome == "acknowledged":
        assert made == [attempt.version], f"{told}: it is not in version {attempt.version}"
    elif attempt.outcome == "refused":
        assert not made, f"{told}: and version {made} has it"
        # What is repeated was made for a version that may be long gone.
        reasons = {"CommitConflictError", *(("SchemaError", "InputError") if attempt.repeated else ())}
        assert attempt.unanswered or attempt.error in reasons, f"{told}: for no reason"
        always_fits = attempt.resolver == "merge" and attempt.meant.kind == "log"
        assert attempt.unanswered or not always_fits, f"{told}: there is nothing to be in conflict with"
    elif attempt.outcome == "unknown":
        assert attempt.unanswered, f"{told}: the store had answered every question"


def check_seen(seen: Seen, states: Sequence[State]) -> None:
    """A reader saw one version, wholly, and none older than what had been there, unless a listing was stale."""
    found = state_of(seen.manifest)
    candidates = states if seen.misled else states[max(seen.floor, 0) :]
    assert found in candidates, f"a reader saw what no version from {seen.floor} on says"


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _file_name(file: tuple[str, int]) -> str:
    return file[0]
