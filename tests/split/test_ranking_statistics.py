"""Ranking statistics are what the engine ranks with: equal to a recount, in every split, merged or not."""

from __future__ import annotations

import contextlib
import random
import struct
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.config import Settings
from indextables.errors import CorruptTableError, UnreadableSplitError
from indextables.predicates import TextQuery
from indextables.schema import FieldMapping, TableSchema
from indextables.split import (
    FinishedSplit,
    MergedSplit,
    MergeSource,
    RankingStatistics,
    RowRequest,
    SplitWriter,
    merge_splits,
    open_split,
)
from indextables.split.container.bundle import RANKING, open_bundle, write_bundle
from indextables.split.index import MAX_TERM_BYTES, ranking, tokens
from indextables.split.merge import merging
from indextables.split.merge.index_linking import CannotLinkError
from indextables.storage import open_store
from support.faults import MemoryStore

SEED = 20261118
WORDS = ["alpha", "Beta-2", "gamma", "Δelta", "日本", "x" * 45, "", "a.b.c"]


def random_rows(rng: random.Random, count: int) -> pa.RecordBatch:
    def texts(most: int) -> list[str | None]:
        return [
            None if rng.random() < 0.2 else " ".join(rng.choices(WORDS, k=rng.randint(0, most)))
            for _ in range(count)
        ]

    return pa.record_batch(
        {
            "id": pa.array(range(count), pa.int64()),
            "text": pa.array(texts(8), pa.string()),
            "a title": pa.array(texts(2), pa.string()),  # no plain name: its field has another one
            "host": pa.array(texts(1), pa.string()),
            "never": pa.array([None] * count, pa.string()),
            "empty": pa.array([None] * count, pa.string()),
        }
    )


SCHEMA = TableSchema.from_arrow(random_rows(random.Random(SEED), 1).schema)
MAPPING = FieldMapping.of(SCHEMA, (), {"text": "text", "a title": "text", "empty": "text"})


def recount(batches: list[pa.RecordBatch]) -> RankingStatistics:
    counts = dict.fromkeys((f.name for f in MAPPING.of_kind("text", "string")), 0)
    for batch in batches:
        for mapped in MAPPING.of_kind("text", "string"):
            for value in batch.column(mapped.name).to_pylist():
                if value is not None:
                    terms = [value] if mapped.kind == "string" else [word for _, word in tokens(value)]
                    counts[mapped.name] += sum(len(term.encode()) <= MAX_TERM_BYTES for term in terms)
    return RankingStatistics(sum(batch.num_rows for batch in batches), counts)


def write(directory: Path, *batches: pa.RecordBatch) -> FinishedSplit:
    writer = SplitWriter(SCHEMA, MAPPING, settings=Settings(), directory=directory)
    for batch in batches:
        writer.write(batch)
    return writer.finish()


def source(split: FinishedSplit) -> MergeSource:
    return MergeSource(open_store(str(split.path.parent)), split.path.name, split.size, split.num_records)


def merge(directory: Path, *splits: FinishedSplit) -> MergedSplit:
    return merge_splits(
        [source(split) for split in splits],
        mapping=MAPPING,
        schema=SCHEMA,
        settings=Settings(),
        directory=directory,
    )


def recorded(split: FinishedSplit) -> RankingStatistics | None:
    with open_split(open_store(str(split.path.parent)), split.path.name, settings=Settings()) as reader:
        return reader.ranking


def members(path: Path) -> dict[str, bytes]:
    bundle = open_bundle(open_store(str(path.parent)), path.name)
    return {name: bundle.read(name) for name in bundle.members if name != "checksums.json"}


