"""A merged split gives the answers of its sources together, and the scores of one split of the same rows."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import orjson
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.config import Settings
from indextables.errors import InputError, StorageFullError, UnreadableSplitError
from indextables.predicates import (
    And,
    Compare,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StringMatch,
    TextQuery,
)
from indextables.rows import join_files
from indextables.schema import FieldMapping, TableSchema
from indextables.split import (
    FinishedSplit,
    MergedSplit,
    MergeSource,
    RowRequest,
    SplitReader,
    SplitWriter,
    merge_splits,
    open_split,
)
from indextables.split import writer as writer_module
from indextables.split.container import open_bundle
from indextables.split.index import RowRuns
from indextables.split.index_cache import index_bytes
from indextables.split.merge import index_linking, linking, merging, row_copies, sources
from indextables.split.merge.index_linking import CannotLinkError
from indextables.split.rows_writer import RowsWriter
from indextables.storage import open_store
from support.foreign import FIXTURES, TABLES

CUT_WORDS = Path(__file__).parent / "data" / "words-cut-at-40-bytes.split"
SEED = 20261118
WORDS = ["alpha", "beta", "gamma", "Δelta", "日本", "web", "timeout", "x" * 45]
HOSTS = ["a", "b", "A", "", "é", "a b"]


def random_rows(rng: random.Random, start: int, count: int) -> pa.RecordBatch:
    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else rng.choice(values) for _ in range(count)], kind)

    texts = [" ".join(rng.choices(WORDS, k=rng.randint(0, 6))) for _ in range(60)]
    return pa.record_batch(
        {
            "id": pa.array(range(start, start + count), pa.int64()),
            "text": column(texts, pa.string()),
            "title": column([f"{text}!" for text in texts[:9]], pa.string()),
            "host": column(HOSTS, pa.string()),
            "number": column(list(range(-20, 20)), pa.int32()),
            "double": column([0.0, -0.0, 1.5, float("nan"), float("inf"), -2.25], pa.float64()),
            "flag": column([True, False], pa.bool_()),
            "at": column([-3, 0, 5, 10**15], pa.timestamp("us", tz="UTC")),
            "raw": column([b"", b"\x00\xff"], pa.binary()),
        }
    )


SCHEMA = TableSchema.from_arrow(random_rows(random.Random(SEED), 0, 1).schema)
MAPPING = FieldMapping.of(SCHEMA, (), {"text": "text", "title": "text"})
OPTIONS = {
    "spark.indextables.write.rowGroupRows": "64",
    "spark.indextables.stats.bloom.columns": "host",
    "spark.indextables.indexWriter.heapSize": "15M",
}


def write(directory: Path, *batches: pa.RecordBatch, options: dict[str, str] | None = None) -> FinishedSplit:
    writer = SplitWriter(
        SCHEMA, MAPPING, settings=Settings(OPTIONS if options is None else options), directory=directory
    )
    for batch in batches:
        writer.write(batch)
    return writer.finish()


def source(split: FinishedSplit) -> MergeSource:
    return MergeSource(open_store(str(split.path.parent)), split.path.name, split.size, split.num_records)


def merge(directory: Path, *merged: MergeSource, options: dict[str, str] | None = None) -> MergedSplit:
    return merge_splits(
        merged,
        mapping=MAPPING,
        schema=SCHEMA,
        settings=Settings(OPTIONS if options is None else options),
        directory=directory,
    )


def opened(split: FinishedSplit) -> SplitReader:
    return open_split(open_store(str(split.path.parent)), split.path.name, split.size, settings=Settings())


def rows(reader: SplitReader, request: RowRequest) -> list[dict[str, Any]]:
    return [row for batch in reader.rows(request) for row in batch.to_pylist()]


class Merged:
    """Splits, the split that was merged from them, and one written at once from the same rows."""

    def __init__(self, directory: Path, counts: list[int], options: dict[str, str] | None = None) -> None:
        rng = random.Random(SEED)
        starts = [sum(counts[:n]) for n in range(len(counts))]
        self.batches = [random_rows(rng, start, n) for start, n in zip(starts, counts, strict=True)]
        self.splits = [write(directory / "sources", batch, options=options) for batch in self.batches]
        self.split = merge(directory / "merged", *map(source, self.splits), options=options)
        self.fresh_split = write(directory / "fresh", *self.batches, options=options)
        self.sources = [opened(split) for split in self.splits]
        self.merged = opened(self.split)
        self.fresh = opened(self.fresh_split)


@pytest.fixture(
    scope="module",
    params=[
        ("linked", [150, 1, 90, 0, 210]),
        ("linked", [100, 130]),
        ("linked", [60, 3, 40, 20, 70, 64, 65, 10]),
        ("linked", [20, 31] * 10),
        ("indexed again", [150, 1, 90, 0, 210]),
    ],
    ids=lambda param: f"{len(param[1])} splits {param[0]}",
)
def merged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Merged:
    method, counts = request.param
    with pytest.MonkeyPatch.context() as patch:
        if method != "linked":
            patch.setattr(merging, "link_splits", _cannot_link)
        result = Merged(tmp_path_factory.mktemp("merge"), counts)
    assert (result.split.method, result.split.reason) == (
        method,
        None if method == "linked" else "as the test says",
    )
    return result


def _cannot_link(*_: object, **__: object) -> NoReturn:
    raise CannotLinkError("as the test says")


# --- generated queries ----------------------------------------------------------------------------------------

_literals: dict[str, list[Any]] = {
    "host": [*HOSTS, "absent", "x" * 70_000],
    "number": [-20, -1, 0, 7, 19, 2**40],
    "double": [0.0, 1.5, float("nan"), float("inf")],
    "flag": [True, False],
    "id": [0, 149, 150, 151, 240, 450],
}
_queries = [
    *WORDS,
    "absent",
    "alpha AND web",
    "alpha OR timeout",
    '"alpha beta"',
    '"alpha 日本"~2',
    "tim*",
    "timeot~1",
    "web^2 timeout -beta",
    "NOT gamma",
    "*",
]


@st.composite
def _leaf(draw: st.DrawFn) -> Predicate:
    kind = draw(st.sampled_from(["compare", "in", "null", "match", "text", "text", "field"]))
    name = draw(st.sampled_from(sorted(_literals)))
    values = st.sampled_from(_literals[name])
    match kind:
        case "compare":
            return Compare(
                draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])), name, draw(values)
            )
        case "in":
            return In(name, tuple(draw(st.lists(values | st.none(), min_size=1, max_size=4))))
        case "null":
            return IsNull(draw(st.sampled_from(SCHEMA.names)))
        case "match":
            how = draw(st.sampled_from(["starts_with", "ends_with", "contains"]))
            return StringMatch(
                how, draw(st.sampled_from(["text", "host"])), draw(st.sampled_from(["a", "日"]))
            )
        case "field":
            return TextQuery("FIELDMATCH", "host", draw(st.sampled_from(["a", "A", "é", "absent"])))
        case _:
            column = draw(st.sampled_from(["text", "title", "*"]))
            return TextQuery("TEXTSEARCH", column, draw(st.sampled_from(_queries)))


predicates = st.recursive(
    _leaf(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=5,
)


@settings(
    max_examples=200,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(predicate=predicates)
def test_every_answer_is_that_of_the_sources_together(merged: Merged, predicate: Predicate) -> None:
    columns = tuple(SCHEMA.names)
    before = [row for reader in merged.sources for row in rows(reader, RowRequest(columns, predicate))]
    assert repr(rows(merged.merged, RowRequest(columns, predicate))) == repr(before)
    assert merged.merged.count(predicate) == len(before)
    assert len(rows(merged.merged, RowRequest(("id",), predicate, limit=7))) == min(7, len(before))


@settings(
    max_examples=60,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(predicate=predicates)
def test_scores_are_those_of_a_split_written_at_once(merged: Merged, predicate: Predicate) -> None:
    request = RowRequest(("id", "_score"), predicate)
    fresh = {row["id"]: row["_score"] for row in rows(merged.fresh, request)}
    assert {row["id"]: row["_score"] for row in rows(merged.merged, request)} == pytest.approx(fresh)
    best = rows(merged.merged, RowRequest(("id", "_score"), predicate, top=5))
    expected = rows(merged.fresh, RowRequest(("id", "_score"), predicate, top=5))
    assert [row["_score"] for row in best] == pytest.approx([row["_score"] for row in expected])


def test_statistics_are_those_of_a_split_written_at_once(merged: Merged) -> None:
    split, fresh = merged.split, merged.fresh_split
    assert split.num_records == fresh.num_records == sum(split.num_records for split in merged.splits)
    assert (split.min_values, split.max_values) == (fresh.min_values, fresh.max_values)
    assert split.stats == fresh.stats
    assert split.stats is not None
    assert split.path.stat().st_size == split.size == split.footer_end
    assert split.footer_start < split.footer_end


def test_nothing_but_the_merged_split_remains(merged: Merged) -> None:
    assert list(merged.split.path.parent.iterdir()) == [merged.split.path]


# --- sources of other writers and releases --------------------------------------------------------------------


def test_a_split_of_the_older_tokenizer_gets_the_words_that_its_index_lacks(tmp_path: Path) -> None:
    store = open_store(str(CUT_WORDS.parent))
    with open_split(store, CUT_WORDS.name, settings=Settings()) as old:
        split = merge_splits(
            [MergeSource(store, CUT_WORDS.name)] * 2,
            mapping=old.mapping,
            schema=old.schema,
            settings=Settings(),
            directory=tmp_path,
        )
        assert "before splits had row ids of their own" in str(split.reason)
        columns = tuple(old.schema.names)
        before = rows(old, RowRequest(columns))
        with opened(split) as new:
            assert rows(new, RowRequest(columns)) == before * 2
            [text] = new.mapping.of_kind("text")[:1]
            longest = max((word for row in before for word in (row[text.name] or "").split()), key=len)
            assert len(longest) >= 40
            query = TextQuery("TEXTSEARCH", text.name, f'"{longest}"')
            assert new.count(query) == 2 * old.count(query) > 0


@pytest.mark.skipif(not TABLES, reason="the fixtures are not next to this checkout")
@pytest.mark.parametrize("name", TABLES)
def test_splits_of_the_original_become_one_of_this_package(tmp_path: Path, name: str) -> None:
    path = FIXTURES / name
    store = open_store(str(path))
    found = sorted(info.key for info in store.list_from("") if info.key.endswith(".split"))
    with open_split(store, found[0], settings=Settings()) as first:
        schema, mapping = first.schema, first.mapping
    columns = tuple(schema.names)
    before = []
    for key in found:
        with open_split(store, key, settings=Settings(), mapping=mapping) as split:
            before += rows(split, RowRequest(columns))
    split = merge_splits(
        [MergeSource(store, key) for key in found],
        mapping=mapping,
        schema=schema,
        settings=Settings(),
        directory=tmp_path,
    )
    assert (split.method, str(split.reason).endswith("is of another writer")) == ("indexed again", True)
    with opened(split) as new:
        assert (new.mapping, new.num_rows) == (mapping, len(before))
        assert [orjson.dumps(row, default=repr) for row in rows(new, RowRequest(columns))] == [
            orjson.dumps(row, default=repr) for row in before
        ]
        for column in mapping.of_kind("text"):
            word = next(word for row in before for word in (row[column.name] or "").split() if word.isalnum())
            assert new.count(TextQuery("TEXTSEARCH", column.name, word)) >= 1


# --- what goes wrong ------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path: Path) -> list[FinishedSplit]:
    rng = random.Random(SEED)
    return [write(tmp_path / "sources", random_rows(rng, n * 100, 100)) for n in range(3)]


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", ["rows", "index", "footer", "cut", "missing"])
def test_a_damaged_source_is_named(tmp_path: Path, three: list[FinishedSplit], damage: str) -> None:
    broken = three[1]
    store = open_store(str(broken.path.parent))
    with open_split(store, broken.path.name, settings=Settings()) as reader:
        inside = reader._contents._bundle.member("rows-0.parquet")
    match damage:
        case "rows":
            _flip(broken.path, inside.offset + inside.length // 4)
        case "index":
            _flip(broken.path, 100)
        case "footer":
            _flip(broken.path, broken.footer_start + 20)
        case "cut":
            broken.path.write_bytes(broken.path.read_bytes()[:-100])
        case _:
            broken.path.unlink()
    (tmp_path / "merged").mkdir()
    with pytest.raises(UnreadableSplitError, match=r"cannot merge split .*: ") as error:
        merge(tmp_path / "merged", *map(source, three))
    assert error.value.path == broken.path.name
    assert broken.path.name in str(error.value)
    assert list((tmp_path / "merged").iterdir()) == []
    whole = merge(tmp_path / "merged", source(three[0]), source(three[2]))
    assert whole.num_records == 200


def test_another_number_of_rows_than_the_log_records_is_refused(
    tmp_path: Path, three: list[FinishedSplit]
) -> None:
    wrong = MergeSource(open_store(str(three[2].path.parent)), three[2].path.name, three[2].size, 101)
    with pytest.raises(UnreadableSplitError, match="has 100 rows instead of 101") as error:
        merge(tmp_path / "merged", source(three[0]), wrong)
    assert error.value.path == three[2].path.name


def test_a_source_of_other_columns_is_named(tmp_path: Path, three: list[FinishedSplit]) -> None:
    other = pa.record_batch({"id": pa.array([1], pa.int64()), "text": ["alpha"]})
    schema = TableSchema.from_arrow(other.schema)
    writer = SplitWriter(
        schema, FieldMapping.of(schema, (), {}), settings=Settings(), directory=tmp_path / "sources"
    )
    writer.write(other)
    strange = writer.finish()
    with pytest.raises(UnreadableSplitError, match="it has no column 'title'; it has id, text") as error:
        merge(tmp_path / "merged", source(three[0]), source(strange))
    assert error.value.path == strange.path.name


@pytest.mark.parametrize(
    ("module", "step"),
    [(linking, "extract_members"), (row_copies, "join_files"), (linking, "assemble_split")],
)
def test_a_full_disk_is_not_the_fault_of_a_source(
    tmp_path: Path,
    three: list[FinishedSplit],
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    step: str,
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, step, full)
    (tmp_path / "merged").mkdir()
    with pytest.raises(StorageFullError, match="cannot merge splits in"):
        merge(tmp_path / "merged", *map(source, three))
    assert list((tmp_path / "merged").iterdir()) == []


def test_a_full_disk_while_indexing_leaves_nothing(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_writer: SplitWriter, _batch: pa.RecordBatch) -> NoReturn:
        raise StorageFullError("the disk is full")

    monkeypatch.setattr(merging, "link_splits", _cannot_link)
    monkeypatch.setattr(SplitWriter, "write", full)
    with pytest.raises(StorageFullError):
        merge(tmp_path / "merged", *map(source, three))
    assert list((tmp_path / "merged").iterdir()) == []


# --- why rows are indexed again -------------------------------------------------------------------------------


def _again(directory: Path, splits: list[FinishedSplit], options: dict[str, str] | None = None) -> str | None:
    """Merge, check the rows, and return why the splits were not linked."""
    split = merge(directory / "merged", *map(source, splits), options=options)
    assert list((directory / "merged").iterdir()) == [split.path]
    with opened(split) as reader:
        before = [row["id"] for one in splits for row in rows(opened(one), RowRequest(("id",)))]
        assert [row["id"] for row in rows(reader, RowRequest(("id",)))] == before
        assert reader.count(TextQuery("TEXTSEARCH", "text", "alpha")) == sum(
            opened(one).count(TextQuery("TEXTSEARCH", "text", "alpha")) for one in splits
        )
    assert (split.method == "linked") == (split.reason is None)
    return split.reason


def test_splits_that_fit_together_are_linked_and_can_be_linked_once_more(
    tmp_path: Path, three: list[FinishedSplit]
) -> None:
    first = merge(tmp_path / "once", *map(source, three[:2]))
    assert first.method == "linked"
    assert _again(tmp_path, [three[2], first]) is None


def test_columns_in_files_of_their_own_are_joined_each(tmp_path: Path) -> None:
    rng, options = random.Random(SEED), {**OPTIONS, "spark.indextables.columns.groups": "raw; title,number"}
    splits = [write(tmp_path / "s", random_rows(rng, n * 90, 90), options=options) for n in range(3)]
    split = merge(tmp_path / "merged", *map(source, splits), options=options)
    assert split.method == "linked"
    before = [row for one in splits for row in rows(opened(one), RowRequest(tuple(SCHEMA.names)))]
    with opened(split) as reader:
        assert repr(rows(reader, RowRequest(tuple(SCHEMA.names)))) == repr(before)
        some = RowRequest(("raw", "id", "title"), Compare("=", "id", 100))
        assert [row["id"] for row in rows(reader, some)] == [100]


def _rewritten(
    directory: Path, splits: list[FinishedSplit], options: dict[str, str] | None = None
) -> str | None:
    """Merge, check the rows, and return why the rows of the linked split were written again."""
    assert _again(directory, splits, options) is None
    split = merge(directory / "once more", *map(source, splits), options=options)
    columns = tuple(SCHEMA.names)
    before = [row for one in splits for row in rows(opened(one), RowRequest(columns))]
    with opened(split) as reader:
        assert repr(rows(reader, RowRequest(columns))) == repr(before)
        for n in range(0, len(before), 37):  # by their pages
            some = RowRequest(columns, Compare("=", "id", before[n]["id"]))
            assert repr(rows(reader, some)) == repr(before[n : n + 1])
    return split.rewritten


def test_joined_rows_that_cannot_be_read_are_written_again(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(files: Any, target: Path) -> tuple[bytes, bytes]:
        checksums, pages = join_files(files, target)
        _flip(target, 200)
        return checksums, pages

    monkeypatch.setattr(row_copies, "join_files", damaged)
    assert "the joined rows cannot be read" in str(_rewritten(tmp_path, three))


def test_the_same_row_ids_twice_are_indexed_again(tmp_path: Path, three: list[FinishedSplit]) -> None:
    assert "their row ids overlap" in str(_again(tmp_path, [three[0], three[0]]))


def test_many_runs_of_row_ids_become_one(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linking, "_MAX_RUNS", 3)
    linked = merge(tmp_path / "linked", *map(source, three))
    assert linked.method == "linked"
    more = write(tmp_path / "sources", random_rows(random.Random(1), 300, 50))
    assert _again(tmp_path, [linked, more]) == "their row ids are in 4 runs, more than 3"
    again = merge(tmp_path / "again", source(linked), source(more))
    with opened(again) as reader:
        assert len(reader._contents.row_runs.runs) == 1
    assert merge(tmp_path / "later", source(again), source(three[0])).method == "linked"


def test_rows_of_other_compression_are_written_again(tmp_path: Path, three: list[FinishedSplit]) -> None:
    options = {**OPTIONS, "spark.indextables.write.compression": "zstd"}
    other = write(tmp_path / "sources", random_rows(random.Random(1), 300, 50), options=options)
    assert "compressed in different ways" in str(_rewritten(tmp_path, [three[0], other]))


def test_rows_of_other_column_groups_are_written_again(tmp_path: Path, three: list[FinishedSplit]) -> None:
    options = {**OPTIONS, "spark.indextables.columns.groups": "raw; title,number"}
    other = write(tmp_path / "sources", random_rows(random.Random(1), 300, 50), options=options)
    assert "grouped in different ways" in str(_rewritten(tmp_path, [three[0], other], options=options))


def test_many_small_row_groups_are_written_again(tmp_path: Path, three: list[FinishedSplit]) -> None:
    assert "which is too few" in str(_rewritten(tmp_path, three, options={}))


def test_rows_that_cannot_be_written_again_leave_nothing(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_writer: RowsWriter, _batch: pa.RecordBatch) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RowsWriter, "write", full)
    with pytest.raises(StorageFullError, match="cannot merge splits in"):
        merge(tmp_path / "merged", *map(source, three), options={})
    assert list((tmp_path / "merged").iterdir()) == []


def test_little_space_is_an_error_before_anything_is_written(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(split.size for split in three)
    need = 2 * size + 2 * sum(map(index_size, three))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 77, 77))
    with pytest.raises(StorageFullError) as error:
        merge(tmp_path / "merged", *map(source, three))
    message = str(error.value)
    assert f"cannot merge 3 splits of {size} bytes: this takes up to {need} bytes in" in message
    assert "where 77 are free" in message
    assert "spark.indextables.indexWriter.tempDirectoryPath" in message
    assert list((tmp_path / "merged").iterdir()) == []


def index_size(split: FinishedSplit) -> int:
    return index_bytes(open_bundle(open_store(str(split.path.parent)), split.path.name))


@pytest.mark.parametrize("is_linked", [True, False], ids=["linked", "indexed again"])
def test_the_space_that_is_checked_is_enough_for_repetitive_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_linked: bool
) -> None:
    """Their indexes are many times as large as they are in a split."""
    count = 6000
    line = " ".join(f"word{n % 40}" for n in range(60))
    batch = random_rows(random.Random(SEED), 0, count)
    repeated = {"text": pa.array([line] * count), "title": pa.array([line] * count)}
    columns = {name: repeated.get(name, batch.column(name)) for name in batch.schema.names}
    for name in ("host", "number", "double", "flag", "at", "raw"):
        columns[name] = pa.nulls(count, batch.schema.field(name).type)
    splits = [write(tmp_path / "sources", pa.record_batch(columns), options={}) for _ in range(4)]
    directory = tmp_path / "merged"
    directory.mkdir()
    needed = list[int]()
    peak = 0

    def measured(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal peak
            try:
                return function(*arguments, **named)
            finally:
                files = [path for path in directory.rglob("*") if path.is_file()]
                peak = max(peak, sum(path.stat().st_size for path in files))

        return call

    needed_bytes = merging._needed_bytes
    monkeypatch.setattr(
        merging, "_needed_bytes", lambda bundle: needed.append(needed_bytes(bundle)) or needed[-1]
    )
    if not is_linked:
        monkeypatch.setattr(merging, "link_splits", _cannot_link)
        monkeypatch.setattr(writer_module, "assemble_split", measured(writer_module.assemble_split))
    for module, name in (
        (linking, "extract_members"),
        (linking, "link_indexes"),
        (linking, "_merge_rows"),
        (linking, "assemble_split"),
        (index_linking, "_link_segments"),
        (index_linking, "built_index"),
    ):
        monkeypatch.setattr(module, name, measured(getattr(module, name)))
    merged = merge(directory, *map(source, splits), options={})
    size = sum(split.size for split in splits)
    print(f"{merged.method}: sources {size}, peak {peak}, checked {sum(needed)}")
    assert peak <= sum(needed)
    if is_linked:
        assert peak > 4 * size, "the rows are not as repetitive as they should be"


def test_a_merge_that_the_engine_refuses_is_indexed_again(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_linking, "_no_deletes", lambda documents: b"damaged")
    assert _again(tmp_path, three) is not None


def test_an_index_that_lacks_a_row_is_indexed_again(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = index_linking._no_deletes

    def one_deleted(documents: int) -> bytes:
        data = bytearray(whole(documents))
        data[4] &= 0xFE
        return bytes(data)

    monkeypatch.setattr(index_linking, "_no_deletes", one_deleted)
    assert "or some of them are deleted" in str(_again(tmp_path, three))


def test_wrong_ids_are_indexed_again(
    tmp_path: Path, three: list[FinishedSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(sources: Any) -> RowRuns:
        runs = check(sources).runs
        return RowRuns((runs[0]._replace(base=runs[0].base + 1), *runs[1:]))

    check = linking._row_runs
    monkeypatch.setattr(linking, "_row_runs", shifted)
    assert "row id" in str(_again(tmp_path, three))


def test_a_merge_of_no_splits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one split"):
        merge(tmp_path)


def test_rows_of_a_source_come_in_its_order(three: list[FinishedSplit]) -> None:
    batches = sources.source_rows(source(three[1]), mapping=MAPPING, schema=SCHEMA, settings=Settings())
    assert [value for batch in batches for value in batch.column("id").to_pylist()] == list(range(100, 200))
