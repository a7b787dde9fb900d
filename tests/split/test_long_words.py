"""Words of any length are found, also those that the index of a split does not hold.

Answers are compared with plain Python over the same rows, written by this release and by one from before. The latter
are in `tests/data`: its index lacks the words of 40 bytes and more, and both lack those of more than 65,530.
"""

from __future__ import annotations

import itertools
import random
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
import tantivy
from hypothesis import example, given
from hypothesis import strategies as st

import indextables as it
from indextables.config import Settings
from indextables.errors import ProtocolError, QueryError
from indextables.maintenance import repair
from indextables.predicates import And, Compare, IsNull, Not, Or, Predicate, TextQuery
from indextables.schema import FieldMapping, MappedField, TableSchema, tokenizer_names, tokenizers
from indextables.split import RowRequest, SplitReader, SplitWriter, open_split
from indextables.split.index.words import bytes_as_written, cut_words, unindexed_rows
from indextables.split.index_cache.entry_record import checksum, record_files
from indextables.split.query.bound import Regexes
from indextables.split.query.tree import Wildcard
from indextables.split.query.word_tests import Alike, Fits, positioned_tests
from indextables.storage import open_store
from support.foreign import write_foreign

OLD = Path(__file__).parent / "data" / "words-cut-at-40-bytes.split"
SHA = "a489c868f0c37da93b76227c91bb03908ac0e742"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
CHINESE = "中文日本"
COLUMNS = ("id", "t", "u", "s", "n")
MAPPING_OF = dict.fromkeys("tu", "text;tokenizer=words")
"""The words of the old split: Chinese text is one word, and the same for all."""


def _settings(directory: Path) -> Settings:
    return Settings({"spark.indextables.cache.directoryPath": str(directory / "cache")})


def _old(directory: Path) -> SplitReader:
    shutil.copy(OLD, directory / "old.split")
    return open_split(open_store(str(directory)), "old.split", settings=_settings(directory))


def _written(directory: Path, rows: pa.RecordBatch, typemap: dict[str, str] = MAPPING_OF) -> SplitReader:
    schema = TableSchema.from_arrow(rows.schema)
    writer = SplitWriter(
        schema,
        FieldMapping.of(schema, (), typemap),
        settings=Settings({"spark.indextables.write.rowGroupRows": "50"}),
        directory=directory,
    )
    writer.write(rows)
    name = writer.finish().path.name
    return open_split(open_store(str(directory)), name, settings=_settings(directory))


def _foreign(directory: Path, rows: pa.RecordBatch) -> SplitReader:
    """Return the same rows in a split of another writer, whose tokenizer also drops words of 40 bytes and more."""
    builder = tantivy.SchemaBuilder()
    for name in ("id", "n"):
        builder.add_integer_field(name, stored=True, fast=True)
    for name in ("t", "u"):
        builder.add_text_field(name, stored=True, tokenizer_name="default")
    builder.add_text_field("s", stored=True, tokenizer_name="raw")
    documents = [{k: v for k, v in row.items() if v is not None} for row in rows.to_pylist()]
    write_foreign(directory / "foreign.split", builder.build(), [documents])
    schema = TableSchema.from_arrow(rows.schema)
    mapping = FieldMapping.of(schema, (), MAPPING_OF)
    store = open_store(str(directory))
    return open_split(store, "foreign.split", settings=_settings(directory), mapping=mapping)


@pytest.fixture(scope="module", params=["old", "new", "foreign"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SplitReader:
    directory = tmp_path_factory.mktemp(request.param)
    old = _old(directory)
    if request.param == "old":
        return old
    rows = pa.Table.from_batches(old.rows(RowRequest(COLUMNS))).combine_chunks().to_batches()[0]
    return _written(directory, rows) if request.param == "new" else _foreign(directory, rows)


# --- the truth, the slow way ----------------------------------------------------------------------------------


@cache
def _words(text: str) -> list[str]:
    return "".join(c.lower() if c.isalnum() else " " for c in text).split()


@dataclass(frozen=True)
class Ask:
    """A query, and a function that decides it for the words of a text."""

    query: str
    holds: Callable[[list[str]], bool]


def _any(test: Callable[[str], bool]) -> Callable[[list[str]], bool]:
    return lambda words: any(map(test, words))


def _in_a_row(*tests: Callable[[str], bool]) -> Callable[[list[str]], bool]:
    return lambda words: any(
        all(test(word) for test, word in zip(tests, words[at:], strict=False))
        for at in range(len(words) - len(tests) + 1)
    )


def _is(word: str) -> Callable[[str], bool]:
    return lambda other: other == word


def _begins(prefix: str) -> Callable[[str], bool]:
    return lambda other: other.startswith(prefix)


@cache
def _distance(a: str, b: str) -> int:
    if abs(len(a) - len(b)) > 2:
        return 3
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y)))
            if i > 1 and j > 1 and (x, a[i - 2]) == (b[j - 2], y):
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def _near(word: str, distance: int) -> Callable[[list[str]], bool]:
    return _any(lambda other: _distance(word, other) <= distance)


