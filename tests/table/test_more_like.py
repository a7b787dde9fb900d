"""Rows like a text or like another row."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import InputError, QueryError
from indextables.table.answers.likeness import MAX_WORDS, Example, like_query

TEXTS = [
    "disk full on db1",
    "login ok for ada",
    "disk slow on db1",
    "login failed for bob",
    "the disk of db2 is full",
    "nothing at all",
]


@pytest.fixture(scope="module")
def table() -> it.Table:
    for part in (slice(0, 2), slice(2, 6)):
        texts = TEXTS[part]
        rows = {
            "id": range(6)[part],
            "m": texts,
            "host": [text.split()[0] for text in texts],
            "x": [1.5] * len(texts),
        }
        it.write("memory://more-like", pa.table(rows), text=["m"])
    return it.open("memory://more-like")


def _ids(rows: pa.Table) -> list[int]:
    return rows.column("id").to_pylist()


def test_the_words_of_a_text_find_the_rows(table):
    assert _ids(table.more_like("a full disk"))[:2] == [0, 4]
    assert set(_ids(table.more_like("a full disk"))) == {0, 2, 4}
    found = table.more_like("LOGIN, please", limit=1, columns=["m"], snippet="m")
    assert found.column_names == ["m", "_score", "_snippet"]
    assert found.column("_snippet")[0].as_py().startswith("<b>login</b>")


def test_a_row_is_not_like_itself(table):
    row = table.search("id:0").to_pylist()[0]
    assert _ids(table.more_like(row)) == [2, 4]
    assert _ids(table.more_like({"m": row["m"]}, columns=["id"])) == [2, 4]
    assert _ids(table.more_like({"id": 99, "m": row["m"]}, limit=1)) == [0]
    # With the row itself among the best, the limit is still met.
    assert [_ids(table.more_like(row, limit=n)) for n in (0, 1, 2)] == [[], [2], [2, 4]]


def test_copies_of_a_row_are_not_returned_however_many_there_are():
    texts = ["disk full"] * 50 + ["disk full again"]
    it.write("memory://like-copies", pa.table({"m": texts}), text=["m"])
    table = it.open("memory://like-copies")
    assert table.more_like({"m": "disk full"}, limit=3).column("m").to_pylist() == ["disk full again"]
    assert table.more_like({"m": "disk full"}, limit=None).column("m").to_pylist() == ["disk full again"]
    assert table.more_like("disk full", limit=None).num_rows == 51


def test_where_chooses_the_rows(table):
    assert _ids(table.more_like("a full disk", where="id > 2")) == [4]


def test_columns_to_compare(table):
    assert set(_ids(table.more_like("login", on=["host"]))) == {1, 3}
    assert set(_ids(table.more_like({"host": "login", "m": "disk"}, on=["host"]))) == {1, 3}
    assert set(_ids(table.more_like({"host": "login", "m": "disk"}, on=["m", "host"]))) == {0, 1, 2, 3, 4}


def test_the_words_that_set_a_text_apart_are_chosen():
    rng = random.Random(1)
    common = [f"c{n}" for n in range(40)]
    texts = [" ".join(rng.sample(common, 12)) + (f" rare{i % 30}" if i % 3 == 0 else "") for i in range(300)]
    it.write("memory://like-words", pa.table({"m": texts}), text=["m"])
    table = it.open("memory://like-words")
    words = [f"rare{3 * n}" for n in range(10)]
    text = " ".join([*common, *words, "unknown"])
    query = like_query(table, Example({"m": [text]}, None))
    assert query is not None
    clauses = query.split(" OR ")
    assert len(clauses) == MAX_WORDS
    assert set(clauses[:10]) <= {f'm:"rare{n}"' for n in range(30)}
    assert 'm:"unknown"' not in clauses
    often = like_query(table, Example({"m": [f"{text} {'c7 ' * 200}"]}, None))
    assert often is not None
    assert often.split(" OR ")[0] == 'm:"c7"'


@pytest.mark.parametrize(
    ("tokenizer", "text", "other"),
    [
        ("en_stem", "connections were lost", "connecting now"),
        ("code", "org.apache.HttpServer failed", "class HttpClient"),
        ("ngram", "timeouts", "a timeout"),
        ("whitespace", 'say "C:\\temp\\*" ok?', "and C:\\temp\\* say"),
        ("default", "東京タワーに行く", "京都"),
        ("default", "tab\there – and \u2028 there", "here"),
    ],
)
def test_every_tokenizer(tmp_path, tokenizer, text, other):
    rows = pa.table({"m": [text, other, "zzz", "qqq"]})
    it.write(tmp_path / "t", rows, text={"m": tokenizer})
    table = it.open(tmp_path / "t")
    assert table.more_like(text).column("m").to_pylist()[0] == text
    assert table.more_like({"m": text}).column("m").to_pylist() == [other]


def test_a_column_with_an_odd_name(tmp_path):
    it.write(tmp_path / "t", pa.table({"my: (column)\\": ["disk full", "disk"]}), text=["my: (column)\\"])
    assert it.open(tmp_path / "t").more_like("disk").num_rows == 2
    it.write(tmp_path / "u", pa.table({"-m": ["disk full", "disk"]}), text=["-m"])
    with pytest.raises(QueryError, match="cannot name the column '-m'"):
        it.open(tmp_path / "u").more_like("disk")


def test_nothing_to_look_for_finds_nothing(table):
    for text in ("", "!!!", "unknown words", "\ud800", "x" * 1_200_000):
        found = table.more_like(text, snippet="m")
        assert found.num_rows == 0
        assert found.column_names == ["id", "m", "host", "x", "_score", "_snippet"]
    assert table.more_like({"m": None}).num_rows == 0


def test_arrays_and_long_texts(tmp_path):
    rows = pa.table({"id": [1, 2, 3], "tags": [["red hat", "old"], ["red"], ["blue"]]})
    it.write(tmp_path / "t", rows, text=["tags"])
    table = it.open(tmp_path / "t")
    assert _ids(table.more_like({"id": 1, "tags": ["red hat", "old"]})) == [2]
    assert _ids(table.more_like("red " * 100_000, limit=None)) == [2, 1]


def test_wrong_arguments(table):
    for like, on, reason in [
        (7, None, "it takes a text, or a row"),
        ({1: "x"}, None, "it takes a text, or a row"),
        ({"m": 7}, None, "like has 7 as 'm'"),
        ({"host": "disk"}, None, "none of the columns 'm'"),
        ("x", ["x"], "neither as text nor as a string"),
        ("x", "m", "it takes a list of column names"),
        ({"nowhere": "x"}, None, "nowhere"),
    ]:
        with pytest.raises(it.IndexTablesError, match=reason):
            table.more_like(like, on=on)
    it.write("memory://like-none", pa.table({"s": ["a"]}))
    with pytest.raises(InputError, match="no text column"):
        it.open("memory://like-none").more_like("a")
