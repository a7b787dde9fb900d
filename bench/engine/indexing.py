"""The CPU of indexing and the fixed cost of a small split, against Tantivy alone; how many cores a write uses."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import tantivy

import indextables as it
from bench.measure import Clock, Comparison, Timing, timed
from indextables.config import Settings, keys
from indextables.demo import BROAD_WORD, log_table
from indextables.predicates import TextQuery
from indextables.schema import FieldMapping, TableSchema, conform
from indextables.split import FinishedSplit, SplitWriter, open_split
from indextables.split.index import MIN_HEAP_BYTES, IndexFields, register_tokenizers
from indextables.split.index.documents import json_documents
from indextables.split.rows_writer import RowsWriter
from indextables.split.stored_form import StoredForm
from indextables.storage import open_store

MOST_OF_BARE: Final = 1.25
MOST_OF_A_SMALL_SPLIT: Final = 1.3
SMALL_ROWS: Final = 100
_SPLITS_OF_A_WRITE: Final = 4
_FIRST_ID: Final = 1 << 40
_MOST_COUNT_SECONDS: Final = 0.003
_MORE_WORK: Final = (
    "Tantivy alone gets documents that are ready and keeps no rows; a split also makes the documents, encodes the "
    "rows, takes statistics, and puts both into one file with checksums"
)

Say = Callable[[str], None]


class Rows:
    """The rows to index, and how."""

    def __init__(self, count: int, home: Path) -> None:
        table = log_table(count).combine_chunks()
        self.batch: pa.RecordBatch = table.to_batches()[0]
        self.schema = TableSchema.from_arrow(table.schema)
        self.mapping = FieldMapping.of(self.schema, (), {"message": "text"})
        self.fields = IndexFields(self.mapping)
        self.documents = json_documents(self.fields, self.batch, _FIRST_ID)
        self.home = home

    def bare(self, heap: int = keys.HEAP_SIZE.default) -> tantivy.Index:
        """Index documents that are ready, with Tantivy alone."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        index = tantivy.Index(self.fields.tantivy_schema(), str(self.home))
        register_tokenizers(index, self.fields, building=True)
        writer = index.writer(max(heap, MIN_HEAP_BYTES), 1)
        for document in self.documents:
            writer.add_json(document)
        writer.commit()
        writer.wait_merging_threads()
        return index

    def encode(self, compression: str) -> None:
        """Write the rows of a split as Parquet, without the index and the file that has both."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        stored = StoredForm.of(self.schema, self.mapping, Settings({keys.ROW_COMPRESSION.key: compression}))
        writer = RowsWriter(self.home, stored.schema, stored.mapping, stored.settings)
        for piece in writer.pieces(stored.batch(conform(self.batch, self.schema))):
            writer.write(piece)
        writer.finish()

    def split(self, compression: str) -> FinishedSplit:
        """Write a split."""
        shutil.rmtree(self.home, ignore_errors=True)
        settings = Settings({keys.ROW_COMPRESSION.key: compression})
        writer = SplitWriter(self.schema, self.mapping, settings=settings, directory=self.home)
        writer.write(self.batch)
        return writer.finish()


def measure(home: Path, say: Say, *, rows: int, repeat: int) -> list[Comparison]:
    say(f"indexing {rows:,} rows")
    large, small = Rows(rows, home / "index"), Rows(SMALL_ROWS, home / "index")
    found = _cpu(large, say, rows, repeat)
    bare, ours = _in_turns([small.bare, partial(small.split, "auto")], 5 * repeat, time.perf_counter)
    name = f"a split of {SMALL_ROWS} rows"
    found.append(_against_bare(name, ours, bare, MOST_OF_A_SMALL_SPLIT, "seconds, mostly of the disk"))
    return [*found, _cores(large, repeat), _count(large, repeat)]


def _cpu(rows: Rows, say: Say, count: int, repeat: int) -> list[Comparison]:
    """Compare indexing with each codec. What a codec costs is the encoding of the rows, which is timed alone too."""
    codecs = ("lz4", "auto", "zstd")
    splits = [partial(rows.split, codec) for codec in codecs]
    encodings = [partial(rows.encode, codec) for codec in codecs]
    bare, *ours = _in_turns([rows.bare, *splits, *encodings], repeat, time.process_time)
    found = []
    for codec, timing, encoding in zip(codecs, ours[: len(codecs)], ours[len(codecs) :], strict=True):
        size = rows.split(codec).size / count
        say(f"a split with {codec} rows has {size:.1f} bytes a row")
        whole, encoded = (one.best / count * 1e6 for one in (timing, encoding))
        note = (
            f"{size:.1f} bytes a row; {whole:.1f} CPU seconds a million rows: {encoded:.1f} encode rows, "
            f"{whole - encoded:.1f} index"
        )
        name = f"indexing with {codec} rows"
        found.append(_against_bare(name, timing, bare, MOST_OF_BARE if codec == "lz4" else None, note))
    return found


def _cores(rows: Rows, repeat: int) -> Comparison:
    """Compare the time that a write in plain Python takes with its CPU time: the ratio is how many cores it uses."""
    table = pa.Table.from_batches([rows.batch])
    settings = {keys.TARGET_SPLIT_SIZE.key: str(rows.batch.nbytes // _SPLITS_OF_A_WRITE + 1)}
    seconds, cpu = [], []
    for _ in range(repeat):
        shutil.rmtree(rows.home, ignore_errors=True)
        wall, used = time.perf_counter(), time.process_time()
        it.write(rows.home, table, text=["message"], settings=settings)
        seconds.append(time.perf_counter() - wall)
        cpu.append(time.process_time() - used)
    note = f"the ratio is the cores in use, of {os.cpu_count()}; {_SPLITS_OF_A_WRITE} splits"
    return Comparison(
        "a write in plain Python",
        Timing(tuple(seconds)),
        "its CPU",
        Timing(tuple(cpu)),
        note,
        reason="other programs use the cores too, and the commit is one thread that waits for the disk",
    )


def _count(rows: Rows, repeat: int) -> Comparison:
    """Counting the rows with a word in an open split."""
    index = rows.bare()
    index.reload()
    searcher, query = index.searcher(), tantivy.Query.term_query(index.schema, "message", BROAD_WORD)
    expected = searcher.search(query, 1).count
    split = rows.split("auto")
    predicate = TextQuery("TEXTSEARCH", "message", BROAD_WORD)
    with open_split(open_store(str(split.path.parent)), split.path.name, split.size) as reader:
        if reader.count(predicate) != expected:
            raise AssertionError(f"Tantivy counts {expected} rows, the split {reader.count(predicate)}")
        ours = timed(lambda: reader.count(predicate), repeat=20 * repeat, clock=time.process_time)
    theirs = timed(lambda: searcher.search(query, 1).count, repeat=20 * repeat, clock=time.process_time)
    goal = theirs.best / (theirs.best + _MOST_COUNT_SECONDS)
    note = f"{(ours.best - theirs.best) * 1e3:.2f} ms more; 3 ms are allowed"
    reason = (
        "the query is parsed, bound to the columns and checked against deleted rows; Tantivy gets it compiled"
    )
    return Comparison(
        "count in one split", ours, "Tantivy", theirs, note, at_least=goal, by_best=True, reason=reason
    )


def _against_bare(name: str, ours: Timing, bare: Timing, most: float | None, note: str) -> Comparison:
    goal = None if most is None else 1 / most
    return Comparison(name, ours, "Tantivy alone", bare, note, at_least=goal, by_best=True, reason=_MORE_WORK)


def _in_turns(actions: list[Callable[[], object]], repeat: int, clock: Clock) -> list[Timing]:
    """Time the actions one after the other, `repeat` times."""
    runs: list[list[float]] = [[] for _ in actions]
    for _ in range(repeat):
        for action, known in zip(actions, runs, strict=True):
            known.extend(timed(action, repeat=1, warm_up=0, clock=clock).runs)
    return [Timing(tuple(known)) for known in runs]