EXACT = [
    *(SHA, SHA.upper(), SHA[:39], SHA + "f", SHA256, "x" * 39, "x" * 40, "x" * 41, "alpha", "a489c868"),
    *("k" * 14, "\N{KELVIN SIGN}" * 14, "k" * 39, CHINESE * 3 + "中", CHINESE * 3 + "中文", "alpha" * 8),
    *("q" * 65530, "q" * 65531, "q" * 70000),
]
LEAVES = [
    *(Ask(word, _any(_is(_words(word)[0]))) for word in EXACT),
    *(
        Ask(f"{prefix}*", _any(_begins(prefix.lower())))
        for prefix in (
            "a489c868",
            "A489C868F0",
            "alpha",
            "x",
            "x" * 39,
            "x" * 40,
            "9f86",
            "kk",
            "中文日",
            "q",
            "z",
        )
    ),
    Ask("q" * 65531 + "*", _any(_begins("q" * 65531))),
    Ask("*0e742", _any(lambda w: w.endswith("0e742"))),
    Ask("*e742?", _any(lambda w: w[:-1].endswith("e742"))),
    Ask("a489*ac0*742", _any(lambda w: w.startswith("a489") and w.endswith("742") and "ac0" in w[4:-3])),
    Ask("x" * 39 + "?", _any(lambda w: len(w) == 40 and w.startswith("x" * 39))),
    Ask("eyJh*.eyJz*.Sfl*", _in_a_row(_begins("eyjh"), _begins("eyjz"), _begins("sfl"))),
    Ask(f"{SHA[:-1]}~1", _near(SHA[:-1], 1)),
    Ask(f"{SHA[:38]}e7~2", _near(f"{SHA[:38]}e7", 2)),
    Ask("x" * 38 + "~2", _near("x" * 38, 2)),
    Ask("alpha~1", _near("alpha", 1)),
    Ask(f'"alpha {SHA}"', _in_a_row(_is("alpha"), _is(SHA))),
    Ask(f'"{SHA} alpha"', _in_a_row(_is(SHA), _is("alpha"))),
    Ask(f'"alpha {"q" * 70000} beta"', _in_a_row(_is("alpha"), _is("q" * 70000), _is("beta"))),
    Ask('"alpha beta"', _in_a_row(_is("alpha"), _is("beta"))),
    Ask('"beta gamma"', _in_a_row(_is("beta"), _is("gamma"))),
    Ask('"gamma delta"', _in_a_row(_is("gamma"), _is("delta"))),
    Ask('"alpha x"*', _in_a_row(_is("alpha"), _begins("x"))),
    Ask('"alpha q"*', _in_a_row(_is("alpha"), _begins("q"))),
    Ask('"a489"*', _any(_begins("a489"))),
    Ask(f'"{SHA} al"*', _in_a_row(_is(SHA), _begins("al"))),
    Ask("t:[xx TO xxxy]", _any(lambda w: "xx" <= w <= "xxxy")),
    Ask(f"t:{{{'x' * 39} TO {'x' * 41}}}", _any(lambda w: "x" * 39 < w < "x" * 41)),
    Ask("t:>=pp", _any(lambda w: w >= "pp")),
    Ask(f"t:IN [{SHA256} zzz]", _any(_is(SHA256))),
]


def _ids(reader: SplitReader, predicate: Predicate) -> list[int]:
    batches = list(reader.rows(RowRequest(("id",), predicate)))
    found = [row for batch in batches for row in batch.column("id").to_pylist()]
    assert reader.count(predicate) == len(found)
    return sorted(found)


@pytest.fixture(scope="module")
def rows(reader: SplitReader) -> list[dict[str, object]]:
    return pa.Table.from_batches(reader.rows(RowRequest(COLUMNS))).to_pylist()