def test_a_split_records_what_a_recount_gives(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    batches = [random_rows(rng, count) for count in (400, 1, 90)]
    statistics = recorded(write(tmp_path, *batches))
    assert statistics == recount(batches), f"seed {SEED}"
    assert statistics is not None
    assert (statistics.documents, statistics.tokens["never"], statistics.tokens["empty"]) == (491, 0, 0)
    assert statistics.tokens["text"] > 1000
    assert statistics.average_length("text") == statistics.tokens["text"] / 491


def test_words_that_the_engine_drops_are_not_counted(tmp_path: Path) -> None:
    rows = random_rows(random.Random(SEED), 2).set_column(
        1, "text", pa.array(["one " + "y" * (MAX_TERM_BYTES + 1), "two three"], pa.string())
    )
    rows = rows.set_column(3, "host", pa.array(["h" * (MAX_TERM_BYTES + 1), "h"], pa.string()))
    statistics = recorded(write(tmp_path, rows))
    assert statistics == recount([rows])
    assert statistics is not None
    assert (statistics.tokens["text"], statistics.tokens["host"]) == (3, 1)


def test_an_empty_split_has_statistics_of_nothing(tmp_path: Path) -> None:
    assert recorded(write(tmp_path)) == recount([])


@pytest.mark.parametrize("method", ["linked", "indexed again"])
def test_merging_adds_them_up(tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(SEED)
    batches = [random_rows(rng, count) for count in (150, 3, 70, 20)]
    splits = [write(tmp_path / "sources", batch) for batch in batches]
    if method != "linked":

        def refuse(*_: object, **__: object) -> None:
            raise CannotLinkError("as the test says")

        monkeypatch.setattr(merging, "link_splits", refuse)
    merged = merge(tmp_path / "merged", *splits)
    assert merged.method == method
    assert recorded(merged) == recount(batches), f"seed {SEED}"
    assert recorded(merged) == RankingStatistics.total(
        part for split in splits if (part := recorded(split)) is not None
    )


def test_they_are_the_numbers_that_the_engine_scores_with(tmp_path: Path) -> None:
    split = write(tmp_path, random_rows(random.Random(SEED), 300))
    with open_split(open_store(str(tmp_path)), split.path.name, settings=Settings()) as reader:
        search = reader._contents.search
        query = search.text(TextQuery("TEXTSEARCH", "text", "alpha"))
        address = search.searcher.search(query, limit=1).hits[0][1]
        explained = str(query.explain(search.searcher, address).to_json())
        statistics = reader.ranking
    assert statistics is not None
    numbers = {part["description"].split(",")[0]: part["value"] for part in _parts(orjson.loads(explained))}
    assert numbers["N"] == statistics.documents
    assert numbers["avgdl"] == pytest.approx(statistics.average_length("text"), rel=1e-6)


def _parts(explanation: dict[str, Any]) -> list[dict[str, Any]]:
    inner = explanation.get("details") or []
    return [explanation, *(part for one in inner for part in _parts(one))]


def test_reading_them_costs_no_request(tmp_path: Path) -> None:
    split = write(tmp_path, random_rows(random.Random(SEED), 3000))
    requests = []

    class Counting(MemoryStore):
        def get_range(self, key: str, start: int, length: int) -> bytes:
            requests.append((start, length))
            return super().get_range(key, start, length)

    store = Counting()
    store.put("x.split", split.path.read_bytes())
    with open_split(store, "x.split", split.size, settings=Settings()) as reader:
        opening = len(requests)
        assert reader.ranking is not None
    assert len(requests) == opening == 1


def test_a_split_written_before_them_has_none_and_a_merge_gives_it_some(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    batches = [random_rows(rng, 40) for _ in range(2)]
    splits = [write(tmp_path, batch) for batch in batches]
    files = members(splits[0].path)
    del files[RANKING]
    write_bundle(splits[0].path, [], files.items())
    assert recorded(splits[0]) is None
    older = MergeSource(open_store(str(tmp_path)), splits[0].path.name)
    merged = merge_splits(
        [older, source(splits[1])],
        mapping=MAPPING,
        schema=SCHEMA,
        settings=Settings(),
        directory=tmp_path / "merged",
    )
    assert merged.method == "linked"
    assert recorded(merged) == recount(batches)


# --- hostile --------------------------------------------------------------------------------------------------

GOOD = {"documents": 40, "tokens": {"text": 9, "a title": 0, "host": 40, "never": 0, "empty": 0}}


def _with_tokens(**changes: object) -> dict[str, object]:
    return {**GOOD, "tokens": {**GOOD["tokens"], **changes}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "statistics",
    [
        b"",
        b"null",
        b"{",
        b"\xff",
        [],
        {},
        {"documents": 40},
        {**GOOD, "more": 1},
        {**GOOD, "documents": 39},
        {**GOOD, "documents": "40"},
        {**GOOD, "documents": 40.0},
        {**GOOD, "tokens": []},
        {**GOOD, "tokens": {"text": 9}},
        _with_tokens(other=1),
        _with_tokens(text=-1),
        _with_tokens(text=1.5),
        _with_tokens(text=True),
        _with_tokens(text=None),
        _with_tokens(text=1 << 62),
        _with_tokens(host=41),
        b'{"documents":40,"tokens":' + b"[" * 5000,
    ],
)
def test_statistics_of_something_else_are_damage(tmp_path: Path, statistics: object) -> None:
    split = write(tmp_path, random_rows(random.Random(SEED), 40))
    raw = statistics if isinstance(statistics, bytes) else orjson.dumps(statistics)
    write_bundle(split.path, [], (members(split.path) | {RANKING: raw}).items())
    with open_split(open_store(str(tmp_path)), split.path.name, settings=Settings()) as reader:
        assert (
            sum(batch.num_rows for batch in reader.rows(RowRequest(("id",)))) == 40
        )  # rows do not need them
        with pytest.raises(CorruptTableError, match=split.path.name):
            _ = reader.ranking


def test_a_merge_of_damaged_statistics_names_the_source(tmp_path: Path) -> None:
    splits = [write(tmp_path, random_rows(random.Random(n), 40)) for n in range(2)]
    write_bundle(splits[1].path, [], (members(splits[1].path) | {RANKING: b"{}"}).items())
    wrong = MergeSource(open_store(str(tmp_path)), splits[1].path.name)
    with pytest.raises(UnreadableSplitError, match="ranking statistics") as error:
        merge_splits(
            [source(splits[0]), wrong],
            mapping=MAPPING,
            schema=SCHEMA,
            settings=Settings(),
            directory=tmp_path / "merged",
        )
    assert error.value.path == splits[1].path.name


def test_statistics_that_are_false_are_counted_again(tmp_path: Path) -> None:
    batches = [random_rows(random.Random(n), 40) for n in range(2)]
    splits = [write(tmp_path, batch) for batch in batches]
    true = recorded(splits[1])
    assert true is not None
    false = RankingStatistics(40, {**true.tokens, "text": true.tokens["text"] + 1})
    write_bundle(splits[1].path, [], (members(splits[1].path) | {RANKING: false.to_bytes()}).items())
    merged = merge_splits(
        [source(splits[0]), MergeSource(open_store(str(tmp_path)), splits[1].path.name)],
        mapping=MAPPING,
        schema=SCHEMA,
        settings=Settings(),
        directory=tmp_path / "merged",
    )
    assert merged.method == "indexed again"
    assert "their ranking statistics" in str(merged.reason)
    assert recorded(merged) == recount(batches)


def _postings(words: list[int]) -> bytes:
    """Return a file of postings with one field for each number of words."""
    body, table = b"", bytes([0x80 | len(words)])
    for number, count in enumerate(words):
        table += bytes([0x80 | (8 if number else 0)]) + number.to_bytes(4, "little") + b"\x80"
        body += struct.pack("<Q", count)
    return body + table + struct.pack("<I", len(table)) + b"{}" + struct.pack("<II", 2, 1337)


def test_a_file_of_postings_is_read_as_it_is_described(tmp_path: Path) -> None:
    (tmp_path / "x.idx").write_bytes(_postings([7, 0, 1 << 40]))
    assert ranking._field_words(tmp_path / "x.idx") == {0: 7, 1: 0, 2: 1 << 40}


@given(at=st.integers(0, 60), byte=st.integers(0, 255), cut=st.integers(0, 60))
def test_a_damaged_file_of_postings_is_a_value_error_at_most(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: int
) -> None:
    raw = bytearray(_postings([7, 9, 11]))
    raw[at % len(raw)] = byte
    path = tmp_path_factory.mktemp("postings") / "x.idx"
    path.write_bytes(raw[: len(raw) - cut])
    with contextlib.suppress(ValueError):
        assert all(isinstance(count, int) for count in ranking._field_words(path).values())
