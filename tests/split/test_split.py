"""A split gives back exactly the rows for which a predicate is TRUE: compared with plain Python on random rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tantivy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.config import Settings
from indextables.errors import CorruptTableError, QueryError, SchemaError
from indextables.predicates import (
    TRUE,
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
    evaluate,
)
from indextables.schema import FieldMapping, TableSchema
from indextables.split import FinishedSplit, RowRequest, Snippet, SplitReader, SplitWriter, open_split
from indextables.split.container.bundle import open_bundle
from indextables.storage import Store, open_store

SEED = 20240501
ROWS = 700
WORDS = ["alpha", "beta", "gamma", "Δelta", "한국", "web", "timeout"]


def random_rows(rng: random.Random, count: int) -> pa.RecordBatch:
    def column(make: Callable[[], Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.15 else make() for _ in range(count)], kind)

    floats = [0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), 1e300]
    return pa.record_batch(
        {
            "id": pa.array(range(count), pa.int64()),
            "text": column(lambda: " ".join(rng.choices(WORDS, k=rng.randint(0, 5))), pa.string()),
            "title": column(lambda: " ".join(rng.choices(WORDS, k=2)) + "!", pa.string()),
            "host": column(lambda: rng.choice(["a", "b", "A", "", "é", "a b", "日本"]), pa.string()),
            "tiny": column(lambda: rng.randint(-128, 127), pa.int8()),
            "small": column(lambda: rng.randint(-9, 9), pa.int16()),
            "number": column(lambda: rng.randint(-50, 50), pa.int32()),
            "big": column(lambda: rng.choice([-(2**63), 2**63 - 1, 0, rng.getrandbits(40)]), pa.int64()),
            "single": column(lambda: rng.choice([*floats[:-1], 0.1]), pa.float32()),
            "double": column(lambda: rng.choice([*floats, 0.1, rng.random()]), pa.float64()),
            "flag": column(lambda: rng.random() < 0.5, pa.bool_()),
            "day": column(lambda: date(2024, 1, 1) + timedelta(days=rng.randint(-40, 40)), pa.date32()),
            "at": column(
                lambda: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=rng.randint(-5, 5)),
                pa.timestamp("us", tz="UTC"),
            ),
            "raw": column(lambda: rng.choice([b"", b"\x00\xff", b"abc"]), pa.binary()),
            "odd name.-": column(lambda: rng.choice(["x", "y"]), pa.string()),
        }
    )


BATCH = random_rows(random.Random(SEED), ROWS)
SCHEMA = TableSchema.from_arrow(BATCH.schema)
MAPPING = FieldMapping.of(SCHEMA, (), {"text": "text", "title": "text"})


def write_split(
    directory: Path,
    batches: list[pa.RecordBatch],
    mapping: FieldMapping,
    options: dict[str, str] | None = None,
) -> FinishedSplit:
    schema = TableSchema.from_arrow(batches[0].schema)
    writer = SplitWriter(schema, mapping, settings=Settings(options), directory=directory)
    for batch in batches:
        writer.write(batch)
    return writer.finish()


class RemoteStore:
    """A store that claims not to be on this machine's disk."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.ranges: list[tuple[int, int]] = []

    @property
    def uri(self) -> str:
        return f"remote:{self._inner.uri}"

    def head(self, key: str) -> object:
        return self._inner.head(key)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        self.ranges.append((start, length))
        return self._inner.get_range(key, start, length)

    def local_path(self, key: str) -> None:
        return None


def opened(directory: Path, split: FinishedSplit, *, remote: bool = False) -> SplitReader:
    store: Any = open_store(str(directory))
    options = Settings({"spark.indextables.cache.directoryPath": str(directory / "cache")})
    return open_split(RemoteStore(store) if remote else store, split.path.name, split.size, settings=options)


