"""Snippets: the right words are marked, in any language and by any tokenizer, and fragments have their size."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.errors import InputError
from indextables.schema import recorded_name
from indextables.split.index import placed_words, tokenizer
from indextables.split.search.fragments import Mark, Snippet, render

TOKENIZERS = ["default", "simple", "whitespace", "code", "ngram", "ngram2", "en_stem", "de_stem"]
NAMES = [recorded_name(name) for name in TOKENIZERS] + [
    "words2 stop:en fold max:9",
    "whitespace1 fold",
    "ngram3_1 fold",
    "ngram3_2 fold2",
]
TEXT = st.text(st.sampled_from("abzABZ09 _-.,ÄßİſKé東京タワー\u0e01\u0e33\u0301\u0903\n😀ﬁ"), max_size=60)


@given(TEXT, st.sampled_from(NAMES))
def test_words_are_at_their_places(text, name):
    words = placed_words(text, name)
    assert tuple((word.position, word.word) for word in words) == tokenizer(name).tokens(text)
    for word in words:
        written = text[word.start : word.end]
        assert written
        recipe = tokenizer(name).recipe
        if not recipe.grams:
            assert tokenizer(name).words(written) == [word.word]
        else:
            assert word.word in tokenizer(name).words(written)
    if not tokenizer(name).recipe.grams:
        assert all(a.end <= b.start for a, b in pairwise(words))


@pytest.mark.parametrize(
    ("tokenizer", "text", "query", "expected"),
    [
        ("default", "Disk full, disk slow", "disk", "[Disk] full, [disk] slow"),
        ("default", "disk full, full disk", '"disk full"', "[disk] [full], full disk"),
        ("default", "a b a b a", '"a b a"', "[a] [b] [a] [b] [a]"),
        ("default", "disk is now full", '"disk full"~2', "[disk] is now [full]"),
        ("default", "disk is now very full", '"disk full"~2 OR slow', None),
        ("default", "timeouts and timers", "time*", "[timeouts] and [timers]"),
        ("default", "timeouts and timers", "/time.+s/ OR tiners~1", "[timeouts] and [timers]"),
        ("default", "disk full", "disk AND NOT slow", "[disk] full"),
        ("default", "disk full", "m:IN [full x]", "disk [full]"),
        ("default", "東京タワーに行く", "タワー", "東京[タワー]に行く"),
        ("default", "東京 tower 京", "京", "東[京] tower [京]"),
        ("default", "ภาษาไทยง่าย", "ไทย", "ภาษา[ไทย]ง่าย"),
        ("simple", "東京タワー 東京", "東京", "東京タワー [東京]"),
        ("en_stem", "Connections connected", "connect", "[Connections] [connected]"),
        (
            "code",
            "parseHTTPHeader in org.apache.HttpServer",
            "http",
            "parse[HTTP]Header in org.apache.[Http]Server",
        ),
        ("code", "parseHTTPHeader", "httpHeader", "parse[HTTPHeader]"),
        ("whitespace", "Disk disk: full", "disk:", None),
        ("whitespace", "Disk disk: full", '"disk:"', "Disk [disk:] full"),
        ("ngram", "connection lost", "nnect", "co[nnect]ion lost"),
        ("ngram", "aaaa", "aaa", "[aaaa]"),
    ],
)
def test_matches_are_marked(tokenizer, text, query, expected):
    uri = "memory://snippets"
    it.write(uri, pa.table({"m": [text, "other"]}), mode="overwrite", text={"m": tokenizer})
    shown = Snippet("m", pre="[", post="]")
    if query == "disk:":
        with pytest.raises(it.QueryError):
            it.open(uri).search(query, snippet=shown)
        return
    found = it.open(uri).search(query, snippet=shown).column("_snippet").to_pylist()
    assert found == ([] if expected is None else [expected])


def test_folded_words_and_stop_words():
    settings = {
        "spark.indextables.indexing.asciifolding.m": "true",
        "spark.indextables.indexing.stopwords.m": "en",
    }
    rows = pa.table({"m": ["The café of ZÜRICH – Straße"]})
    it.write("memory://folded", rows, text=["m"], settings=settings)
    table = it.open("memory://folded")
    shown = Snippet("m", pre="[", post="]")
    for query, expected in [
        ("cafe", "The [café] of ZÜRICH – Straße"),
        ('"cafe of zurich"', "The [café] of [ZÜRICH] – Straße"),
        ("strasse", "The café of ZÜRICH – [Straße]"),
    ]:
        assert table.search(query, snippet=shown).column("_snippet").to_pylist() == [expected], query


def test_text_is_escaped_unless_the_caller_does_it():
    rows = pa.table({"m": ['<b>disk</b> & "it\'s"']})
    it.write("memory://escaped", rows, text=["m"])
    table = it.open("memory://escaped")

    def snippet(**options: object) -> str:
        return table.search("disk", snippet=Snippet("m", **options)).column("_snippet")[0].as_py()

    assert snippet() == "&lt;b&gt;<b>disk</b>&lt;/b&gt; &amp; &quot;it&#x27;s&quot;"
    assert snippet(escape=False, pre="*", post="*") == '<b>*disk*</b> & "it\'s"'


def test_the_column_is_the_first_one_with_a_match_unless_it_is_named():
    it.write("memory://two", pa.table({"a": ["disk", "x"], "b": ["full", "disk"]}), text=["a", "b"])
    table = it.open("memory://two")
    assert (
        sorted(table.search("disk", snippet=Snippet()).column("_snippet").to_pylist()) == ["<b>disk</b>"] * 2
    )
    assert set(table.search("disk", snippet="B").column("_snippet").to_pylist()) == {None, "<b>disk</b>"}
    assert len(table.hits("disk", snippet=Snippet("a", max_chars=20))) == 2
    it.write("memory://three", pa.table({"a": ["disk"]}))
    with pytest.raises(InputError, match="not a string column indexed as text"):
        it.open("memory://three").search("disk", snippet=Snippet("a"))


WORDS = st.lists(
    st.sampled_from(["disk", "full", "a", "of", "longer", "東", "x" * 30]), min_size=1, max_size=80
)


@given(WORDS, st.integers(1, 60), st.integers(1, 5))
def test_fragments_have_their_size_and_are_parts_of_the_text(words, max_chars, count):
    text = " ".join(words)
    placed = placed_words(text, "words2")
    marks = [Mark(w.start, w.end, w.word == "full") for w in placed if w.word in ("disk", "full")]
    if not marks:
        return
    shown = Snippet(
        max_chars=max_chars, fragments=count, pre="\x01", post="\x02", separator="\x03", escape=False
    )
    rendered = render(text, marks, [(w.start, w.end) for w in placed], shown)
    fragments = rendered.split("\x03")
    assert 1 <= len(fragments) <= count
    at = 0
    for fragment in fragments:
        plain = fragment.replace("\x01", "").replace("\x02", "")
        assert 0 < len(plain) <= max_chars
        at = text.index(plain, at) + len(plain)  # in the order of the text, and not overlapping
        marked = re.findall("\x01(.*?)\x02", fragment)
        assert marked
        assert all(word in ("disk", "full") or len(word) == max_chars for word in marked)
    if len(text) <= max_chars:
        assert fragments == [rendered]
        assert len(re.findall("\x01", rendered)) == len(marks)


def test_the_fragment_with_the_most_different_matches_is_shown():
    text = "disk disk disk " + "x " * 50 + "disk is full " + "y " * 50 + "full"
    placed = placed_words(text, "words2")
    marks = [Mark(w.start, w.end, w.word == "full") for w in placed if w.word in ("disk", "full")]
    words = [(w.start, w.end) for w in placed]
    shown = Snippet(max_chars=20, pre="[", post="]")
    assert render(text, marks, words, shown) == "x x [disk] is [full] y y"
    two = Snippet(max_chars=20, fragments=2, pre="[", post="]")
    assert render(text, marks, words, two) == "[disk] [disk] [disk] x x x … x x [disk] is [full] y y"


def test_snippets_of_hostile_text_are_escaped():
    text = html.unescape("&lt;script&gt;") + "disk" + "</script>" * 40
    it.write("memory://hostile", pa.table({"m": [text]}), text=["m"])
    snippet = it.open("memory://hostile").search("disk", snippet="m").column("_snippet")[0].as_py()
    assert "<script" not in snippet
    assert len(html.unescape(re.sub("</?b>", "", snippet))) <= 150


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_chars": 0},
        {"max_chars": True},
        {"fragments": 10_000},
        {"fragments": "2"},
        {"pre": None},
        {"escape": 1},
        {"column": 3},
    ],
)
def test_wrong_options_are_errors(wrong):
    with pytest.raises(InputError, match="it takes"):
        Snippet(**wrong)
