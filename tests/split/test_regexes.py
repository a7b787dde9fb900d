"""Regular expressions of queries: both engines agree with each other and with Python's, and hostile ones end early."""

from __future__ import annotations

import re
from functools import cache

import pytest
import tantivy
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.split.query.regexes import (
    MAX_SIZE,
    check_engines,
    engine_form,
    longest_match,
    matching_words,
    parse_regex,
)
from indextables.split.query.scanner import QuerySyntaxError

ALPHABET = "abA1_-.é漢\U0001f600\n"
WORDS = [
    "",
    "a",
    "b",
    "ab",
    "ba",
    "aab",
    "A",
    "1",
    "a1",
    "_",
    "-",
    "é",
    "é漢",
    "漢",
    "😀",
    "\n",
    "a\nb",
    "a" * 40,
    "b-1.",
]

characters = st.sampled_from(ALPHABET).map(lambda c: f"\\{c}" if c in "-." else c)
classes = st.builds(
    lambda negated, items: f"[{'^' if negated else ''}{''.join(items)}]",
    st.booleans(),
    st.lists(
        st.one_of(characters, st.sampled_from(["a-c", "0-9", "\\d", "\\w", "\\s"])), min_size=1, max_size=3
    ),
)
single = st.one_of(characters, classes, st.sampled_from([".", "\\d", "\\W", "\\S"]))
expressions = st.recursive(
    single,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,}", "{1,3}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@cache
def _index() -> tuple[tantivy.Index, tantivy.Schema]:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("word", tokenizer_name="raw", index_option="basic", stored=True)
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(15_000_000, 1)
    for word in WORDS:
        writer.add_document(tantivy.Document(word=word))
    writer.commit()
    index.reload()
    return index, schema


def _in_index(text: str) -> set[str]:
    index, schema = _index()
    searcher = index.searcher()
    query = tantivy.Query.regex_query(schema, "word", engine_form(parse_regex(text, 0)))
    return {searcher.doc(address)["word"][0] for _, address in searcher.search(query, limit=100).hits}


@given(expressions)
@settings(deadline=None, max_examples=300)
def test_both_engines_match_what_the_expression_says(text: str) -> None:
    expression = parse_regex(text, 0)
    # Of white space, Python counts two characters more, which no word here has.
    theirs = re.compile(text, re.ASCII | re.DOTALL)
    by_text = matching_words(expression, WORDS)
    assert by_text == _in_index(text)
    assert by_text == {word for word in WORDS if theirs.fullmatch(word)}
    assert all(len(word) <= longest_match(expression) for word in by_text)


@given(st.text(alphabet="ab()[]{}|*+?.^\\-,0123d~", max_size=30))
@settings(deadline=None, max_examples=500)
def test_any_text_is_an_expression_or_an_error_with_a_place(text: str) -> None:
    try:
        expression = parse_regex(text, 7)
        check_engines(expression)
        matching_words(expression, ["ab" * 50])
        position = 7
    except QuerySyntaxError as error:
        position = error.position
    except ValueError:
        position = 7  # too many states
    assert 7 <= position <= 7 + len(text)


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+" * 20 + "b",
        "((((a*)*)*)*)*c",
        "(a|a)*(a|a)*(a|a)*b",
        "(.?){250}",
        "(a?){140}a{140}",
        "(.*a){90}",
        "([ab]*a[ab]{9}){5}",
        "(" * 19 + "a" + ")*" * 19,
    ],
)
def test_a_hostile_expression_ends_early(text: str) -> None:
    try:
        expression = parse_regex(text, 0)
        check_engines(expression)
        matching_words(expression, ["a" * 70_000])
    except ValueError:
        return  # too large, or too many states


def test_the_size_is_bounded_with_repetitions_written_out() -> None:
    parse_regex("a" * MAX_SIZE, 0)
    for text in ("a" * (MAX_SIZE + 1), "(a{100}){100}", "((((a{200}){200}){200}){200}){200}"):
        with pytest.raises(QuerySyntaxError, match="too large"):
            parse_regex(text, 0)
    with pytest.raises(QuerySyntaxError, match="nested groups"):
        parse_regex("(" * 21 + "a" + ")" * 21, 0)
