"""A lake of Parquet files: index them as they are, and search without reading them again.

    python examples/parquet_lake.py [directory of Parquet files] [text column]

Without a directory, some files of sample logs are written first.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import indextables as it
from indextables.demo import log_table


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        lake, column = home / "lake", "message"
        if len(sys.argv) > 1:
            lake = Path(sys.argv[1])
            column = sys.argv[2] if len(sys.argv) > 2 else column
        else:
            lake.mkdir()
            rows = log_table(40_000)
            for number in range(4):
                pq.write_table(rows.slice(number * 10_000, 10_000), lake / f"part-{number}.parquet")

        files = ds.dataset(lake)
        path = home / "table"
        started = time.perf_counter()
        it.write(path, files.scanner().to_reader(), text=[column], progress=True)
        table = it.open(path)
        print(
            f"indexed {len(table):,} rows of {len(files.files)} files in {time.perf_counter() - started:.1f} s"
        )

        started = time.perf_counter()
        scanned = files.count_rows(filter=pc.match_substring(ds.field(column), "quarantined"))
        scan = time.perf_counter() - started
        started = time.perf_counter()
        found = table.count(f"{column}:quarantined")
        print(f"a scan of Parquet finds {scanned} in {1000 * scan:.0f} ms")
        print(f"the index finds {found} in {1000 * (time.perf_counter() - started):.0f} ms")
        print(table.hits(f"{column}:quarantined", limit=3))


if __name__ == "__main__":
    main()