def _expected(rows: list[dict[str, object]], holds: Callable[[dict[str, object]], bool | None]) -> list[int]:
    return [row["id"] for row in rows if holds(row)]  # type: ignore[misc]


def _of(column: str, ask: Ask) -> Callable[[dict[str, object]], bool | None]:
    return lambda row: None if row[column] is None else ask.holds(_words(str(row[column])))


@pytest.mark.parametrize("ask", LEAVES, ids=lambda ask: ask.query[:30])
def test_every_operator_finds_words_of_every_length(
    reader: SplitReader, rows: list[dict[str, object]], ask: Ask
) -> None:
    query = TextQuery("TEXTSEARCH", "t", ask.query)
    truth = _of("t", ask)
    assert _ids(reader, query) == _expected(rows, truth)
    assert _ids(reader, Not(query)) == _expected(rows, lambda row: truth(row) is False)
    assert _ids(reader, Or((query, IsNull("t")))) == _expected(rows, lambda row: truth(row) is not False)
    both = And((Not(query), Compare("<", "n", 5)))
    assert _ids(reader, both) == _expected(
        rows,
        lambda row: truth(row) is False and row["n"] is not None and row["n"] < 5,  # type: ignore[operator]
    )
    if not ask.query.startswith("t:") and len(ask.query) < 1000:
        negated = TextQuery("TEXTSEARCH", "t", f"alpha AND NOT {ask.query}")
        alpha = _of("t", Ask("alpha", _any(_is("alpha"))))
        assert _ids(reader, negated) == _expected(rows, lambda row: alpha(row) and truth(row) is False)
        everywhere = TextQuery("TEXTSEARCH", "*", f"({ask.query})^2 OR n{'o' * 45}")
        assert _ids(reader, everywhere) == _expected(rows, lambda row: truth(row) or _of("u", ask)(row))


def test_words_of_several_columns_and_numbers_are_combined(
    reader: SplitReader, rows: list[dict[str, object]]
) -> None:
    rng = random.Random(7)
    plain = [ask for ask in LEAVES if not ask.query.startswith("t:") and len(ask.query) < 200]
    for _ in range(25):
        a, b, c = rng.sample(plain, 3)
        low = rng.randint(0, 9)
        query = TextQuery(
            "INDEXQUERY", "*", f"(t:({a.query}) AND NOT u:({b.query})) OR (n:>={low} AND t:({c.query}))"
        )

        def truth(row: dict[str, object], a: Ask = a, b: Ask = b, c: Ask = c, low: int = low) -> bool:
            left = _of("t", a)(row) and not _of("u", b)(row)
            right = row["n"] is not None and row["n"] >= low and _of("t", c)(row)  # type: ignore[operator]
            return bool(left or right)

        assert _ids(reader, query) == _expected(rows, truth), query.query


def test_a_phrase_with_slop_counts_words_that_the_index_lacks(
    reader: SplitReader, rows: list[dict[str, object]], tmp_path: Path
) -> None:
    """Compare with the engine itself, on the same rows with short words in place of the long ones."""
    short = {word: f"w{i}" for i, word in enumerate([SHA, "q" * 70000, "alpha", "xx"])}
    renamed = [
        None if row["t"] is None else " ".join(short.get(word, "other") for word in _words(str(row["t"])))
        for row in rows
    ]
    batch = pa.record_batch({"id": pa.array([row["id"] for row in rows], pa.int64()), "t": renamed})
    engine = _written(tmp_path, batch, {"t": "text"})
    for (a, x), (b, y) in itertools.permutations(short.items(), 2):
        for slop in (1, 3):
            expected = _ids(engine, TextQuery("TEXTSEARCH", "t", f'"{x} {y}"~{slop}'))
            assert _ids(reader, TextQuery("TEXTSEARCH", "t", f'"{a} {b}"~{slop}')) == expected


