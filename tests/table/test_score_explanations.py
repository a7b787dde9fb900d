"""The parts of a score: what each word, phrase and pattern adds, and that nothing else does."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import InputError
from indextables.split import SplitReader

TEXTS = ["disk full on disk", "login ok", "disk slow full", "full disk", "connections lost", "a\nb", None]


@pytest.fixture(scope="module")
def table() -> it.Table:
    titles = ["x disk", None, "b", "full", "d", "e", "disk"]
    for part in (slice(0, 3), slice(3, 7)):
        rows = {"id": range(len(TEXTS))[part], "m": TEXTS[part], "t": titles[part]}
        it.write("memory://explanations", pa.table(rows), text=["m", "t"])
    return it.open("memory://explanations")


QUERIES = [
    "disk",
    'disk OR "disk full"^2 OR conn*',
    "m:(disk AND full)^3.3 OR t:disk^0.1",
    "((m:disk^0.7 OR t:disk)^0.3 OR m:full)^1.1",
    "m:fulk~ OR m:/di.k/ OR m:IN [lost ok]",
    "+m:disk -t:b m:slow",
    '"full disk"~3',
    "id:[1 TO 4]^0.1 OR id:2^0.2",
    "*",
    "(disk full slow)@2",
    "m:{a TO e}",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("ranked_together", [True, False])
def test_the_parts_add_up_to_the_score_exactly(table, monkeypatch, query, ranked_together):
    if not ranked_together:
        monkeypatch.setattr(SplitReader, "ranking", property(lambda _: None))
    plain = table.search(query, limit=None)
    found = table.search(query, limit=None, explain=True)
    assert found.drop_columns(["_explanation"]).equals(plain)
    assert found.num_rows
    for row in found.to_pylist():
        assert math.fsum(part["score"] for part in row["_explanation"]) == row["_score"]
        assert it.score_text(row["_explanation"])


def test_the_figures_are_those_of_bm25_over_all_splits(table):
    (part,) = table.search("m:slow", explain=True).column("_explanation")[0].as_py()
    lengths = [4, 2, 3, 2, 2, 2, 0]
    idf = math.log1p((7 - 1 + 0.5) / 1.5)
    assert (part["column"], part["match"], part["boost"]) == ("m", "slow", 1.0)
    assert part["idf"] == pytest.approx(idf, rel=1e-12)
    assert (part["frequency"], part["length"], part["average_length"]) == (1.0, 3.0, sum(lengths) / 7)
    assert part["score"] == pytest.approx(
        2.2 * idf / (1 + 1.2 * (0.25 + 0.75 * 3 / (sum(lengths) / 7))), rel=1e-12
    )


def test_a_phrase_has_the_idf_of_its_words_and_a_pattern_none(table):
    query = 'm:"disk slow"^2 OR m:slo* OR m:slo?'
    row = table.search(query, limit=1, explain=True).to_pylist()[0]
    parts = {part["match"]: part for part in row["_explanation"]}
    assert parts.keys() == {'"disk slow"', "slo*", "slo?"}
    assert parts['"disk slow"']["boost"] == 2.0
    assert parts['"disk slow"']["idf"] == pytest.approx(
        math.log1p(4.5 / 3.5) + math.log1p(6.5 / 1.5), rel=1e-12
    )
    assert parts["slo*"]["idf"] is None
    assert parts["slo*"]["score"] == 1.0
    assert it.score_text(row["_explanation"]).splitlines()[1].split()[1] == 'm:"disk'


def test_what_does_not_match_is_no_part(table):
    rows = table.search("(m:disk AND m:nowhere) OR m:full OR (m:lost AND NOT t:d)", explain=True).to_pylist()
    assert {part["match"] for row in rows for part in row["_explanation"]} == {"full"}


def test_a_row_that_matches_by_its_text_alone_has_no_parts(tmp_path):
    long = "x" * 70_000
    it.write(tmp_path / "t", pa.table({"id": [1], "m": [long]}), text=["m"])
    row = it.open(tmp_path / "t").search(f"m:{'x' * 10}*", explain=True).to_pylist()[0]
    assert (row["_score"], row["_explanation"]) == (0.0, [])
    assert it.score_text([]) == "0: no part of the query matches by the index"


def test_no_row_has_an_empty_column(table):
    found = table.search("nowhere", explain=True)
    assert found.column_names == ["id", "m", "t", "_score", "_explanation"]
    assert found.num_rows == 0


def test_wrong_arguments(table):
    with pytest.raises(InputError, match="explain is 1"):
        table.search("disk", explain=1)
    for wrong in ("text", [1], [{}]):
        with pytest.raises(InputError, match="_explanation"):
            it.score_text(wrong)