@pytest.fixture(scope="module", params=["local", "remote"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SplitReader:
    directory = tmp_path_factory.mktemp("split")
    pieces = [BATCH.slice(start, 90) for start in range(0, ROWS, 90)]
    options = {"spark.indextables.write.rowGroupRows": "64"}
    split = write_split(directory, pieces, MAPPING, options)
    return opened(directory, split, remote=request.param == "remote")


# --- the truth, the slow way ----------------------------------------------------------------------------------


def _tokens(text: str) -> list[str]:
    return "".join(c.lower() if c.isalnum() else " " for c in text).split()


def _has_word(query: TextQuery) -> pa.BooleanArray:
    """Answer the one-word queries of these tests from the rows."""
    names = ["text", "title"] if query.column == "*" else [query.column]
    columns = [BATCH.column(name).to_pylist() for name in names]
    word = query.query.lower()
    if query.op == "FIELDMATCH":
        return pa.array([None if v is None else v == query.query for v in columns[0]], pa.bool_())
    if query.column == "*":
        return pa.array(
            [any(v is not None and word in _tokens(v) for v in row) for row in zip(*columns, strict=True)]
        )
    return pa.array([None if v is None else word in _tokens(v) for v in columns[0]], pa.bool_())


def expected(predicate: Predicate) -> list[int]:
    answers = evaluate(predicate, BATCH, _has_word).to_pylist()
    return [row for row, answer in enumerate(answers) if answer]


def ids(reader: SplitReader, predicate: Predicate, **wanted: Any) -> list[int]:
    batches = list(reader.rows(RowRequest(("id",), predicate, **wanted)))
    return [row for batch in batches for row in batch.column("id").to_pylist()]


# --- random predicates ----------------------------------------------------------------------------------------

_literals: dict[str, list[Any]] = {
    name: [
        value for value in {repr(v): v for v in BATCH.column(name).to_pylist()}.values() if value is not None
    ][:12]
    for name in BATCH.schema.names
    if name not in ("id", "raw")
}
_literals["host"] += ["absent", "x" * 70000, "\ufffd"]
_literals["number"] += [2**40, -(2**40)]
_columns = st.sampled_from(sorted(_literals))


@st.composite
def _leaf(draw: st.DrawFn) -> Predicate:
    kind = draw(st.sampled_from(["compare", "compare", "in", "null", "match", "text", "text", "constant"]))
    name = draw(_columns)
    values = st.sampled_from(_literals[name])
    if kind == "compare":
        op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]))
        return Compare(op, name, draw(st.one_of(values, st.none())) if op == "<=>" else draw(values))
    if kind == "in":
        return In(name, tuple(draw(st.lists(st.one_of(values, st.none()), min_size=1, max_size=4))))
    if kind == "null":
        return IsNull(draw(st.sampled_from(BATCH.schema.names)))
    if kind == "match":
        how = draw(st.sampled_from(["starts_with", "ends_with", "contains"]))
        return StringMatch(
            how, draw(st.sampled_from(["text", "host"])), draw(st.sampled_from(["a", "", "日", "ta"]))
        )
    if kind == "constant":
        return Constant(draw(st.sampled_from([True, False, None])))
    if draw(st.booleans()):
        return TextQuery("FIELDMATCH", "host", draw(st.sampled_from(["a", "A", "é", "absent"])))
    return TextQuery(
        "TEXTSEARCH", draw(st.sampled_from(["text", "title", "*"])), draw(st.sampled_from([*WORDS, "absent"]))
    )


predicates = st.recursive(
    _leaf(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=6,
)
quick = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)


@quick
@given(predicate=predicates)
def test_the_rows_are_exactly_those_for_which_the_predicate_is_true(
    reader: SplitReader, predicate: Predicate
) -> None:
    truth = expected(predicate)
    assert ids(reader, predicate) == truth
    assert reader.count(predicate) == len(truth)
    assert sum(batch.num_rows for batch in reader.rows(RowRequest((), predicate))) == len(truth)


@quick
@given(predicate=predicates, limit=st.integers(0, 40))
def test_a_limit_gives_that_many_matching_rows_in_order(
    reader: SplitReader, predicate: Predicate, limit: int
) -> None:
    truth, found = expected(predicate), ids(reader, predicate, limit=limit)
    assert len(found) == min(limit, len(truth))
    assert set(found) <= set(truth)
    assert found == sorted(found)


@quick
@given(
    predicate=predicates,
    columns=st.lists(st.sampled_from([*BATCH.schema.names, "_score", "_snippet"]), unique=True).map(tuple),
)
def test_every_column_comes_back_as_it_went_in(
    reader: SplitReader, predicate: Predicate, columns: tuple[str, ...]
) -> None:
    truth = BATCH.take(pa.array(expected(predicate), pa.int64()))
    at = 0
    for batch in reader.rows(RowRequest(columns, predicate)):
        assert batch.schema.names == list(columns)
        for name in columns:
            if name not in ("_score", "_snippet"):
                assert batch.column(name).type == truth.schema.field(name).type
                same = truth.column(name).slice(at, batch.num_rows)
                assert repr(batch.column(name).to_pylist()) == repr(same.to_pylist())
        at += batch.num_rows
    assert at == truth.num_rows


