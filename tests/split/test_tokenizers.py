"""Tokenizers: the words in Python are those of the engine, and a name says all that a tokenizer does."""

from __future__ import annotations

import json
from itertools import pairwise

import pyarrow as pa
import pytest
import tantivy
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.schema import STEMMERS, parse_recipe, recorded_name
from indextables.split.index import tokenizer, tokens

NAMES = [
    "words",
    "words2",
    "whitespace1",
    "code1",
    "ngram2_1",
    "ngram2_2",
    "ngram3_2",
    "ngram3_2 stop:en fold2",
    "en_stem1",
    "de_stem1 stop:de fold",
    "de_stem1 stop:de fold2",
    "words2 stop:en max:9",
    "words stop:a,b fold max:5",
]
characters = st.one_of(
    st.sampled_from("abcXYZ019 _-./\n\tÄéßİÇ漢字かなカナー々ไทยก่\u0301\U00020000\u2400\u00a0"),
    st.characters(codec="utf-8"),
)
texts = st.lists(
    st.one_of(
        st.text(characters, max_size=12), st.sampled_from(["the", "und", "running", "parseHTTPHeader2"])
    ),
    max_size=8,
).map(" ".join)


def _indexed(name: str, text: str) -> list[tuple[int, str]]:
    """Return the words that the engine indexes for a text, with their positions, by asking for each as a phrase."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("t", tokenizer_name="x", index_option="position")
    schema = builder.build()
    index = tantivy.Index(schema)
    index.register_tokenizer("x", tokenizer(name).index_analyzer)
    prepared = tokenizer(name).prepare(pa.array([text]))[0].as_py()
    assert prepared is not None
    writer = index.writer(15_000_000, 1)
    writer.add_json(json.dumps({"t": prepared}))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    words = searcher.terms_with_prefix("t", "", limit=1000)
    ours = tokens(text, name)
    for (at, word), (after, following) in pairwise(ours):
        pair = tantivy.Query.phrase_query(schema, "t", [(0, word), (after - at, following)])
        assert searcher.search(pair, 1).count == 1, (name, text, word, following)
    return sorted({word for word, _ in words})


@pytest.mark.parametrize("name", NAMES)
@given(text=texts)
@settings(max_examples=30, deadline=None)
def test_the_engine_indexes_the_words_that_python_makes(name: str, text: str) -> None:
    assert _indexed(name, text) == sorted({word for _, word in tokens(text, name)})


@pytest.mark.parametrize("name", NAMES)
@given(values=st.lists(st.one_of(st.none(), texts), max_size=6))
@settings(max_examples=30, deadline=None)
def test_preparing_a_column_is_preparing_each_text(name: str, values: list[str | None]) -> None:
    used = tokenizer(name)
    for array in (pa.array(values, pa.string()), pa.array(["x", *values], pa.string())[1:]):
        prepared = used.prepare(array).to_pylist()
        assert [p is None for p in prepared] == [v is None for v in values]
        words = [used.index_analyzer.analyze(text) for text in prepared if text is not None]
        assert words == [[w for _, w in tokens(text, name)] for text in values if text is not None]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("words2", "東京タワーへ go", ["東", "京", "タ", "ワ", "ー", "へ", "go"]),
        ("words2", "ภาษาไทย", list("ภาษาไทย")),
        ("words2", "abc漢x1", ["abc", "漢", "x1"]),
        ("words", "abc漢x1", ["abc漢x1"]),
        ("whitespace1", "GET /a/B?x=1", ["GET", "/a/B?x=1"]),
        ("code1", "parseHTTPHeader2", ["parse", "http", "header", "2"]),
        ("code1", "org.apache.Spark_Context", ["org", "apache", "spark", "context"]),
        ("ngram3_1", "Time ab", ["tim", "ime", "ab"]),
        ("ngram3_2", "Time ab", ["tim", "ime", "ab"]),
        ("words2 fold2", "İstanbul", ["istanbul"]),
        ("whitespace1 fold2", "İstanbul", ["Istanbul"]),
        ("en_stem1", "Running connections", ["run", "connect"]),
        ("words2 fold", "Café", ["cafe"]),
    ],
)
def test_words_of_each_tokenizer(name: str, text: str, expected: list[str]) -> None:
    assert [word for _, word in tokens(text, name)] == expected


def test_a_dropped_word_leaves_a_gap() -> None:
    assert tokens("to be or not disk", "words2 stop:en") == ((4, "disk"),)
    assert tokens("a longword b", "words max:3") == ((0, "a"), (2, "b"))
    assert tokens("time ab", "ngram3_2") == ((1, "tim"), (2, "ime"), (4, "ab"))
    assert tokens("time ab", "ngram3_1") == ((0, "tim"), (1, "ime"), (2, "ab"))


@pytest.mark.parametrize("language", sorted(STEMMERS))
def test_every_language_has_a_stemmer(language: str) -> None:
    assert tokens("word", recorded_name(f"{language}_stem"))


@pytest.mark.parametrize(
    "stop", ["da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv"]
)
def test_stop_words_of_a_language(stop: str) -> None:
    assert tokens("disk17", recorded_name("default", stop)) == ((0, "disk17"),)


@pytest.mark.parametrize(
    "name", ["", "words3", "words stop:", "words fold fold", "words max:0", "words max:x", "raw"]
)
def test_a_name_that_this_release_does_not_know_is_an_error(name: str) -> None:
    if name == "words stop:":
        assert parse_recipe(name).is_plain
        return
    with pytest.raises(ValueError, match="unknown tokenizer"):
        parse_recipe(name)


def test_no_tokenizer_changes_text_without_the_characters_it_is_about() -> None:
    plain = pa.array(["GET /index", None, "Ärger – “so”…"])
    assert tokenizer("words2").prepare(plain) is plain
