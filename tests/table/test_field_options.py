"""Options of columns: each changes what is on disk or what is found, and what it makes impossible is an error."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import ConfigError, QueryError
from indextables.schema import field_options

PREFIX = "spark.indextables.indexing."


def _write(path: Path, texts: list[str], mode: str = "append", /, **options: str) -> it.Table:
    count = len(texts)
    columns = {"id": range(count), "m": texts, "s": [text[:3] for text in texts]}
    rows = pa.table({**columns, "n": [n * 7919 % 1_000_003 for n in range(count)]})
    settings = {PREFIX + key.replace("__", "."): value for key, value in options.items()}
    it.write(path, rows, mode=mode, text=["m"], settings=settings)
    return it.open(path)


def _ids(table: it.Table, query: str) -> list[int]:
    return sorted(table.search(query, columns=["id"], limit=None).column("id").to_pylist())


def _size(table: it.Table) -> int:
    return sum(table.files().column("size").to_pylist())


@pytest.mark.parametrize(
    ("options", "query", "found", "by_default"),
    [
        ({"tokenizer__m": "en_stem"}, "m:connects", [0], []),
        ({"tokenizer__en_stem": "m"}, "m:connects", [0], []),
        ({"tokenizer__m": "whitespace"}, "m:Connection", [0], [0]),
        ({"tokenizer__m": "whitespace"}, "m:connection", [], [0]),
        ({"tokenizer__m": "simple"}, "m:京タ", [], [2]),
        ({"tokenizer__m": "ngram"}, "m:nnect", [0], []),
        ({"tokenizer__m": "code"}, "m:http", [1], []),
        ({"stopwords__m": "lost,at"}, '"connection home"~1', [], []),
        ({"asciifolding__m": "true"}, "m:zurich", [0], []),
        ({"asciifolding__m": "true"}, 'm:"hom? ZÜR*"', [0], [0]),
        ({"asciifolding__m": "true"}, "m:/zur[iî]ch/", [0], []),
        ({"tokenLength__m": "10"}, "m:home OR m:/.{11,30}/", [0], [0, 1]),
        ({"text__maxTokenLength": "10"}, "m:home OR m:/.{11,30}/", [0], [0, 1]),
        ({"tokenLength__10": "m"}, "m:home OR m:/.{11,30}/", [0], [0, 1]),
    ],
)
def test_an_option_changes_what_is_found(tmp_path, options, query, found, by_default):
    texts = ["Connection lost at home Zürich", "parseHTTPHeader failed", "東京タワー"]
    assert _ids(_write(tmp_path / "with", texts, **options), query) == found
    assert _ids(_write(tmp_path / "without", texts), query) == by_default


def test_the_characters_of_chinese_japanese_and_thai_are_found_by_any_run(tmp_path):
    table = _write(tmp_path / "t", ["東京タワーに行く", "ภาษาไทยง่าย", "plain 漢字 text"])
    for query, found in [
        ("京タワ", [0]),
        ("に行", [0]),
        ("ษาไท", [1]),
        ("字", [2]),
        ('"漢字 text"', [2]),
        ("行京", []),
    ]:
        assert _ids(table, query) == found, query
    for query in ("東*く", "m:/東.*/", "m:漢?"):
        with pytest.raises(QueryError, match="word of its own"):
            _ids(table, query)
    snippet = table.search("タワー", snippet="m").column("_snippet").to_pylist()
    assert snippet == ["東京<b>タワー</b>に行く"]


def test_the_stop_words_of_a_column_are_not_searched(tmp_path):
    table = _write(tmp_path / "t", ["the disk", "a disk the end"], stopwords__m="en")
    assert _ids(table, '"disk the end"') == [1]
    assert _ids(table, '"disk end"') == []
    for query in ("m:the", "m:(the a)", "m:(the AND NOT a)", "m:the^2", "NOT m:the"):
        with pytest.raises(QueryError, match="stop words"):
            _ids(table, query)


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("m:(the page)", "m:page"),
        ("m:(the AND page)", "m:page"),
        ("m:(+the page -disk)", "m:(page -disk)"),
        ("m:(page -the)", "m:page"),
        ("m:(page OR NOT the)", "m:page"),
        ("m:(page AND NOT (the a))", "m:page"),
        ("m:(the page disk)@2", "m:(page AND disk)"),
        ("m:(the^3 OR page)", "m:page"),
    ],
)
def test_a_stop_word_of_a_query_does_not_count(tmp_path, query, same):
    texts = ["the disk", "a page", "page of the disk", "nothing"]
    table = _write(tmp_path / "t", texts, stopwords__m="en")
    assert _ids(table, query) == _ids(table, same)
    with pytest.raises(QueryError, match="2 alternatives"):
        _ids(table, "m:(the page)@2")
    with pytest.raises(QueryError, match="nothing to search for"):
        _ids(table, "m:(page AND ->)")


def test_runs_of_characters_are_those_of_one_word(tmp_path):
    texts = ["abc bcd", "abcd", "xabcdx", "bcd abc", "ab cd", "Xab-CDEF"]
    table = _write(tmp_path / "t", texts, tokenizer__m="ngram")
    for query, found in [
        ("m:abcd", [1, 2]),
        ('m:"abc bcd"', [0]),
        ('m:"xab cde"', [5]),
        ("m:ab", [4]),
        ("m:bcd", [0, 1, 2, 3]),
        ('m:"bcd?"', [0, 1, 2, 3]),
    ]:
        assert _ids(table, query) == found, query
    shown = table.search('m:"abc bcd"', snippet="m").column("_snippet").to_pylist()
    assert shown == ["<b>abc</b> <b>bcd</b>"]


def test_runs_of_characters_of_two_elements_are_no_phrase(tmp_path):
    values = pa.array([["abc", "bcd"], ["abc bcd"], ["abcd"]], pa.list_(pa.string()))
    it.write(tmp_path / "t", pa.table({"id": [0, 1, 2], "m": values}), text={"m": "ngram"})
    table = it.open(tmp_path / "t")
    assert _ids(table, 'm:"abc bcd"') == [1]
    assert _ids(table, "m:abcd") == [2]
    assert _ids(table, "m:bcd") == [0, 1, 2]


def test_a_column_of_runs_of_characters_is_left_out_of_patterns_in_all_columns(tmp_path):
    rows = pa.table({"id": [0, 1], "g": ["who knows", "no idea"], "m": ["no one", "whoop"]})
    it.write(tmp_path / "t", rows, text={"g": "ngram", "m": "default"})
    table = it.open(tmp_path / "t")
    for query in ("who*", "/who.*/", '"who"*', "whoo~1"):
        assert _ids(table, query) == [1], query
    assert _ids(table, "who") == [0]
    assert _ids(table, '"who?"') == [0]
    assert _ids(table, '"who*"') == [0, 1]  # the text of the one, the pattern of the other
    with pytest.raises(QueryError, match="runs of characters"):
        _ids(table, "g:who*")


def test_letters_without_accents_include_the_capital_i_with_a_dot(tmp_path):
    table = _write(tmp_path / "t", ["İstanbul", "istanbul", "ISTANBUL"], asciifolding__m="true")
    for query in ("m:istanbul", "m:İstanbul", "m:İst*", "m:/İstanbul/", 'm:"İstanbul"', "m:istambul~1"):
        assert _ids(table, query) == [0, 1, 2], query


@pytest.mark.parametrize(("earlier", "now"), [("ngram3_1", "ngram3_2"), ("words2 fold", "words2 fold2")])
def test_a_table_keeps_the_rules_that_it_was_created_with(tmp_path, monkeypatch, earlier, now):
    options = {"tokenizer__m": "ngram"} if "ngram" in earlier else {"asciifolding__m": "true"}
    with monkeypatch.context() as patch:
        patch.setattr(field_options, "recorded_name", lambda *_, **__: earlier)
        _write(tmp_path / "t", ["abc bcd"], **options)
    table = _write(tmp_path / "t", ["abcd"], **options)
    assert {field.tokenizer for field in table.snapshot.mapping.of_kind("text")} == {earlier}
    assert table.count("m:abcd") == (2 if "ngram" in earlier else 1)
    assert _write(tmp_path / "new", ["x"], **options).snapshot.mapping.get("m").tokenizer == now


@pytest.mark.parametrize("record", ["freq", "basic"])
def test_an_index_without_positions_is_smaller_and_has_no_phrases(tmp_path, record):
    texts = [f"alpha beta gamma {n} alpha beta delta" for n in range(2000)]
    full = _write(tmp_path / "full", texts)
    small = _write(tmp_path / "small", texts, indexrecordoption__m=record)
    other = _write(tmp_path / "other", texts, text__indexRecordOption=record)
    assert abs(_size(small) - _size(other)) < 50
    assert _size(small) < _size(full) - 1000
    assert _ids(small, "m:(alpha AND 17)") == _ids(full, "m:(alpha AND 17)") == [17]
    assert _ids(full, 'm:"gamma 17"') == [17]
    for query in ('m:"gamma 17"', "m:gamma-17", 'm:"gam* 17"'):
        with pytest.raises(QueryError, match="without positions"):
            _ids(small, query)
    scores = small.search("m:(gamma OR 17)", limit=3).column("_score").to_pylist()
    assert scores == sorted(scores, reverse=True)


def test_long_ids_in_a_text_can_be_left_out_of_the_index(tmp_path):
    ids = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(1000)]
    texts = [f"request {key} of user {n % 7} timed out" for n, key in enumerate(ids)]
    full = _write(tmp_path / "full", texts)
    small = _write(tmp_path / "small", texts, tokenLength__m="32")
    assert _size(small) < 0.8 * _size(full)
    assert _ids(full, f"m:{ids[17]}") == [17]
    with pytest.raises(QueryError, match="long words"):
        _ids(small, f"m:{ids[17]}")
    assert _ids(small, 'm:"of user 3"') == _ids(full, 'm:"of user 3"')
    where = f"m LIKE '%{ids[17]}%'"
    assert small.to_arrow(["id"], where=where).column("id").to_pylist() == [17]


@pytest.mark.parametrize("option", ["storeonlyfields", "nonfastfields"])
def test_a_column_without_an_index_is_stored_and_not_searched(tmp_path, option):
    texts = [f"text {n}" for n in range(3000)]
    full, small = _write(tmp_path / "full", texts), _write(tmp_path / "small", texts, **{option: "n"})
    assert _size(small) < _size(full) - 1000
    assert small.count(where="n BETWEEN 0 AND 7919 AND m TEXTSEARCH 'text'") == full.count(
        where="n BETWEEN 0 AND 7919"
    )
    assert small.to_arrow(where="n = 7919").column("m").to_pylist() == ["text 1"]
    with pytest.raises(QueryError, match="stored and not indexed"):
        _ids(small, "n:7")
    # The option is the table's: an append without it has it too.
    it.write(tmp_path / "small", pa.table({"id": [1], "m": ["x"], "s": ["y"], "n": [3]}))
    with pytest.raises(QueryError, match="stored and not indexed"):
        _ids(it.open(tmp_path / "small"), "n:7")


def test_a_fast_field_is_there_although_the_session_says_otherwise(tmp_path):
    texts = [f"text {n}" for n in range(3000)]
    full = _write(tmp_path / "full", texts)
    both = _write(tmp_path / "both", texts, nonfastfields="n,id", fastfields="N, s, not_in_this_table")
    small = _write(tmp_path / "small", texts, nonfastfields="n,id")
    assert _size(small) + 1000 < _size(both) < _size(full)
    assert _ids(both, "n:7919") == _ids(full, "n:7919") == [1]
    with pytest.raises(QueryError, match="stored and not indexed"):
        _ids(both, "id:7")
    with pytest.raises(ConfigError, match="'n' is stored and not indexed in this table, and .*fastfields"):
        _write(tmp_path / "small", ["a"], fastfields="n")
    assert _ids(_write(tmp_path / "both", ["a"], fastfields="n"), "n:7919") == [1]


def test_a_string_column_is_searched_although_nonfastfields_names_it(tmp_path):
    options = {"nonfastfields": "s", "fastfields": "s"}
    for given in ({"nonfastfields": "s"}, options):
        table = _write(tmp_path / str(len(given)), ["abc", "xyz"], **given)
        assert _ids(table, "s:xyz") == [1]
        assert table.count(where="s = 'xyz'") == 1


def test_a_string_column_that_is_only_stored(tmp_path):
    table = _write(tmp_path / "t", ["abc", "xyz"], storeonlyfields="s")
    assert table.count(where="s = 'xyz'") == 1
    assert _ids(table, "xyz") == [1]  # of the text column alone
    with pytest.raises(QueryError, match="stored and not indexed"):
        _ids(table, "s:xyz")


def test_raw_is_one_exact_value(tmp_path):
    rows = pa.table({"id": [1, 2], "m": ["a b", "a"]})
    it.write(tmp_path / "t", rows, settings={PREFIX + "tokenizer.m": "raw"})
    assert it.open(tmp_path / "t").count(where="m FIELDMATCH 'a'") == 1


def test_write_takes_tokenizers_by_column(tmp_path):
    rows = pa.table({"id": [1], "m": ["connections"], "path": ["src/HttpServer.java"]})
    it.write(tmp_path / "t", rows, text={"m": "en_stem", "path": "code"})
    table = it.open(tmp_path / "t")
    assert table.count(query="m:connected AND path:server") == 1


def test_an_append_with_another_tokenizer_is_an_error_that_shows_both(tmp_path):
    _write(tmp_path / "t", ["a"], tokenizer__m="en_stem", stopwords__m="en")
    _write(tmp_path / "t", ["b"])
    _write(tmp_path / "t", ["c"], tokenizer__m="en_stem", stopwords__m="en")
    with pytest.raises(ConfigError, match=r"en_stem1 stop:en;.*code1") as error:
        _write(tmp_path / "t", ["d"], tokenizer__m="code")
    assert "'m'" in str(error.value)
    with pytest.raises(ConfigError, match="none"):
        _write(tmp_path / "t", ["d"], storeonlyfields="id")
    assert it.open(tmp_path / "t").count() == 3
    assert _ids(_write(tmp_path / "t", ["Foo"], "overwrite", tokenizer__m="whitespace"), "m:Foo") == [0]


def test_merging_keeps_the_tokenizer(tmp_path):
    for _ in range(3):
        table = _write(tmp_path / "t", ["Connections of the HttpServer", "東京"], tokenizer__m="code")
    before = _ids(table, "m:http")
    table.merge_splits(target_size="1G")
    merged = it.open(tmp_path / "t")
    assert len(merged.files()) == 1
    assert _ids(merged, "m:http") == before == [0, 0, 0]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tokenizer__m": "klingon"}, "not a tokenizer"),
        ({"tokenizer__nothing": "default"}, "unknown column"),
        ({"tokenizer__id": "default"}, "only strings"),
        ({"stopwords__m": "not words!"}, "neither a language"),
        ({"stopwords__m": "ta"}, "no stop words"),
        ({"asciifolding__m": "perhaps"}, "not true or false"),
        ({"tokenLength__m": "0"}, "1 to 65530"),
        ({"indexrecordoption__m": "all"}, "position, freq, basic"),
        ({"storeonlyfields": "nothing"}, "unknown column"),
        ({"storeonlyfields": "m"}, "options of an indexed column"),
        ({"storeonlyfields": "n", "fastfields": "n"}, "leave it out of one"),
        ({"tokenizer__m": "raw"}, "one exact value"),
    ],
)
def test_an_option_with_a_wrong_value_is_an_error(tmp_path, options, reason):
    with pytest.raises(ConfigError, match=reason):
        _write(tmp_path / "t", ["a"], **options)