@quick
@given(predicate=predicates, top=st.integers(1, 30))
def test_top_gives_the_best_rows_best_first(reader: SplitReader, predicate: Predicate, top: int) -> None:
    everything = [
        (row["_score"], row["id"])
        for batch in reader.rows(RowRequest(("id", "_score"), predicate))
        for row in batch.to_pylist()
    ]
    best = [
        (row["_score"], row["id"])
        for batch in reader.rows(RowRequest(("id", "_score"), predicate, top=top))
        for row in batch.to_pylist()
    ]
    if any(score is None for score, _ in everything):
        assert best == everything[:top]
    else:
        assert best == sorted(everything, key=lambda pair: (-pair[0], pair[1]))[:top]


# --- scores and snippets --------------------------------------------------------------------------------------


def _alone(query: str) -> dict[int, float]:
    """Return an index of the same rows that was built with Tantivy only."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text")
    builder.add_unsigned_field("id", fast=True)
    index = tantivy.Index(builder.build())
    writer = index.writer(15_000_000, 1)
    for row in BATCH.to_pylist():
        document = tantivy.Document()
        document.add_unsigned("id", row["id"])
        if row["text"] is not None:
            document.add_text("text", row["text"])
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(index.parse_query(query, ["text"]), limit=ROWS).hits
    return dict(
        zip(searcher.fast_field_values("id", [a for _, a in hits]), [s for s, _ in hits], strict=True)
    )


@pytest.mark.parametrize(
    "query", ["alpha", 'alpha AND "beta gamma"', "web^2 timeout -beta", '"alpha 한국"~2']
)
def test_scores_are_those_of_tantivy_alone(reader: SplitReader, query: str) -> None:
    request = RowRequest(("id", "_score"), TextQuery("TEXTSEARCH", "text", query))
    ours = {row["id"]: row["_score"] for batch in reader.rows(request) for row in batch.to_pylist()}
    assert ours == _alone(query)


def _scores(reader: SplitReader, predicate: Predicate) -> dict[int, float]:
    request = RowRequest(("id", "_score"), predicate)
    return {row["id"]: row["_score"] for batch in reader.rows(request) for row in batch.to_pylist()}


def test_only_text_queries_give_a_score(reader: SplitReader) -> None:
    alpha = TextQuery("TEXTSEARCH", "text", "alpha")
    plain = _scores(reader, alpha)
    for other in (Compare("=", "host", "a"), Compare(">", "number", 0), StringMatch("contains", "text", "a")):
        narrowed = _scores(reader, And((alpha, other)))
        assert narrowed
        assert narrowed.items() <= plain.items()
    assert set(_scores(reader, Compare("=", "host", "a")).values()) == {None}
    assert set(_scores(reader, Not(alpha)).values()) == {None}


def test_a_row_scores_by_the_queries_that_it_satisfies(reader: SplitReader) -> None:
    alpha, web = TextQuery("TEXTSEARCH", "text", "alpha"), TextQuery("TEXTSEARCH", "text", "web")
    one, two = _scores(reader, alpha), _scores(reader, web)
    either = _scores(reader, Or((alpha, web)))
    mixed = _scores(reader, Or((alpha, web, StringMatch("starts_with", "text", "beta"))))
    for row, score in mixed.items():
        assert score == pytest.approx(one.get(row, 0.0) + two.get(row, 0.0))
    assert either.items() <= mixed.items()
    assert 0.0 in mixed.values()


def test_snippets_show_the_words_that_matched(reader: SplitReader) -> None:
    query = TextQuery("TEXTSEARCH", "text", "timeout")
    request = RowRequest(("text", "_snippet"), query, limit=20)
    for batch in reader.rows(request):
        for row in batch.to_pylist():
            assert "<b>timeout</b>" in row["_snippet"]
    everywhere = RowRequest(("_snippet",), TextQuery("TEXTSEARCH", "*", "timeout"), snippet=Snippet("title"))
    snippets = [row["_snippet"] for batch in reader.rows(everywhere) for row in batch.to_pylist()]
    assert any(snippet is None for snippet in snippets)
    assert all(snippet is None or "<b>timeout</b>" in snippet for snippet in snippets)
    assert any(snippets)
    without = RowRequest(("_snippet",), Compare("=", "host", "a"), limit=3)
    assert {row["_snippet"] for batch in reader.rows(without) for row in batch.to_pylist()} == {None}


def test_snippet_html_is_escaped(tmp_path: Path) -> None:
    rows = pa.record_batch({"t": ["<script> alpha & omega"]})
    split = write_split(
        tmp_path, [rows], FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    )
    with opened(tmp_path, split) as reader:
        [batch] = reader.rows(RowRequest(("_snippet",), TextQuery("TEXTSEARCH", "t", "alpha")))
        assert batch.to_pylist() == [{"_snippet": "&lt;script&gt; <b>alpha</b> &amp; omega"}]


# --- the edges ------------------------------------------------------------------------------------------------


def test_several_segments_read_as_one(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    count = 24_000
    words = [f"{rng.getrandbits(48):012x}" for _ in range(count)]
    rows = pa.record_batch(
        {
            "id": pa.array(range(count), pa.int64()),
            "t": [f"{words[row]} {words[row - 1]} {words[row - 2]} common {row}" for row in range(count)],
            "s": [f"{words[row]}-{row % 7}" for row in range(count)],
        }
    )
    mapping = FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    split = write_split(tmp_path, [rows], mapping, {"spark.indextables.indexWriter.heapSize": "15M"})
    with opened(tmp_path, split) as reader:
        assert reader._contents.search.searcher.num_segments > 1
        for row in (0, 1, 5_000, count - 1):
            assert ids(reader, Compare("=", "s", f"{words[row]}-{row % 7}")) == [row]
            around = sorted({row, (row + 1) % count, (row + 2) % count})
            assert ids(reader, TextQuery("TEXTSEARCH", "t", words[row])) == around
        assert reader.count(TextQuery("TEXTSEARCH", "t", "common")) == count
        assert ids(reader, TextQuery("TEXTSEARCH", "t", "common")) == list(range(count))


def test_strings_too_long_for_the_index_are_still_found(tmp_path: Path) -> None:
    values = ["x" * 65530, "x" * 65531, "x" * 200_000, "x", None, "日" * 30_000]
    rows = pa.record_batch({"id": pa.array(range(6), pa.int64()), "s": values})
    mapping = FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {})
    split = write_split(tmp_path, [rows], mapping)
    with opened(tmp_path, split) as reader:
        for row, value in enumerate(values):
            if value is not None:
                assert ids(reader, Compare("=", "s", value)) == [row]
                assert reader.count(Compare("=", "s", value)) == 1
                assert ids(reader, Not(In("s", (value,)))) == [r for r in (0, 1, 2, 3, 5) if r != row]
        assert reader.count(IsNull("s")) == 1


def test_an_empty_split_has_no_rows(tmp_path: Path) -> None:
    split = write_split(tmp_path, [BATCH.slice(0, 0)], MAPPING)
    assert split.num_records == 0
    with opened(tmp_path, split) as reader:
        assert reader.num_rows == reader.count() == 0
        assert list(reader.rows(RowRequest(("id",)))) == []
        assert reader.count(TextQuery("TEXTSEARCH", "text", "alpha")) == 0
        assert (
            list(reader.rows(RowRequest(("id", "_score"), TextQuery("TEXTSEARCH", "text", "alpha"), top=5)))
            == []
        )


def test_the_reader_knows_columns_and_rows(reader: SplitReader) -> None:
    assert reader.num_rows == reader.count() == reader.count(TRUE) == ROWS
    assert reader.count(Constant(None)) == 0
    assert reader.schema == SCHEMA
    assert reader.mapping == MAPPING


def test_the_log_learns_sizes_and_bounds(tmp_path: Path) -> None:
    writer = SplitWriter(SCHEMA, MAPPING, settings=Settings(), directory=tmp_path)
    writer.write(BATCH)
    assert writer.rows == ROWS
    assert writer.input_bytes == BATCH.nbytes
    split = writer.finish()
    assert split.size == split.footer_end == split.path.stat().st_size
    assert 0 < split.footer_start < split.footer_end
    assert split.num_records == ROWS
    assert (split.min_values["id"], split.max_values["id"]) == ("0", str(ROWS - 1))
    assert not {"text", "title", "raw", "double", "single"} & split.min_values.keys()
    assert [path.name for path in tmp_path.iterdir()] == [split.path.name]


def test_an_aborted_split_leaves_nothing(tmp_path: Path) -> None:
    writer = SplitWriter(SCHEMA, MAPPING, settings=Settings(), directory=tmp_path)
    writer.write(BATCH)
    writer.abort()
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_rows_come_in_any_arrow_type_that_fits(tmp_path: Path) -> None:
    schema = TableSchema.from_arrow(pa.schema({"n": pa.int64(), "s": pa.string()}))
    writer = SplitWriter(schema, FieldMapping.of(schema, (), {}), settings=Settings(), directory=tmp_path)
    strings = pa.array(["a", None, "a"]).dictionary_encode()
    writer.write(pa.record_batch({"s": strings, "n": pa.array([1, 2, 3], pa.int32()), "more": [1, 2, 3]}))
    split = writer.finish()
    with opened(tmp_path, split) as reader:
        [batch] = reader.rows(RowRequest(("s", "n")))
        assert batch.to_pydict() == {"s": ["a", None, "a"], "n": [1, 2, 3]}
    writer = SplitWriter(schema, FieldMapping.of(schema, (), {}), settings=Settings(), directory=tmp_path)
    with pytest.raises(SchemaError, match="no column 'n'"):
        writer.write(pa.record_batch({"s": ["a"]}))
    writer.abort()


def test_text_that_is_not_utf8_is_kept_and_searchable(tmp_path: Path) -> None:
    raw = pa.array([b"caf\xe9 alpha", b"plain"]).cast(pa.binary())
    bad = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    rows = pa.RecordBatch.from_arrays([bad], names=["t"])
    mapping = FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    split = write_split(tmp_path, [rows], mapping)
    with opened(tmp_path, split) as reader:
        [batch] = reader.rows(RowRequest(("t",), TextQuery("TEXTSEARCH", "t", "alpha")))
        assert batch.column("t").cast(pa.binary()).to_pylist() == [b"caf\xe9 alpha"]


def test_a_search_reads_only_the_row_groups_it_needs(tmp_path: Path) -> None:
    count = 64 * 200
    rows = pa.record_batch(
        {
            "id": pa.array(range(count), pa.int64()),
            "t": [f"word{row}" for row in range(count)],
            "wide": [random.Random(row).randbytes(200) for row in range(count)],
        }
    )
    mapping = FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    split = write_split(tmp_path, [rows], mapping, {"spark.indextables.write.rowGroupRows": "64"})
    store = RemoteStore(open_store(str(tmp_path)))
    options = Settings({"spark.indextables.cache.directoryPath": str(tmp_path / "cache")})
    with open_split(store, split.path.name, split.size, settings=options) as reader:
        reader.count(TextQuery("TEXTSEARCH", "t", "word77"))
        store.ranges.clear()
        [batch] = reader.rows(RowRequest(("id", "wide"), TextQuery("TEXTSEARCH", "t", "word77")))
        assert batch.column("id").to_pylist() == [77]
        assert sum(length for _, length in store.ranges) < split.size / 10
        store.ranges.clear()
        assert ids(reader, Compare("=", "id", 12_000)) == [12_000]
        assert sum(length for _, length in store.ranges) < split.size / 20


def test_what_is_taken_in_pieces_is_the_same(reader: SplitReader, monkeypatch: pytest.MonkeyPatch) -> None:
    query = TextQuery("TEXTSEARCH", "text", "alpha OR web")
    mixed = And((query, Compare(">", "number", 0)))
    requests = [
        RowRequest(("id", "text", "_score"), query),
        RowRequest(("id", "_score"), mixed, top=50),
        RowRequest(("id", "raw"), StringMatch("contains", "text", "a")),
    ]

    def answers() -> list[list[dict[str, Any]]]:
        return [[row for batch in reader.rows(request) for row in batch.to_pylist()] for request in requests]

    whole = answers()
    monkeypatch.setattr("indextables.split.search.index_search._HITS_AT_ONCE", 100)
    monkeypatch.setattr("indextables.split.rows._WINDOW_BYTES", 1)
    assert answers() == whole


def test_a_pattern_that_fits_too_many_words_is_a_query_error(tmp_path: Path) -> None:
    rows = pa.record_batch({"t": [f"a{row} b{row}" for row in range(20_000)]})
    split = write_split(
        tmp_path, [rows], FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    )
    with opened(tmp_path, split) as reader:
        with pytest.raises(QueryError, match="too many different words"):
            reader.count(TextQuery("TEXTSEARCH", "t", "a*-b*"))
        assert reader.count(TextQuery("TEXTSEARCH", "t", "a*")) == 20_000


@pytest.mark.parametrize(
    "query",
    [
        "10.213.*",
        '"10.213.*"',
        "10.*.213",
        "*.213",
        "10.*",
        "NOT 10.213.*",
        "w1 OR 10.213.*",
        "10.213.* AND NOT w7",
    ],
)
def test_a_star_for_a_word_means_the_same_among_many_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    texts = [
        "10.213.4.5",
        "at 10.213",
        "10.9.213",
        "213 10",
        "10.213.w7",
        "x 213",
        "213",
        "10",
        "10 213. 213",
    ]
    rows = pa.record_batch({"t": texts + [f"w{row}" for row in range(20_000)]})
    split = write_split(
        tmp_path, [rows], FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    )

    def found() -> list[dict[str, Any]]:
        text = TextQuery("TEXTSEARCH", "t", query)
        with opened(tmp_path, split) as reader:
            batches = reader.rows(RowRequest(("t", "_score"), text))
            first = [row for batch in batches for row in batch.to_pylist()]
            assert reader.count(text) == len(first)
            return [row for row in first if not row["t"].startswith("w")]

    among_many = found()
    few = pa.record_batch({"t": [*texts, "w1", "w7"]})
    split = write_split(
        tmp_path, [few], FieldMapping.of(TableSchema.from_arrow(few.schema), (), {"t": "text"})
    )
    assert [row["t"] for row in found()] == [row["t"] for row in among_many]


# --- damage ---------------------------------------------------------------------------------------------------


def test_no_damaged_byte_goes_unnoticed(tmp_path: Path) -> None:
    """Damage each region in turn: the result is an error that names the split, or the right answer."""
    split = write_split(tmp_path, [BATCH], MAPPING, {"spark.indextables.write.rowGroupRows": "200"})
    clean = split.path.read_bytes()
    store = open_store(str(tmp_path))
    members = open_bundle(store, split.path.name, split.size).members.values()
    rng = random.Random(SEED)
    spots = [rng.randrange(m.offset, m.offset + m.length) for m in members for _ in range(12) if m.length]
    spots += [rng.randrange(split.footer_start, split.size) for _ in range(60)]
    query = And((TextQuery("TEXTSEARCH", "text", "alpha"), Compare(">", "number", 0)))
    truth = expected(query)
    table = repr(BATCH.to_pylist())
    with open_split(store, split.path.name, split.size, settings=Settings()) as reader:
        ranking = reader.ranking
    assert ranking is not None
    errors: list[str] = []
    for number, spot in enumerate(spots):
        damaged = bytearray(clean)
        damaged[spot] ^= 1 << rng.randrange(8)
        split.path.write_bytes(damaged)
        options = Settings({"spark.indextables.cache.directoryPath": str(tmp_path / f"cache{number}")})
        try:
            with open_split(store, split.path.name, split.size, settings=options) as reader:
                assert ids(reader, query) == truth
                assert reader.ranking == ranking
                assert (
                    repr([r for b in reader.rows(RowRequest(tuple(SCHEMA.names))) for r in b.to_pylist()])
                    == table
                )
        except CorruptTableError as error:
            errors.append(str(error))
    assert all(split.path.name in error for error in errors)
    assert len(errors) > len(spots) * 0.9


def test_a_truncated_or_missing_split_says_so(tmp_path: Path) -> None:
    split = write_split(tmp_path, [BATCH], MAPPING)
    clean = split.path.read_bytes()
    store = open_store(str(tmp_path))
    for length in (0, 10, split.footer_start, split.size - 1):
        split.path.write_bytes(clean[:length])
        with pytest.raises(CorruptTableError, match=split.path.name):
            open_split(store, split.path.name, split.size)
        with pytest.raises(CorruptTableError, match=split.path.name):
            open_split(store, split.path.name)
    split.path.unlink()
    with pytest.raises(CorruptTableError, match="missing"):
        open_split(store, split.path.name, split.size)


def test_the_rows_are_parquet_that_anything_reads(tmp_path: Path) -> None:
    split = write_split(tmp_path, [BATCH], MAPPING)
    bundle = open_bundle(open_store(str(tmp_path)), split.path.name, split.size)
    table = pq.read_table(pa.BufferReader(bundle.read("rows-0.parquet")))
    assert repr(table.to_pylist()) == repr(BATCH.to_pylist())
