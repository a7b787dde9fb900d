"""An earlier commit of this package, from the history of the checkout, to be measured in the same run as this tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa

EARLIER_BUILDER: Final = "dcf1de5"
"""The last commit before splits had row ids of their own and could be merged by linking."""

_BUILD: Final = """
import json, pathlib, sys, time, warnings
warnings.simplefilter("ignore")
import pyarrow as pa
from indextables.config import Settings
from indextables.schema import FieldMapping, TableSchema
from indextables.split import SplitWriter
rows, directory, text = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
batches = pa.ipc.open_file(pa.memory_map(str(rows))).read_all().to_batches()
schema = TableSchema.from_arrow(batches[0].schema)
mapping = FieldMapping.of(schema, (), {text: "text"})
for _ in sys.stdin:
    began = time.process_time()
    writer = SplitWriter(schema, mapping, settings=Settings(), directory=directory)
    for batch in batches:
        writer.write(batch)
    split = writer.finish()
    seconds = time.process_time() - began
    print(json.dumps([split.num_records, seconds]), flush=True)
    split.path.unlink()
"""


def extract(commit: str, directory: Path) -> Path | None:
    """Write the sources of a commit into a directory; return where its packages are, or None without its history."""
    root = Path(__file__).parents[1]
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=root, capture_output=True, check=False)
    if archive.returncode:
        return None
    directory.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", str(directory)], input=archive.stdout, check=True)
    return directory / "src"


class EarlierBuilder:
    """A process with an earlier release, which indexes the same rows each time it is asked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def index(self) -> tuple[int, float]:
        """Index the rows as one split; return their number and the CPU time that it took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("again\n")
        self._process.stdin.flush()
        count, seconds = json.loads(self._process.stdout.readline())
        return count, seconds


@contextmanager
def earlier_builder(
    commit: str, home: Path, batches: list[pa.RecordBatch], text: str
) -> Iterator[EarlierBuilder | None]:
    """Yield a builder of these rows with the sources of a commit; None if the commit is not in the history."""
    source = extract(commit, home / "earlier")
    if source is None:
        yield None
        return
    rows = home / "rows.arrow"
    with pa.OSFile(str(rows), "wb") as sink, pa.ipc.new_file(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    command = [sys.executable, "-c", _BUILD, str(rows), str(home / "earlier-splits"), text]
    environment = os.environ | {"PYTHONPATH": str(source), "XDG_CACHE_HOME": str(home / "earlier-cache")}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield EarlierBuilder(process)
        assert process.stdin is not None
        process.stdin.close()  # which ends it