@pytest.mark.parametrize(
    ("query", "test"),
    [
        ("v" * 65531, _is("v" * 65531)),
        ("v" * 70000, _is("v" * 70000)),
        ("v*", _begins("v")),
        ("vv*", _begins("vv")),
        ("node*", _begins("node")),
        ("node-?", lambda value: value.startswith("node-") and len(value) == 6),
        ("*v", lambda value: value.endswith("v")),
        ("v~1", lambda value: _distance("v", value) <= 1),
        ("s:[v TO w]", lambda value: "v" <= value <= "w"),
        ("s:>node-2", lambda value: value > "node-2"),
        ("s:IN [v node-1]", lambda value: value in ("v", "node-1")),
        ("中" * 30000, _is("中" * 30000)),
    ],
)
def test_values_too_long_for_the_engine_are_found(
    reader: SplitReader, rows: list[dict[str, object]], query: str, test: Callable[[str], bool]
) -> None:
    for op in ("FIELDMATCH", "INDEXQUERY"):
        asked = TextQuery(op, "s", query)  # type: ignore[arg-type]
        assert _ids(reader, asked) == _expected(
            rows, lambda row: row["s"] is not None and test(str(row["s"]))
        )
        expected = _expected(rows, lambda row: row["s"] is not None and not test(str(row["s"])))
        assert _ids(reader, Not(asked)) == expected


def test_limits_and_the_best_rows_count_those_found_by_their_text(reader: SplitReader) -> None:
    for word in (SHA, "a489*", "q" * 70000):
        query = TextQuery("TEXTSEARCH", "t", word)
        every = _ids(reader, query)
        assert every
        few = list(reader.rows(RowRequest(("id",), query, limit=2)))
        assert sum(batch.num_rows for batch in few) == min(2, len(every))
        best = pa.Table.from_batches(
            reader.rows(RowRequest(("id", "_score", "_snippet"), query, top=len(every)))
        )
        assert sorted(best.column("id").to_pylist()) == every
        assert best.column("_score").null_count == 0
        scores = best.column("_score").to_pylist()
        assert scores == sorted(scores, reverse=True)


# --- what is special to one format -----------------------------------------------------------------------------


def test_new_splits_score_and_highlight_long_words_from_the_index(tmp_path: Path) -> None:
    texts = [f"image {SHA} created", f"{SHA} {SHA}", "nothing", None, "q" * 65530]
    reader = _written(
        tmp_path, pa.record_batch({"id": pa.array(range(5), pa.int64()), "t": texts}), {"t": "text"}
    )
    for word, expected in ((SHA, 2), (SHA[:8] + "*", 2), ("q" * 65530, 1), ("nothing", 1)):
        assert reader.hits(TextQuery("TEXTSEARCH", "t", word)) == expected  # from the index alone
    request = RowRequest(("id", "_score", "_snippet"), TextQuery("TEXTSEARCH", "t", SHA), top=5)
    found = pa.Table.from_batches(reader.rows(request)).to_pylist()
    assert [row["id"] for row in found] == [1, 0]
    assert found[0]["_score"] > found[1]["_score"] > 0
    assert found[1]["_snippet"] == f"image <b>{SHA}</b> created"


def test_old_splits_answer_from_the_index_what_it_holds(tmp_path: Path) -> None:
    with _old(tmp_path) as reader:
        for word in ("alpha", '"alpha beta"', "alph?", "beta~1", "x" * 39, "alpha AND NOT beta", "NOT zzz"):
            assert reader.hits(TextQuery("TEXTSEARCH", "t", word)) is not None, word
        assert not list((tmp_path / "cache").glob("*/words.arrow"))
        assert reader.hits(TextQuery("TEXTSEARCH", "t", "delt*")) is not None  # no word of 40 bytes begins so
        assert len(list((tmp_path / "cache").glob("*/words.arrow"))) == 1
        assert reader.hits(TextQuery("TEXTSEARCH", "t", "a489*")) is None


def test_what_was_found_in_old_texts_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = TextQuery("TEXTSEARCH", "t", "a489*")
    with _old(tmp_path) as reader:
        assert not reader.is_ready(query, may_extract=False)
        expected = _ids(reader, query)
        assert reader.is_ready(query, may_extract=False)
    monkeypatch.setattr(
        "indextables.split.search.missing_words.cut_words", lambda _: pytest.fail("looked again")
    )
    with _old(tmp_path) as reader:
        assert _ids(reader, query) == expected
    monkeypatch.undo()
    for file in (tmp_path / "cache").glob("*/words.arrow"):
        file.write_bytes(b"damaged")
    with _old(tmp_path) as reader:
        assert _ids(reader, query) == expected


