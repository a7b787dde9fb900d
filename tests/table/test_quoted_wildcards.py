"""Text in quotes is found as it stands, with its `*` and `?`, and so is what they match as wildcards."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import QueryError

TEXTS = [
    "GET /index.php?id=1",
    "who are you?",
    "5*3",
    "5x3 and more",
    "who are yours",
    "\u6f22\u5b57? yes",
    "index php id",
    "why? because*",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> it.Table:
    path = tmp_path_factory.mktemp("quoted-wildcards") / "t"
    columns = dict.fromkeys(("m", "runs", "blank", "stems", "value"), TEXTS)
    tokenizers = {"m": "default", "runs": "ngram", "blank": "whitespace", "stems": "en_stem"}
    it.write(path, pa.table({"id": range(len(TEXTS)), **columns}), text=tokenizers)
    return it.open(path)


def ids(table: it.Table, query: str) -> list[int]:
    found = table.search(query, columns=["id"], limit=None).column("id").to_pylist()
    assert table.count(query) == len(found)
    assert table.count(where=f"* INDEXQUERY '{query}'") == len(found)
    return sorted(found)


@pytest.mark.parametrize("number", range(len(TEXTS)))
@pytest.mark.parametrize("column", ["m", "runs", "blank", "stems", "value", ""])
def test_a_text_in_quotes_is_found_in_every_column(table: it.Table, column: str, number: int) -> None:
    query = f'"{TEXTS[number]}"'
    assert number in ids(table, f"{column}:{query}" if column else query)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('m:"5*3"', [2, 3]),
        ('m:"who are you*"', [1, 4]),
        ('m:"who are you??"', [1, 4]),
        ('m:"id=?"', [0, 6]),
        ('m:"5?3"', [2, 3]),
        ('m:"php?id"~1', [0, 6]),
        ('m:"php?i"*', [0, 6]),
        ('m:"ph* ?d"*', [0, 6]),
        ('value:"5*3"', [2]),
        ('value:"5*"', [2, 3]),
        ('runs:"ndex.ph?"', []),
        ('runs:"ndex?php"', [0, 6]),
        ('m:"why\\? because\\*"', [7]),
        ('m:("5*3" AND NOT more)', [2]),
        ('(m:"5*3" m:who m:"why?")@1', [1, 2, 3, 4, 7]),
        ('(m:"5*3" m:more)@2', [3]),
    ],
)
def test_no_match_of_the_wildcards_is_lost(table: it.Table, query: str, found: list[int]) -> None:
    assert ids(table, query) == found


def test_the_text_counts_as_a_phrase_and_the_pattern_one(table: it.Table) -> None:
    query = 'm:"5*3"'
    rows = table.search(query, columns=["id"], snippet="m", explain=True, limit=None).to_pylist()
    by_id = {row["id"]: row for row in rows}
    phrase = table.search('m:"5 3"', columns=["id"]).to_pylist()
    assert [row["id"] for row in phrase] == [2]
    assert by_id[2]["_score"] == phrase[0]["_score"]
    assert by_id[3]["_score"] == 1.0
    assert [part["match"] for part in by_id[2]["_explanation"]] == ['"5 3"']
    assert [part["match"] for part in by_id[3]["_explanation"]] == ["5*3"]
    assert (by_id[2]["_snippet"], by_id[3]["_snippet"]) == ("<b>5</b>*<b>3</b>", "<b>5x3</b> and more")


def test_a_pattern_that_its_text_fits_scores_as_before(table: it.Table) -> None:
    assert table.search('m:"who are yo*"', columns=["id"]).column("_score").to_pylist() == [1.0, 1.0]
    assert table.search('blank:"5*3"', columns=["id"]).column("_score").to_pylist() == [1.0, 1.0]


def test_without_positions_text_in_quotes_is_no_pattern(tmp_path) -> None:
    settings = {"spark.indextables.indexing.indexrecordoption.m": "freq"}
    it.write(tmp_path / "t", pa.table({"id": [0], "m": ["5x3 conn1"]}), text=["m"], settings=settings)
    table = it.open(tmp_path / "t")
    assert ids(table, 'm:"con*"') == ids(table, "m:5*3") == [0]
    with pytest.raises(QueryError, match="leave the quotes out"):
        ids(table, 'm:"5*3"')


def draws() -> Iterator[tuple[str, list[str]]]:
    rng = random.Random(19)
    for _ in range(60):
        texts = ["".join(rng.choices("ab?* ", k=rng.randint(1, 6))) for _ in range(12)]
        yield rng.choice([text for text in texts if re.search("[ab]", text)] or ["a"]), texts


def test_random_texts_are_found_by_themselves_and_by_what_they_match(tmp_path) -> None:
    for number, (text, texts) in enumerate(draws()):
        path = f"memory://quoted-{number}"
        it.write(path, pa.table({"id": range(len(texts)), "m": texts}), text=["m"])
        wild = [
            re.escape(word).replace("\\*", ".*").replace("\\?", ".")
            for word in text.split()
            if word.strip("*?")
        ]
        bare = re.search("[ab]", text)
        assert bare is not None
        found = ids(it.open(path), f'm:"{text}"')
        as_text = [i for i, other in enumerate(texts) if has_phrase(re.findall("[ab]+", text), other)]
        as_pattern = [
            i for i, other in enumerate(texts) if len(wild) == len(text.split()) and fits(wild, other)
        ]
        assert sorted({*as_text, *as_pattern}) == found, (text, texts)


def has_phrase(words: list[str], text: str) -> bool:
    return fits([re.escape(word) for word in words], text)


def fits(patterns: list[str], text: str) -> bool:
    """Return True if consecutive words of the text match the patterns."""
    words = re.findall("[ab]+", text)
    return any(
        all(re.fullmatch(pattern, word) for pattern, word in zip(patterns, words[at:], strict=False))
        for at in range(len(words) - len(patterns) + 1)
    )
