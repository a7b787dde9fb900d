"""Searching for many terms at once, against one search for each term."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import InputError, QueryError
from indextables.runtime import current
from indextables.table.answers import many_terms
from indextables.table.scans.leases import SPLITS_SEARCHED

WORDS = ["disk", "db1", "db2", "timeout", "Full", "10.0.0.7", "naïve", "日本", "a-b", "x" * 300]
TERMS = [
    *WORDS,
    *("disk full", "full disk", "db1 timeout", "10.0.0", "10.0.0.7 disk", "DISK", "no such words here"),
    *(
        'a"b',
        "a\\b",
        "dis*",
        "d?sk",
        "disk AND db1",
        "message:disk",
        "(disk",
        "[1 TO 2]",
        "/di.k/",
        "disk~1",
        "tab\there",
    ),
    *("日", "disk\nfull", "web-1", "web"),
]
WORDLESS = ["", " ", "!!!", "\x00"]
"""Values that a column of strings may have, and in which text has no word to look for."""


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> it.Table:
    path = str(tmp_path_factory.mktemp("many"))
    chosen = random.Random(7)
    for part in range(3):
        rows = [
            {
                "id": part * 100 + n,
                "message": None if n % 17 == 0 else " ".join(chosen.choices(WORDS, k=chosen.randint(0, 6))),
                "host": None
                if n % 13 == 0
                else chosen.choice(["web-1", "web-2", "a\\b", "dis*", "", "日本"]),
                "code": n % 7,
                "day": f"d{n % 2}",
            }
            for n in range(100)
        ]
        it.write(path, pa.Table.from_pylist(rows), text=["message"], partition_by=["day"])
    it.open(path).delete(where="id IN (3, 4, 103, 250)")
    return it.open(path)


def one_by_one(table: it.Table, column: str, terms: list[str], where: str | None) -> list[tuple]:
    found = []
    for term in dict.fromkeys(terms):
        query = many_terms.term_query(column, term)
        text = query.query.replace("\\", "\\\\").replace("'", "\\'")
        condition = f"{column} INDEXQUERY '{text}'" + ("" if where is None else f" AND {where}")
        found += [
            (row["id"], row["day"], term)
            for row in table.to_arrow(["id", "day"], where=condition).to_pylist()
        ]
    return sorted(found)


@pytest.mark.parametrize("pairs_at_once", [1, 7, 100_000])
@pytest.mark.parametrize("where", [None, "day = 'd1'", "code > 3 AND id < 150", "code = 99"])
@pytest.mark.parametrize("column", ["message", "host"])
def test_as_one_search_for_each_term(table, column, where, pairs_at_once, monkeypatch):
    monkeypatch.setattr(many_terms, "_PAIRS_AT_ONCE", pairs_at_once)
    terms = TERMS if column == "message" else TERMS + WORDLESS
    found = table.search_many(terms, column=column, columns=["id", "day"], where=where)
    assert found.column_names == ["id", "day", "_term"]
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == one_by_one(table, column, terms, where)


def test_a_term_is_text_and_not_a_query(table):
    rows = {row["id"]: row["message"] for row in table.to_arrow(["id", "message"]).to_pylist()}
    found = table.search_many(["db1", "disk db2"], column="message", columns=["id"]).to_pylist()
    has = {id_: (text or "").lower() for id_, text in rows.items()}
    expected = [(id_, "db1") for id_, text in has.items() if "db1" in text.split()]
    expected += [(id_, "disk db2") for id_, text in has.items() if "disk db2" in text]
    assert sorted((row["id"], row["_term"]) for row in found) == sorted(expected)
    hosts = table.search_many(["dis*", "a\\b", ""], column="host", columns=["host"])
    assert all(row["host"] == row["_term"] for row in hosts.to_pylist())
    assert set(hosts.column("_term").to_pylist()) >= {"dis*", "a\\b"}


def test_terms_come_from_lists_and_arrow(table):
    expected = table.search_many(["db1", "disk"], column="message").sort_by(
        [("id", "ascending"), ("_term", "ascending")]
    )
    for terms in (
        pa.array(["db1", None, "disk", "db1"]),
        pa.chunked_array([["db1"], ["disk"]]),
        pa.array(["db1", "disk"]).dictionary_encode(),
        pa.array(["db1", "disk"], pa.large_string()),
        (term for term in ("db1", "disk")),
    ):
        found = table.search_many(terms, column="message")
        assert found.sort_by([("id", "ascending"), ("_term", "ascending")]) == expected
    empty = table.search_many([], column="message")
    assert (empty.num_rows, empty.column_names) == (0, [*table.schema.names, "_term"])


def test_each_split_is_opened_once_for_thousands_of_terms(table):
    before = current().counters.values().get(SPLITS_SEARCHED, 0)
    terms = [f"word{n}" for n in range(3000)] + ["db1"]
    found = table.search_many(terms, column="message", columns=["id"])
    assert set(found.column("_term").to_pylist()) == {"db1"}
    assert current().counters.values()[SPLITS_SEARCHED] - before == table.files().num_rows


def test_numbers_are_values_too(table):
    found = table.search_many(["3", "5"], column="code", columns=["code"])
    assert {(row["code"], row["_term"]) for row in found.to_pylist()} == {(3, "3"), (5, "5")}
    assert found.num_rows == table.count(where="code IN (3, 5)")


@pytest.mark.parametrize(
    ("terms", "column", "error", "message"),
    [
        ("disk", "message", InputError, "it takes several"),
        (7, "message", InputError, "it takes several"),
        ([1], "message", InputError, "they are text"),
        (pa.array([1.5]), "message", InputError, "type double"),
        (["x"], "nothing", QueryError, "unknown column"),
        (["x"], "day", QueryError, "partition column"),
        (["x"], "code", QueryError, "code"),
        (["x"], None, InputError, "column"),
        *(([term], "message", QueryError, "nothing to search for") for term in WORDLESS),
    ],
)
def test_mistakes_are_named(table, terms, column, error, message):
    with pytest.raises(error, match=message):
        table.search_many(terms, column=column)
