"""Writers that delete, upsert, append and merge at the same time: no row is lost, doubled or back from the dead."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pyarrow as pa

import indextables as it
from indextables.errors import CommitConflictError

WRITERS = 3
STEPS = 5


def rows(ids: list[int], value: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "value": pa.array([value] * len(ids), pa.string())})


class Writer(threading.Thread):
    """Changes only rows whose number is its own, modulo the number of writers; `live` is what must remain of them."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__()
        self.path = path
        self.number = number
        self.rng = random.Random(number)
        self.live = {n: "first" for n in range(60) if n % WRITERS == number}
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for step in range(STEPS):
                self.rng.choice((self.delete, self.upsert, self.append))(f"{self.number}-{step}")
        except BaseException as failure:
            self.failure = failure

    def delete(self, _: str) -> None:
        doomed = self.rng.sample(sorted(self.live), min(3, len(self.live)))
        if doomed:
            self.repeat(lambda: it.open(self.path).delete(f"id IN ({', '.join(map(str, doomed))})"))
        for number in doomed:
            del self.live[number]

    def upsert(self, value: str) -> None:
        ids = [
            *self.rng.sample(sorted(self.live), min(2, len(self.live))),
            1000 + len(value) * WRITERS + self.number,
        ]
        self.repeat(lambda: it.open(self.path).upsert(rows(ids, value), on=["id"]))
        self.live |= dict.fromkeys(ids, value)

    def append(self, value: str) -> None:
        number = 10_000 + self.rng.randrange(1000) * WRITERS + self.number
        if number not in self.live:
            it.write(self.path, rows([number], value))
            self.live[number] = value

    def repeat(self, change) -> None:
        """Make a change, again after each conflict: a merge may have moved the rows."""
        for _ in range(50):
            try:
                change()
            except CommitConflictError:
                continue
            return
        raise AssertionError("50 conflicts in a row")


def test_concurrent_changes_of_different_rows_all_happen(tmp_path: Path):
    path = str(tmp_path / "t")
    for start in range(0, 60, 20):
        it.write(path, rows([*range(start, start + 20)], "first"))
    writers = [Writer(path, number) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        it.open(path).merge_splits()
        writers[0].join(0.2)
    for writer in writers:
        writer.join()
        if writer.failure is not None:
            raise writer.failure
    expected = {n: value for writer in writers for n, value in writer.live.items()}
    it.open(path).invalidate_cache()
    found = it.open(path).to_arrow().to_pylist()
    assert len(found) == len(expected)
    assert {row["id"]: row["value"] for row in found} == expected
