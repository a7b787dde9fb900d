"""The same operations of the public API by an earlier commit and by this tree, in turns, each in processes of its own.

Every process does all operations once, on the same rows. The least CPU of the rounds counts: what an operation needs
when nothing else disturbs it. Merges are left out, as the earlier commit has none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from bench.earlier import extract
from bench.measure import Comparison, Timing
from indextables.demo import log_table

EARLIER: Final = "674d188"
"""The last commit before the packages were regrouped by subject."""

ROUNDS: Final = 5
LEAST: Final = round(1 / 1.1, 3)
"""No operation is to take more than a tenth longer than before."""
LEAST_OF_IMPORT: Final = round(1 / 0.6, 3)
"""The import is to take at most 60% of what it took."""


@dataclass(frozen=True)
class Sizes:
    rows: int = 100_000
    appends: int = 40
    commits: int = 40
    entries: int = 50_000
    repeat: int = 10
    """Runs of each search in one process."""


class AnswersDifferError(Exception):
    """The two trees do not agree, so their times mean nothing."""


REASONS: Final = {
    "write": "a split has got ranking statistics, row ids by which it can be merged, and compressed members",
    "appends": "an append also keeps what a search of many splits ranks by",
    "manifest entries": "an entry has two more fields, for the deleted rows of a split",
    "columns.write": "encodings are tried on the first rows of a file, and its pages get checksums: 2 ms each",
}
"""What was added since to an operation that may take longer."""

_IMPORT: Final = """
import json, sys, time
started = time.process_time()
import indextables
imported = time.process_time()
indextables.open, indextables.write
loaded = time.process_time()
seconds = {"import indextables": imported - started, "import, and what reads tables": loaded - started}
print(json.dumps({name: [took, None] for name, took in seconds.items()}))
"""

_SCRIPT: Final = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import pyarrow as pa
import indextables as it
from indextables import columns
from indextables.columns import codec
from indextables.state import AVRO_SCHEMA, ENTRY_SCHEMA, decode_entries, encode_entries

source, rows_path, home, text = sys.argv[1:5]
sizes = json.loads(sys.argv[5])
assert it.__file__.startswith(source), it.__file__
rows = pa.ipc.open_file(pa.memory_map(rows_path)).read_all()
settings = {"spark.indextables.mergeOnWrite.enabled": "false"}
found = {}

def timed(name, action, answer=lambda result: None, repeat=1):
    best = None
    for _ in range(repeat):
        started = time.process_time()
        result = action()
        seconds = time.process_time() - started
        best = seconds if best is None else min(best, seconds)
    found[name] = [best, answer(result)]
    return result

def write():
    it.write(f"{home}/table", rows, text=[text], settings=settings)

def append():
    few = len(rows) // 100
    for number in range(sizes["appends"]):
        it.write(f"{home}/appends", rows.slice(number, few), text=[text], settings=settings)

it.write(f"{home}/first", rows.slice(0, 10), text=[text], settings=settings)  # which loads what reads and writes tables
it.open(f"{home}/first").search("cache")
timed("write", write)
timed("appends", append)

def value(field, number):
    kind = field.type
    if pa.types.is_string(kind):
        return f"splits/split-{number:08}.split" if field.name == "path" else f"{field.name} {number % 100}"
    if pa.types.is_integer(kind):
        return number
    if pa.types.is_boolean(kind):
        return True
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        return []
    return None

numbers = range(sizes["entries"])
entries = pa.table([pa.array([value(f, n) for n in numbers], f.type) for f in ENTRY_SCHEMA], schema=ENTRY_SCHEMA)
blocks = timed("manifest entries: encode", lambda: list(encode_entries(entries)), repeat=3)
timed("manifest entries: decode", lambda: decode_entries(AVRO_SCHEMA, blocks, "manifest"), len, repeat=3)

files = [columns.ColumnGroupFile(f"{n:032x}.parquet", 0, 1000, properties={"file_size": "1000"}) for n in numbers]
manifest = columns.Manifest((columns.ColumnGroup(("id", "day"), "parquet", tuple(files)),))
raw = timed("dataset manifest: encode", lambda: codec.encode(manifest), repeat=3)
timed("dataset manifest: decode", lambda: codec.decode(raw), lambda m: len(m.column_groups[0].files), repeat=3)

timed("columns.write", lambda: columns.write(f"{home}/columns", rows))
dataset = columns.open(f"{home}/columns")
picks = list(range(0, len(rows), max(1, len(rows) // 1000)))
timed("columns: take 1,000 rows", lambda: dataset.take(picks), len, sizes["repeat"])
timed("columns: read all", dataset.to_arrow, len, 3)

def commit():
    for number in range(sizes["commits"]):
        file = columns.ColumnGroupFile(f"{number:08}.parquet", 0, 1000, properties={"file_size": "1000"})
        with columns.Transaction.open(f"{home}/commits", resolver="merge") as tx:
            tx.append_files([columns.ColumnGroup(("id", "message"), "parquet", (file,))]).commit()

timed("commits of column groups", commit, lambda _: columns.latest_version(f"{home}/commits"))

repeat = sizes["repeat"]
for name, path in (("", "table"), (f", {sizes['appends']} splits", "appends")):
    table = timed(f"open{name}", lambda: it.open(f"{home}/{path}"), repeat=repeat)
    timed(f"top-10{name}", lambda: table.search(f"{text}:cache", limit=10), len, repeat)
    timed(f"count{name}", lambda: table.count(f"{text}:cache"), lambda number: number, repeat)
    timed(f"top-10 of a phrase{name}", lambda: table.search(f'{text}:"answered 200"', limit=10), len, repeat)
    where = f"{text} TEXTSEARCH 'cache' AND level = 'ERROR'"
    timed(f"scan of a search with a filter{name}", lambda: table.to_arrow(where=where), len, repeat)
print(json.dumps(found))
"""