@pytest.mark.parametrize(
    "forged",
    [
        {"row": pa.array([5_000_000]), "word": pa.array([SHA])},
        {"row": pa.array([-1]), "word": pa.array([SHA])},
        {"row": pa.array([None], pa.int64()), "word": pa.array([SHA])},
        {"row": pa.array([0]), "word": pa.array([7])},
        {"other": pa.array([0])},
        {
            "row": pa.array([0, 1]),
            "word": pa.StringArray.from_buffers(
                2, pa.py_buffer(struct.pack("<iii", 0, 1 << 30, 3)), pa.py_buffer(b"abc")
            ),
        },
        b"no file of Arrow",
    ],
)
def test_a_forged_file_of_words_is_made_again(tmp_path: Path, forged: dict[str, pa.Array] | bytes) -> None:
    """The record in the cache matches the wrong file."""
    query = TextQuery("TEXTSEARCH", "t", SHA)
    with _old(tmp_path) as reader:
        expected = _ids(reader, query)
    assert expected
    [file] = (tmp_path / "cache").rglob("words.arrow")
    if isinstance(forged, bytes):
        file.write_bytes(forged)
    else:
        batch = pa.record_batch(forged)
        with pa.ipc.new_file(file, batch.schema) as out:
            out.write_batch(batch)
    record_files(file.parent, {file.name: checksum(file)})
    with _old(tmp_path) as reader:
        assert _ids(reader, query) == expected


def test_a_table_holds_splits_of_both_kinds(tmp_path: Path) -> None:
    table, log = tmp_path / "table", "_transaction_log"
    table.mkdir()
    shutil.copy(OLD, table / "part-0.split")
    repair(table / log, tmp_path / "repaired" / log)
    shutil.move(tmp_path / "repaired" / log, table / log)
    asked = (f"t TEXTSEARCH '{SHA}'", "t TEXTSEARCH 'a489c868*'", f"NOT t TEXTSEARCH '{SHA}'")
    before = {where: it.open(str(table)).count(where=where) for where in asked}
    assert all(before.values())
    it.write(str(table), it.open(str(table)).to_arrow(), mode="append")
    for where, count in before.items():
        assert it.open(str(table)).count(where=where) == 2 * count
        assert it.open(str(table)).to_arrow(columns=["id"], where=where).num_rows == 2 * count


def test_a_split_says_how_its_words_were_cut(tmp_path: Path) -> None:
    mapping = FieldMapping((MappedField("t", "string", "text"), MappedField("s", "string", "string")))
    assert tokenizers(mapping.to_json()) == {"t": "words2"}
    old = orjson.dumps(
        [{"name": "t", "type": "text", "sparkType": "string", "tokenizer": "default"}]
    ).decode()
    assert tokenizers(old) == {"t": "default"}
    assert FieldMapping.from_json(old) == FieldMapping(
        (MappedField("t", "string", "text", tokenizer="words"),)
    )


def test_a_tokenizer_of_the_future_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tokenizer_names._BASES, "stems", "stems7")
    rows = pa.record_batch({"id": pa.array([1], pa.int64()), "t": ["x"]})
    _written(tmp_path, rows, {"t": "text;tokenizer=stems7"})
    monkeypatch.undo()
    tokenizer_names.parse_recipe.cache_clear()
    (split,) = tmp_path.glob("*.split")
    with pytest.raises(ProtocolError, match=r"'stems7'.*upgrade"):
        open_split(open_store(str(tmp_path)), split.name, settings=_settings(tmp_path))


def test_a_fuzzy_word_is_bounded_and_a_long_pattern_is_refused_as_one_of_our_errors(tmp_path: Path) -> None:
    rows = pa.record_batch({"id": pa.array([1], pa.int64()), "t": ["alpha " + "q" * 5000]})
    reader = _written(tmp_path, rows, {"t": "text"})
    with pytest.raises(QueryError, match="at most 1000 letters"):
        reader.count(TextQuery("TEXTSEARCH", "t", "q" * 1001 + "~1"))
    for query in ("q" * 3000 + "*", f'"alpha {"q" * 3000}"*'):
        assert reader.count(TextQuery("TEXTSEARCH", "t", query)) == 1
    for query in ("*" + "q" * 3000 + "*", "alpha." + "q" * 3000 + "*"):
        with pytest.raises(QueryError, match="too complex"):
            reader.count(TextQuery("TEXTSEARCH", "t", query))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_word_of_100_megabytes(tmp_path: Path) -> None:
    rows = pa.record_batch({"id": pa.array([1, 2], pa.int64()), "t": ["alpha " + "w" * 100_000_000, "beta"]})
    reader = _written(tmp_path, rows, {"t": "text"})
    assert _ids(reader, TextQuery("TEXTSEARCH", "t", "w*")) == [1]
    assert _ids(reader, TextQuery("TEXTSEARCH", "t", "alpha AND NOT *w")) == []
    assert _ids(reader, TextQuery("TEXTSEARCH", "t", "NOT w*w")) == [2]


