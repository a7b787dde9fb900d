"""Commits of one file each to a dataset of column groups, compared with `deltalake` and `pylance` on this disk.

Only manifests are written: the files that the commits name do not exist. All three do what they do by default, which
for ours is to sync the manifest and its directory to the disk before it says that they are there; the others sync
nothing. A commit begins with knowing the newest version, which ours reads each time while the others keep a table
at hand, and ends with the version after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.log.commits import RETRIES, SCHEMA, Access, race, write_delta
from bench.measure import Comparison, timed
from indextables.columns import ColumnGroup, ColumnGroupFile, Transaction, latest_version

COMMITS: Mapping[int, int] = {1: 200, 4: 50}
"""Writers, and how many commits each makes."""

LANCE_FILE_FORMAT = (2, 0)


def measure(home: Path, say: Callable[[str], None], commits: Mapping[int, int] = COMMITS) -> list[Comparison]:
    found = []
    for writers, count in commits.items():
        say(f"committing to column groups, {writers} writers")
        syncs = timed(lambda: sync_twice(home), repeat=50).median
        ours = race(write_columns, str(home / f"column-commits-{writers}"), {}, writers, count)
        for other, begin in (("deltalake", write_delta), ("pylance", write_lance)):
            theirs = race(begin, str(home / f"column-commits-{other}-{writers}"), {}, writers, count)
            name = f"commit to column groups, {writers} writer{'s' if writers > 1 else ''}"
            note = (
                f"{ours.per_second:,.1f} commits/s against {theirs.per_second:,.1f}; "
                f"two syncs of this disk take {syncs:.4f} s"
            )
            found.append(Comparison(name, ours.latency, other, theirs.latency, note))
    return found


def sync_twice(home: Path) -> None:
    """What a durable commit cannot do without: a file and its directory, on the disk."""
    with (home / "synced").open("wb") as file:
        file.write(b"0" * 4096)
        file.flush()
        os.fsync(file.fileno())
    directory = os.open(home, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def write_columns(uri: str, _access: Access, first: int | None) -> Any:
    """Without a first number, the dataset's version; with one, what commits one file."""
    if first is None:
        return latest_version(uri)

    def write_one(n: int) -> None:
        file = ColumnGroupFile(f"{n:08}.parquet", 0, 1000, properties={"file_size": "1000000"})
        with Transaction.open(uri, resolver="merge", retry_limit=RETRIES) as tx:
            tx.append_files([ColumnGroup(("id", "message"), "parquet", (file,))]).commit()

    return write_one


def write_lance(uri: str, _access: Access, first: int | None) -> Any:
    """The same of a Lance dataset."""
    import lance  # noqa: PLC0415 - warns of every fork from then on, in whatever process it is imported
    from lance.fragment import DataFile, FragmentMetadata  # noqa: PLC0415

    if first is None:
        if not any(Path(uri).iterdir()):
            lance.LanceDataset.commit(uri, lance.LanceOperation.Overwrite(SCHEMA, []))
        return lance.dataset(uri).version
    dataset = lance.dataset(uri)

    def write_one(n: int) -> None:
        nonlocal dataset
        file = DataFile(f"{n:08}.lance", [0, 1], [0, 1], *LANCE_FILE_FORMAT, 1_000_000)
        append = lance.LanceOperation.Append([FragmentMetadata(0, [file], 1000)])
        dataset = lance.LanceDataset.commit(
            dataset, append, read_version=dataset.version, max_retries=RETRIES
        )

    return write_one