def measure(
    home: Path,
    say: Callable[[str], None],
    *,
    commit: str = EARLIER,
    rounds: int = ROUNDS,
    sizes: Sizes | None = None,
) -> list[Comparison]:
    """Return a comparison for each operation; none without the history that has the commit."""
    sizes = sizes or Sizes()
    earlier = extract(commit, home / "earlier")
    if earlier is None:
        say(f"commit {commit} is not in this checkout: nothing is compared with it")
        return []
    rows = home / "rows.arrow"
    data = log_table(sizes.rows)
    with pa.OSFile(str(rows), "wb") as sink, pa.ipc.new_file(sink, data.schema) as writer:
        writer.write_table(data)
    sources = {"here": Path(__file__).parents[1] / "src", commit: earlier}
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        for name, source in sources.items():
            work = home / f"{name}-{number}"
            work.mkdir()
            runs[name].append(_run(source, rows, work, sizes))
            shutil.rmtree(work)
    return [_comparison(name, runs["here"], runs[commit], commit) for name in runs["here"][0]]


def _comparison(
    name: str, ours: list[dict[str, Any]], theirs: list[dict[str, Any]], commit: str
) -> Comparison:
    answers = {json.dumps(run[name][1]) for run in (*ours, *theirs)}
    if len(answers) > 1:
        raise AnswersDifferError(f"{name}: {', '.join(sorted(answers))}")
    mine, its = (Timing(tuple(run[name][0] for run in runs)) for runs in (ours, theirs))
    goal = LEAST_OF_IMPORT if name == "import indextables" else LEAST
    reason = next((reason for start, reason in REASONS.items() if name.startswith(start)), "")
    return Comparison(f"{name}, CPU", mine, commit, its, at_least=goal, by_best=True, reason=reason)


def _run(source: Path, rows: Path, work: Path, sizes: Sizes) -> dict[str, Any]:
    """Do every operation once, with these sources; return the CPU and the answer of each."""
    environment = os.environ | {"PYTHONPATH": str(source), "XDG_CACHE_HOME": str(work / "cache")}
    found: dict[str, Any] = {}
    numbers = json.dumps(vars(sizes))
    for script, arguments in (
        (_IMPORT, ()),
        (_SCRIPT, (str(source), str(rows), str(work), "message", numbers)),
    ):
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the operations with {source} failed: {done.stderr[-2000:]}")
        found |= json.loads(done.stdout.splitlines()[-1])
    return found