# --- words, one by one -----------------------------------------------------------------------------------------


def test_words_that_were_dropped_are_found_by_their_bytes_as_written() -> None:
    texts = [
        "a" * 39,
        "a" * 40,
        None,
        "A" * 40,
        "中" * 13,
        "中" * 14,
        "\N{KELVIN SIGN}" * 14,
        "_".join(["b" * 20] * 9),
    ]
    values = pa.array([*texts, "x" + "é" * 20 + "-" + "z" * 64])
    assert list(cut_words(values)) == [
        *((1, "a" * 40), (3, "a" * 40), (5, "中" * 14), (6, "k" * 14), (8, "x" + "é" * 20), (8, "z" * 64))
    ]
    damaged = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff" + b"c" * 40, b"\xffd" * 40]).buffers())
    assert list(cut_words(damaged)) == [(0, "c" * 40)]


def test_capitals_that_shrink_are_all_known() -> None:
    """Compare with Python's tables of cases: the result must not be less than the length of any original."""
    for code in range(0x80, 0x110000):
        character = chr(code)
        if character.isalnum():
            assert bytes_as_written(character.lower()) >= len(character.encode()), hex(code)


def test_rows_with_words_too_long_for_the_engine_are_recorded() -> None:
    text, string = MappedField("t", "string", "text"), MappedField("s", "string", "string")
    values = pa.array(["a" * 43686, "a" * 65531, None, "a b" * 60000, "İ" * 32765, "İ" * 21844, "한" * 21844])
    assert unindexed_rows(string, values) == [1, 3, 6]
    assert set(unindexed_rows(text, values)) >= {1, 4, 6}
    assert set(unindexed_rows(text, values)).isdisjoint({0, 2, 3})


words_of_few_letters = st.text("abé한", max_size=7)


@given(words_of_few_letters, words_of_few_letters, st.integers(1, 2))
@example("ca", "abc", 2)
@example("ab", "ba", 1)
def test_fuzzy_words_are_told_as_by_their_distance(a: str, b: str, distance: int) -> None:
    assert Alike(a, distance).accepts(b) == (_distance(a, b) <= distance)


@given(
    words_of_few_letters, st.lists(st.sampled_from(["a", "b", "é", Wildcard.ANY, Wildcard.ONE]), max_size=6)
)
@example("", [Wildcard.ANY, "a", Wildcard.ANY])
def test_patterns_are_told_as_by_a_regular_expression(word: str, pieces: list[str | Wildcard]) -> None:
    expression = "".join({Wildcard.ANY: ".*", Wildcard.ONE: "."}.get(p, p) for p in pieces)  # type: ignore[call-overload]
    assert Fits(tuple(pieces)).accepts(word) == bool(re.fullmatch(expression, word, re.DOTALL))


def test_fuzzy_words_and_patterns_agree_with_the_engine(tmp_path: Path) -> None:
    rng = random.Random(3)
    words = sorted({"".join(rng.choices("abé한", k=rng.randint(1, 6))) for _ in range(300)})
    rows = pa.record_batch({"id": pa.array(range(len(words)), pa.int64()), "t": words})
    reader = _written(tmp_path, rows, {"t": "text"})
    for word in rng.sample(words, 40):
        for distance in (1, 2):
            found = _ids(reader, TextQuery("TEXTSEARCH", "t", f"{word}~{distance}"))
            assert found == [i for i, other in enumerate(words) if Alike(word, distance).accepts(other)]
        pattern = "".join(rng.choice([c, "?", "*"]) for c in word)
        leaf = reader._contents.search.bound(TextQuery("TEXTSEARCH", "t", pattern + "a")).part
        assert isinstance(leaf, Regexes) or "*" not in pattern
        if isinstance(leaf, Regexes):
            accepts = positioned_tests(leaf)[0][1].accepts
            found = _ids(reader, TextQuery("TEXTSEARCH", "t", pattern + "a"))
            assert found == [i for i, other in enumerate(words) if accepts(other)]
