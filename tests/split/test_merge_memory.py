"""The memory of a merge does not grow with its sources: 5 GB of splits are merged in less than 1 GB."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.config import Settings
from indextables.schema import FieldMapping, TableSchema
from indextables.split import SplitWriter
from indextables.split.container.bundle import open_bundle
from indextables.storage import open_store

SEED = 20261118
SPLITS = 20
SPLIT_BYTES = 256 << 20
PAYLOAD_BYTES = 4096
BATCH_ROWS = 4096
LIMIT = 1 << 30

MERGE = """
import sys
from pathlib import Path
from indextables.config import Settings
from indextables.split import MergeSource, merge_splits, open_split
from indextables.split.merge import merging
from indextables.split.merge.index_linking import CannotLinkError
from indextables.storage import open_store

sources, target, method = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if method != "linked":
    def refuse(*_, **__):
        raise CannotLinkError("as the test says")
    merging.link_splits = refuse
store = open_store(str(sources))
splits = [MergeSource(store, path.name, path.stat().st_size) for path in sorted(sources.glob("*.split"))]
with open_split(store, splits[0].path, settings=Settings()) as first:
    mapping, schema = first.mapping, first.schema
merged = merge_splits(splits, mapping=mapping, schema=schema, settings=Settings(), directory=target)
print(merged.method, merged.rewritten, merged.num_records, merged.size)
"""


def rows(rng: np.random.Generator, start: int, count: int) -> pa.RecordBatch:
    """Return rows whose payload cannot be compressed, with words and a unique string to index."""
    payload = pa.py_buffer(rng.bytes(count * PAYLOAD_BYTES))
    offsets = np.arange(0, (count + 1) * PAYLOAD_BYTES, PAYLOAD_BYTES, dtype=np.int32)
    words = rng.zipf(1.3, (count, 12)) % 100_000
    return pa.record_batch(
        {
            "id": pa.array(np.arange(start, start + count)),
            "text": [" ".join(f"w{word}" for word in line) for line in words.tolist()],
            "trace": [
                f"{high:016x}{low:016x}" for high, low in rng.integers(0, 1 << 62, (count, 2)).tolist()
            ],
            "payload": pa.BinaryArray.from_buffers(
                pa.binary(), count, [None, pa.py_buffer(offsets.tobytes()), payload]
            ),
        }
    )


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sources")
    rng = np.random.default_rng(SEED)
    row = 0
    for _ in range(SPLITS):
        batch = rows(rng, row, BATCH_ROWS)
        schema = TableSchema.from_arrow(batch.schema)
        mapping = FieldMapping.of(schema, (), {"text": "text"})
        writer = SplitWriter(schema, mapping, settings=Settings(), directory=directory)
        while writer.input_bytes < SPLIT_BYTES:
            writer.write(batch)
            row += BATCH_ROWS
            batch = rows(rng, row, BATCH_ROWS)
        writer.finish()
    return directory


def test_long_values_have_no_statistics_that_grow_with_the_rows(tmp_path: Path) -> None:
    """Parquet keeps the statistics of all pages in memory until the file ends."""
    batch = rows(np.random.default_rng(SEED), 0, 2000)
    schema = TableSchema.from_arrow(batch.schema)
    writer = SplitWriter(
        schema, FieldMapping.of(schema, (), {"text": "text"}), settings=Settings(), directory=tmp_path
    )
    writer.write(batch)
    split = writer.finish()
    bundle = open_bundle(open_store(str(tmp_path)), split.path.name)
    footer = bundle.parquet_footers["rows-0.parquet"]
    group = pq.read_metadata(pa.BufferReader(bundle.range(footer.offset, footer.length))).row_group(0)
    has_statistics = {
        group.column(n).path_in_schema: group.column(n).is_stats_set for n in range(group.num_columns)
    }
    assert has_statistics == {"id": True, "text": False, "trace": True, "payload": False}
    assert footer.length < batch.nbytes / 100


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="anonymous memory is read from /proc")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("method", ["linked", "indexed again"])
def test_anonymous_memory_is_bounded(sources: Path, tmp_path: Path, method: str) -> None:
    size = sum(path.stat().st_size for path in sources.iterdir())
    assert size > 5_000_000_000
    process = subprocess.Popen(
        [sys.executable, "-c", MERGE, str(sources), str(tmp_path), method],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    peak, started = 0, time.monotonic()
    try:
        while process.poll() is None:
            peak = max(peak, _anonymous_bytes(process.pid))
            time.sleep(0.01)
        printed = process.communicate()[0].split()
    finally:
        process.kill()
        process.wait()
    print(
        f"\n{method}: {size / 1e9:.2f} GB of sources, peak of RssAnon {peak / 1e6:.0f} MB, "
        f"{time.monotonic() - started:.0f} s, {printed}"
    )
    assert process.returncode == 0
    assert " ".join(printed).startswith(method)
    assert 0 < peak < LIMIT


def _anonymous_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0  # it has just ended
    lines = [line.split() for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(lines[0][1]) * 1024 if lines else 0
