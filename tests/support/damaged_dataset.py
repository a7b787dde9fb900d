"""Reads a dataset with one bit flipped, again and again, in a process of its own, which may be aborted.

`damaged_dataset.py <dataset> <bits> <file> ...` flips so many bits of each file, spread over it (0: every third), and
prints for each outcome that is neither the right rows nor an IndexTablesError a line that begins with BAD. The last
line is the number of bits that were flipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from indextables import columns
from indextables.columns import Reader
from indextables.errors import IndexTablesError


def answers(base: str) -> list[pa.Table]:
    """All rows, some by a condition, some by position, those that are not deleted, a chunk."""
    dataset = columns.open(base)
    reader: Reader = dataset.reader(apply_deltas=True)
    return [
        dataset.to_arrow(),
        dataset.to_arrow(where="id > 30 AND word = 'w3'"),
        dataset.take([59, 3, 3], ["vector", "id"]),
        reader.to_table(),
        pa.Table.from_batches([dataset.reader().get_chunk_reader(0).get_chunk(0)]),
    ]


def outcome(base: str, right: list[pa.Table]) -> str | None:
    """Return what is wrong with the answers, if something is."""
    try:
        found = answers(base)
    except IndexTablesError:
        return None
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    wrong = [
        place for place, (one, other) in enumerate(zip(found, right, strict=True)) if not one.equals(other)
    ]
    return f"wrong answers {wrong}" if wrong else None


def flip(base: str, path: Path, bits: int, right: list[pa.Table]) -> int:
    raw = path.read_bytes()
    step = (8 * len(raw) // bits | 1) if bits else 3
    flipped = range(0, 8 * len(raw), step)
    for bit in flipped:
        damaged = bytearray(raw)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        print(f"bit {bit} of {path}", file=sys.stderr, flush=True)
        wrong = outcome(base, right)
        if wrong is not None:
            print(f"BAD bit {bit} of {path}: {wrong}", flush=True)
    path.write_bytes(raw)
    return len(flipped)


def main(base: str, bits: int, names: list[str]) -> None:
    right = answers(base)
    print(sum(flip(base, Path(name), bits, right) for name in names))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
