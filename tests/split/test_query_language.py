"""The query language: as in Tantivy where its parser accepts a query, and by the rules stated here elsewhere."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
import tantivy
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from indextables.errors import QueryError
from indextables.predicates import DEFAULT_LIMITS, TextQuery
from indextables.schema import FieldMapping, TableSchema
from indextables.split import check_text_query
from indextables.split.index.builder import IndexBuilder
from indextables.split.index.fields import ROW, IndexFields
from indextables.split.query import tree as ast
from indextables.split.query.binding import bind_query
from indextables.split.query.compiler import Compiler
from indextables.split.query.parser import parse
from indextables.split.query.scanner import QuerySyntaxError

WORDS = ["alpha", "beta", "gamma", "delta", "web", "conn1", "conn2", "it", "s"]


def _texts(count: int, step: int) -> list[str]:
    return [
        " ".join(WORDS[(row * step + word * word * 3 + row // 7) % len(WORDS)] for word in range(2 + row % 6))
        for row in range(count)
    ]


ROWS = pa.record_batch(
    {
        "t": ["web conn2 alpha" if row % 9 == 4 else text for row, text in enumerate(_texts(60, 5))],
        "u": _texts(60, 7),
        "s": [["alpha", "alpha beta", "x/y", ""][row % 4] for row in range(60)],
        "n": pa.array(range(60), pa.int32()),
        "f": pa.array([float(row) / 4 for row in range(60)], pa.float32()),
        "b": [row % 3 == 0 for row in range(60)],
        "d": pa.array([19000 + row for row in range(60)], pa.int32()).cast(pa.date32()),
        "m": pa.array([row * 1_000_000 for row in range(60)], pa.timestamp("us", "UTC")),
        "z": pa.array([None if row % 5 == 0 else "maybe there" for row in range(60)], pa.string()),
        "x": pa.array([b"x"] * 60),
    }
)
SCHEMA = TableSchema.from_arrow(ROWS.schema)
MAPPING = FieldMapping.of(SCHEMA, (), {"t": "text", "u": "text", "z": "text"})


class Engine:
    def __init__(self, directory: Path) -> None:
        fields = IndexFields(MAPPING)
        builder = IndexBuilder(fields, directory, 0)
        builder.add(ROWS)
        builder.finish()
        self.index = tantivy.Index.open(str(directory))
        self.searcher = self.index.searcher()
        self.compiler = Compiler(self.index, self.searcher, fields)

    def run(self, query: tantivy.Query) -> dict[int, float]:
        hits = self.searcher.search(query, limit=100).hits
        rows = self.searcher.fast_field_values(ROW, [address for _, address in hits])
        return dict(zip(rows, [score for score, _ in hits], strict=True))

    def ours(self, text: str, column: str = "t", op: str = "TEXTSEARCH") -> dict[int, float]:
        return self.run(self.compiler.query(bind_query(TextQuery(op, column, text), MAPPING)))

    def rows(self, text: str, column: str = "t", op: str = "TEXTSEARCH") -> list[int]:
        return sorted(self.ours(text, column, op))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(tmp_path_factory.mktemp("engine") / "index")


# --- the same as Tantivy ------------------------------------------------------------------------------------

words = st.sampled_from([*WORDS, "absent", "Alpha", "alpha-beta", "web,conn1", "alpha!", "it\\ s"])
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


def _leaves() -> st.SearchStrategy[str]:
    quoted = st.tuples(phrases, st.sampled_from(['"', "'"])).map(lambda p: f"{p[1]}{p[0]}{p[1]}")
    sloppy = st.tuples(phrases, st.integers(0, 3)).map(lambda p: f'"{p[0]}"~{p[1]}')
    continued = st.tuples(st.sampled_from(WORDS), st.sampled_from(["c", "con", "b"])).map(
        lambda p: f'"{p[0]} {p[1]}"*'
    )
    ranges = st.sampled_from(["t:[a TO d]", "t:{alpha TO web}", "u:>beta", "u:<= delta", "t:[* TO c}"])
    sets = st.sampled_from(["t: IN [alpha web]", "u:IN ['beta' absent]"])
    return st.one_of(words, words, quoted, sloppy, continued, ranges, sets, st.just("*"))


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fielded = st.tuples(st.sampled_from(["t", "u"]), words).map(lambda p: f"{p[0]}:{p[1]}")
    group = inner.map(lambda q: f"({q})")
    fielded_group = st.tuples(st.sampled_from(["t", "u"]), inner).map(lambda p: f"{p[0]}:({p[1]})")
    boosted = st.tuples(st.one_of(words, group), st.sampled_from(["2", "0.5", "1"])).map(
        lambda p: f"{p[0]}^{p[1]}"
    )
    signed = st.tuples(st.sampled_from("+-"), st.one_of(words, group)).map("".join)
    negated = st.one_of(words, group).map(lambda q: f"NOT {q}")
    items = st.one_of(inner, fielded, group, fielded_group, boosted, signed, negated)
    joints = st.sampled_from([" ", " AND ", " OR "])
    return st.lists(st.tuples(joints, items), min_size=1, max_size=4).map(
        lambda parts: "".join(joint + item for joint, item in parts)[len(parts[0][0]) :]
    )


def _only_negates_somewhere(node: ast.Node) -> bool:
    if isinstance(node, ast.Boost):
        return _only_negates_somewhere(node.node)
    if not isinstance(node, ast.Clause):
        return False
    return all(occur is ast.Occur.MUST_NOT for occur, _ in node.children) or any(
        _only_negates_somewhere(child) for _, child in node.children
    )


@given(text=st.recursive(_leaves(), _wider, max_leaves=8), defaults=st.sampled_from([["t"], ["t", "u", "z"]]))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@example("alpha AND beta OR gamma delta", ["t"])
@example("alpha -beta OR -gamma AND delta", ["t"])
@example("alpha alpha (alpha OR beta)^2", ["t", "u", "z"])
def test_hits_and_scores_are_those_of_tantivys_own_parser(
    engine: Engine, text: str, defaults: list[str]
) -> None:
    assume(not _only_negates_somewhere(parse(text)))
    try:
        theirs = engine.run(engine.index.parse_query(text, defaults))
    except ValueError:
        assume(False)
    column = "t" if len(defaults) == 1 else "*"
    assert engine.ours(text, column) == theirs


def _as_tantivy(node: ast.Node) -> dict:
    match node:
        case ast.Clause(children):
            names = {
                ast.Occur.MUST: "must",
                ast.Occur.SHOULD: "should",
                ast.Occur.MUST_NOT: "must_not",
                None: None,
            }
            return {"type": "bool", "clauses": [(names[o], _as_tantivy(child)) for o, child in children]}
        case ast.Boost(child, factor):
            return {"type": "boost", "underlying": _as_tantivy(child), "boost": factor}
        case ast.Everything():
            return {"type": "all"}
        case ast.Exists(name):
            return {"type": "exists", "field": name}
        case ast.Literal():
            delimiter = {"": "none", '"': "double_quotes", "'": "single_quotes"}[node.quote]
            return {
                "type": "literal",
                "field_name": node.field,
                "phrase": node.text,
                "delimiter": delimiter,
                "slop": node.slop,
                "prefix": node.prefix,
            }
        case _:
            return {"type": "other"}


def _ours_alone(document: object) -> bool:
    """Return True if a tree of Tantivy has what this parser reads differently: wildcards, fuzzy words, backslashes."""
    if isinstance(document, dict):
        if document.get("type") in ("range", "set", "regex"):
            return True
        name = document.get("field_name") or document.get("field")
        if isinstance(name, str) and (name in ("AND", "OR", "NOT") or not set("\\\t").isdisjoint(name)):
            return True
        if document.get("type") == "literal" and document["delimiter"] == "none":
            return any(character in document["phrase"] for character in "*?~\\!/@&|")
        if document.get("type") == "literal":
            return any(character in document["phrase"] for character in "*?")
        return any(_ours_alone(value) for value in document.values())
    return any(map(_ours_alone, document)) if isinstance(document, (list, tuple)) else False


PIECES = (
    'a|b|ab| |AND |OR |NOT | AND | OR |(|)|"|+|-|^2|^|:|a:|t:|*|\\|~2|5|[|]|{|}|\t|,'.split("|")  # noqa: SIM905
)
pieces = st.sampled_from(PIECES)


REFUSED = re.compile(
    "inside quotes|fuzzy and needs|after the boost|after a phrase takes|is empty|does not name a column"
    r"|after the '\*' of a phrase|between the brackets"
)
"""Errors for syntax that Tantivy accepts with another meaning than users expect."""


def _parsed(text: str) -> ast.Node | str:
    """Return the tree, or the reason of the error, whose position must be inside the query."""
    try:
        return parse(text)
    except QuerySyntaxError as problem:
        reason, position = problem.reason, problem.position
    assert 0 <= position <= len(text)
    return reason


@given(text=st.lists(pieces, max_size=10).map("".join))
@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_whatever_tantivy_parses_has_the_same_tree(text: str) -> None:
    assume(not re.search(r"[+-]\s", text))  # Tantivy allows spaces after a sign, but only before a `*`
    assume(
        not re.search(r"\\\w", text)
    )  # a backslash that Tantivy drops inside quotes, and that separates here
    ours = _parsed(text)
    try:
        theirs = tantivy.parse_query(text)
    except ValueError:
        return
    if not _ours_alone(theirs) and not (isinstance(ours, str) and REFUSED.search(ours)):
        assert not isinstance(ours, str)
        assert _as_tantivy(ours) == theirs


@given(st.text(max_size=40))
@settings(deadline=None)
def test_any_text_parses_or_says_where_it_does_not(text: str) -> None:
    _parsed(text)


# --- ours -----------------------------------------------------------------------------------------------------


def _containing(column: str, *tokens: str) -> list[int]:
    texts = ROWS.column(column).to_pylist()
    return [row for row, text in enumerate(texts) if text is not None and set(tokens) <= set(text.split())]


def test_not_alone_means_everything_but(engine: Engine) -> None:
    expected = sorted(set(range(60)) - set(_containing("t", "alpha")))
    assert engine.rows("NOT alpha") == engine.rows("-alpha") == engine.rows("(NOT alpha)") == expected


def test_not_inside_a_query_excludes(engine: Engine) -> None:
    beta_only = sorted(set(_containing("t", "beta")) - set(_containing("t", "alpha")))
    assert engine.rows("beta AND NOT alpha") == beta_only
    assert engine.ours("beta AND NOT alpha") == engine.ours("+beta -alpha")
    either = sorted(set(_containing("t", "beta")) | (set(range(60)) - set(_containing("t", "alpha"))))
    assert engine.rows("beta OR NOT alpha") == either


def test_a_query_over_one_column_never_matches_where_it_is_null(engine: Engine) -> None:
    present = [row for row in range(60) if row % 5]
    assert engine.rows("*", "z") == engine.rows("z:*", "z") == engine.rows("NOT absent", "z") == present


def test_prefixes_and_wildcards_match_whole_words(engine: Engine) -> None:
    both = sorted({*_containing("t", "conn1"), *_containing("t", "conn2")})
    assert engine.rows("conn*") == engine.rows("CON*") == engine.rows("c?nn?") == engine.rows("*nn?") == both
    assert engine.rows("conn?x") == []
    assert engine.rows("t:[conn TO conn9]") == both


def test_a_pattern_over_several_words_matches_them_in_sequence(engine: Engine) -> None:
    texts = ROWS.column("t").to_pylist()
    expected = [row for row, text in enumerate(texts) if " web conn" in f" {text}"]
    assert expected
    assert engine.rows("web-con*") == engine.rows('"web con"*') == expected


def test_fuzzy_words_match_within_the_distance(engine: Engine) -> None:
    assert engine.rows("gama~1") == engine.rows("gamma~0") == _containing("t", "gamma")
    assert engine.rows("gxxma~1") == []
    assert engine.rows("gxxma~2") == _containing("t", "gamma")


def test_a_phrase_prefix_sees_every_continuation(tmp_path: Path) -> None:
    rows = pa.record_batch({"t": [f"web conn{row:04d}" for row in range(300)]})
    mapping = FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    builder = IndexBuilder(IndexFields(mapping), tmp_path / "index", 0)
    builder.add(rows)
    builder.finish()
    index = tantivy.Index.open(str(tmp_path / "index"))
    compiler = Compiler(index, index.searcher(), IndexFields(mapping))
    query = compiler.query(bind_query(TextQuery("TEXTSEARCH", "t", '"web conn"*'), mapping))
    assert index.searcher().search(query, limit=1).count == 300


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n:7", [7]),
        ("n:-7", []),
        ("n:[3 TO 5]", [3, 4, 5]),
        ("n:{3 TO 5}", [4]),
        ("n:>57", [58, 59]),
        ("n:<=1", [0, 1]),
        ("n: IN [4 9 400]", [4, 9]),
        ("f:0.25", [1]),
        ("f:>=14.5", [58, 59]),
        ("d:2022-01-09", [1]),
        ("d:[2022-01-08 TO 2022-01-10}", [0, 1]),
        ('m:"1970-01-01T00:00:03Z"', [3]),
        ('m:>="1970-01-01T00:00:58"', [58, 59]),
        ("b:true AND n:<7", [0, 3, 6]),
        ("NOT n:>=2", [0, 1]),
    ],
)
def test_numbers_dates_and_times_compare_by_value(engine: Engine, text: str, expected: list[int]) -> None:
    assert engine.rows(text, "n", "INDEXQUERY") == expected


def test_an_index_query_without_a_field_asks_its_column(engine: Engine) -> None:
    assert engine.rows("[1 TO 2]", "n", "INDEXQUERY") == [1, 2]
    assert engine.rows(">= 58", "n", "INDEXQUERY") == [58, 59]
    assert engine.rows("IN [alpha x/y]", "s", "FIELDMATCH") == [row for row in range(60) if row % 4 in (0, 2)]


def test_field_match_compares_whole_values(engine: Engine) -> None:
    assert engine.rows('"alpha beta"', "s", "FIELDMATCH") == list(range(1, 60, 4))
    assert engine.rows("alpha\\ beta", "s", "FIELDMATCH") == list(range(1, 60, 4))
    assert (
        engine.rows("x/y", "s", "FIELDMATCH") == engine.rows("x*", "s", "FIELDMATCH") == list(range(2, 60, 4))
    )
    assert engine.rows('""', "s", "FIELDMATCH") == list(range(3, 60, 4))
    assert engine.rows('s:["alpha b" TO "alpha c"]', "s", "FIELDMATCH") == list(range(1, 60, 4))


def test_all_columns_are_those_the_operator_can_search(engine: Engine) -> None:
    assert engine.rows("alpha", "*") == sorted({*_containing("t", "alpha"), *_containing("u", "alpha")})
    assert engine.rows("alpha", "*", "FIELDMATCH") == list(range(0, 60, 4))
    everywhere = {*_containing("t", "alpha"), *_containing("u", "alpha"), *range(0, 60, 4)}
    assert engine.rows("alpha", "*", "INDEXQUERY") == sorted(everywhere)


def test_apostrophes_and_paths_are_words(engine: Engine) -> None:
    assert engine.rows("it's") == engine.rows('"it s"')
    assert engine.rows("/web") == engine.rows('"/web/"') == engine.rows("web")


# --- errors ---------------------------------------------------------------------------------------------------


def _error(op: str, column: str, text: str, **kwargs: object) -> QueryError:
    with pytest.raises(QueryError) as caught:
        check_text_query(TextQuery(op, column, text), MAPPING, limits=DEFAULT_LIMITS, **kwargs)
    return caught.value


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ('alpha "beta', 6, 'unclosed quote: add the closing "'),
        ("(alpha", 0, "unclosed parenthesis: add the closing ')'"),
        ("alpha)", 5, "')' has no matching '('"),
        ("alpha AND", 6, "AND needs an operand after it"),
        ("OR alpha", 0, "OR needs an operand before it"),
        ("alpha AND OR beta", 10, "OR is an operator, and a word is expected"),
        ("alpha NOT", 6, "NOT needs an operand after it"),
        ("alpha^", 5, "'^' must be followed by a number"),
        ("alpha ()", 6, "empty parentheses"),
        ("t:[a b]", 2, "TO is missing"),
        ("t:[a TO b", 2, "unclosed range"),
        ("t: IN [a b", 0, "unclosed set"),
        ("t:", 0, "a value is missing after 't:'"),
        ("alpha - beta", 6, "'-' must be directly followed by a word"),
        ("alpha~3", 0, "a fuzzy word takes ~1 or ~2"),
        ("alp*a~1", 0, "cannot be fuzzy and have wildcards"),
        ("alpha\\", 5, "a backslash must be followed by a character"),
        ("t:a:b", 3, "unexpected ':'"),
        (
            "(" * 41 + "a" + ")" * 41,
            40,
            "nested more than 40 deep; shorten the query, or raise spark.indextables.query.",
        ),
        ("nope:1", 0, "unknown column 'nope'"),
        (
            "alpha s:x",
            6,
            "use FIELDMATCH or =, or write the table with spark.indextables.indexing.typemap.s = text",
        ),
        ("[a TO b]", 0, "a range or set needs a column"),
        ("t:[a-b TO c]", 0, "takes one word"),
        ("w" * 1001 + "~1", 0, "a fuzzy word has at most 1000 letters, not 1001"),
    ],
)
def test_an_error_names_column_position_and_reason(text: str, position: int, reason: str) -> None:
    error = _error("TEXTSEARCH", "t", text)
    assert error.column == "t"
    assert error.position == position
    assert reason in str(error)
    message, shown, caret = str(error).split("\n")
    assert message.startswith(f"TEXTSEARCH on column 't' at position {position}: ")
    assert shown[2:] == text[:1000]  # of a longer query, only the part around the position is shown
    assert caret == "  " + " " * position + "^"


def test_the_documented_message() -> None:
    assert str(_error("TEXTSEARCH", "t", 'a AND "b c')).split("\n") == [
        "TEXTSEARCH on column 't' at position 6: cannot parse the query: unclosed quote: add the closing \"",
        '  a AND "b c',
        "        ^",
    ]


@pytest.mark.parametrize(
    ("op", "column", "reason"),
    [
        ("TEXTSEARCH", "s", "is not tokenised: use FIELDMATCH or ="),
        ("TEXTSEARCH", "n", "use INDEXQUERY"),
        ("FIELDMATCH", "t", "is tokenised text: use TEXTSEARCH"),
        ("INDEXQUERY", "x", "is binary, which is not indexed"),
        ("TEXTSEARCH", "nope", "unknown column 'nope': TEXTSEARCH can search t, u, z"),
    ],
)
def test_an_operator_on_the_wrong_column_says_what_to_do(op: str, column: str, reason: str) -> None:
    error = _error(op, column, "alpha")
    assert error.position is None
    assert reason in str(error)


def test_a_partition_column_is_not_in_the_index() -> None:
    assert "partition column" in str(_error("INDEXQUERY", "t", "day:1", partition_columns=("day",)))


def test_a_search_over_too_many_columns_is_refused() -> None:
    assert "more than 2" in str(_error("TEXTSEARCH", "*", "alpha", max_all_fields=2))
    check_text_query(TextQuery("TEXTSEARCH", "*", "alpha"), MAPPING, max_all_fields=3)
    check_text_query(TextQuery("TEXTSEARCH", "*", "alpha"), MAPPING, max_all_fields=0)


@pytest.mark.parametrize(("text", "wanted"), [("n:x", "number"), ("d:5", "date"), ("b:2", "true or false")])
def test_a_literal_must_fit_its_column(text: str, wanted: str) -> None:
    assert wanted in str(_error("INDEXQUERY", "n", text))


# --- what other languages write ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "  ", "->", "-=", "NOT >", "NOT (= OR ,)", "alpha AND ->", "=", "...", '"!"', "=*", "*-?"]
)
def test_a_query_with_nothing_to_search_for_is_an_error(text: str) -> None:
    reason = str(_error("TEXTSEARCH", "t", text))
    assert "nothing to search for" in reason or "is empty" in reason


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("t:!alpha", "write NOT t:value"),
        ("beta!alpha", "a space before it"),
        ("alpha != beta", "write NOT col:value"),
        ("! ", "needs an operand after it"),
        ("alpha&&beta", "write AND"),
        ("alpha||beta", "write OR"),
        ("&& alpha", "needs an operand before it"),
        ("/var/log/", "quote a path"),
        ("/alpha/i", "text columns ignore case"),
        ("//", "nothing between the slashes"),
        ("t:/alpha beta/", "no word has ' '"),
        ("/^alpha$/", "matches a whole word"),
        ("/al(pha/", "unclosed '('"),
        ("/al)/", "no matching '('"),
        ("/al[a/", "unclosed '['"),
        ("/a*?b/", "lazy or possessive"),
        ("/*a/", "repeats what stands before it"),
        ("/a{1000}/", "1 to 250"),
        ("/a{2/", "such as {2}"),
        ("/(a{100}){100}/", "too large"),
        ("/.{200}/", "too complex"),
        ("/(?i)a/", "not supported"),
        ("/a|/", "is empty here"),
        ("/\\bal/", "classes are"),
        ("/a~b/", "complement"),
        ("/<1-5>/", "range of numbers"),
        ("/[b-a]/", "swap its ends"),
        ("/[^\\s\\S]/", "matches nothing"),
        ('t: IN ["alp*"]', "a set takes whole values"),
        ('t:["al*" TO beta]', "a range takes whole values"),
        ("(alpha beta)@3", "the group has 2"),
        ("(alpha AND beta)@1", "the group has 0"),
        ("(alpha beta)@", "(a b c)@2"),
        ("(alpha beta)@0", "(a b c)@2"),
        ("_exists_:t*", "the name of one column"),
        ("_exists_:nothing", "unknown column"),
        ("_missing_:t", "NOT col:*"),
        ("*:alpha", "write the word alone"),
        ("t: IN [alp*]", "join words with wildcards by OR"),
        ("t:[al* TO beta]", "a whole value, or * alone"),
        ("alpha~0.8", "word~1 or word~2"),
        ("alpha~beta", "word~1 or word~2"),
        ("alpha~3", "takes ~1 or ~2"),
        ('"alpha beta" ~2', "word~1 or word~2"),
        ('"alpha beta"~', "a number of words"),
        ('"alpha beta"~2.5', "a whole number of words"),
        ('"alpha beta"~99999999999999999999', "at most ~1000 apart"),
        ("alpha^-1", "such as ^2 or ^0.5"),
        ("alpha^2beta", "such as ^2 or ^0.5"),
        ("alpha^99999999999", "at most 1000000"),
        ("t:[a to b]", "[low TO high]"),
        ("n:5..7", "unknown column|INDEXQUERY"),
        ("\\u0041", "write the character itself"),
        ("C:\\Windows\\x", "quote or escape the ':'"),
        ('"C:\\Windows\\"', "write \\\\ for a backslash before the closing"),
        ('"C:\temp"', "double the backslash"),
        ("alpha\x07", "control character"),
        ("<alpha>", "quote it to search for its words"),
        ("t:-5abc", 'quote it, "-5abc"'),
        ("t:-5-prod", 'quote it, "-5-prod"'),
        ("t:-1e5x", 'quote it, "-1e5x"'),
        ("t:-1.2.3", 'quote it, "-1.2.3"'),
        ("t:-5*", 'quote it, "-5*"'),
        ("t: IN [-5abc]", 'quote it, "-5abc"'),
        ("t: IN [alpha -5-prod]", 'quote it, "-5-prod"'),
    ],
)
def test_spellings_of_other_languages_are_refused_with_the_one_that_works(text: str, instead: str) -> None:
    reason = str(_error("TEXTSEARCH", "t", text)).split("\n")[0]
    assert any(hint in reason for hint in instead.split("|")), reason


@pytest.mark.parametrize(
    ("lucene", "same"),
    [
        ("alpha -beta", "alpha AND NOT beta"),
        ("alpha && web", "alpha AND web"),
        ("alpha || beta", "alpha OR beta"),
        ("alpha && (beta || web)", "alpha AND (beta OR web)"),
        ("!alpha", "NOT alpha"),
        ("beta !alpha", "beta AND NOT alpha"),
        ("beta && ! alpha", "beta AND NOT alpha"),
        ("!!alpha", "alpha"),
        ("!(alpha beta)", "NOT alpha AND NOT beta"),
        ("*:*", "*"),
        ("_exists_:t", "t:*"),
        ("/al.*/", "al*"),
        ("/AL.*/", "al*"),
        ("t:/(alpha|beta)/", "alpha OR beta"),
        ("/[a-b]+\\w*/", "a* OR b*"),
        ("/alph[^b]/", "alph? AND NOT alphb"),
        ("alpah~", "alpah~2"),
        ("alpah~^2", "alpah~2"),
        ('"w?b con*"', '"web conn2" OR "web conn1"'),
        ('"web con*"', '"web con"*'),
        ('"w* con"*', '"web con"*'),
        ('"alp* web"~3', '"alpha web"~3'),
        ("(alpha beta web)@1", "alpha OR beta OR web"),
        ("(alpha beta web)@2", "(alpha AND beta) OR (alpha AND web) OR (beta AND web)"),
        ("t:(alpha web)@2", "alpha AND web"),
        ("(+alpha beta web)@1", "alpha AND (beta OR web)"),
        ("(alpha OR web -beta)@2", "alpha AND web AND NOT beta"),
        ("alpha NOT beta", "alpha AND NOT beta"),
        ("+alpha beta", "alpha AND (beta OR alpha)"),
        ("+alpha +web", "alpha AND web"),
        ("t:(alpha AND -beta)", "alpha AND NOT beta"),
        ("t:[alpha TO gamma}", "t:>=alpha AND t:<gamma"),
        ("t:{alpha TO gamma]", "t:>alpha AND t:<=gamma"),
        ("(alpha OR beta) AND web", "web AND (alpha OR beta)"),
        ("alpha^2 AND web", "alpha AND web"),
        ("\\!alpha", "alpha"),
    ],
)
def test_what_lucene_users_write_means_what_they_mean(engine: Engine, lucene: str, same: str) -> None:
    assert engine.rows(lucene) == engine.rows(same) != []


def test_a_windows_path_in_quotes_is_its_words(tmp_path: Path) -> None:
    rows = pa.record_batch(
        {"t": [r"loading C:\Windows\winsxs\new now", "loading C Windows", r"D:\Windows\winsxs"]}
    )
    mapping = FieldMapping.of(TableSchema.from_arrow(rows.schema), (), {"t": "text"})
    builder = IndexBuilder(IndexFields(mapping), tmp_path / "index", 0)
    builder.add(rows)
    builder.finish()
    index = tantivy.Index.open(str(tmp_path / "index"))
    compiler = Compiler(index, index.searcher(), IndexFields(mapping))

    def count(text: str) -> int:
        query = compiler.query(bind_query(TextQuery("TEXTSEARCH", "t", text), mapping))
        return index.searcher().search(query, limit=1).count

    assert count(r'"C:\Windows\winsxs"') == count(r'"C:\\Windows\\winsxs"') == 1
    assert count(r'"Windows\winsxs"') == count(r"Windows\winsxs") == 2
    assert count(r'"C:\Windows\winsxs\new"') == count(r"C\:\Windows\win*") == 1
    assert count(r'"C:\Windows\wins"*') == 1


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("NOT " * 900 + "alpha", "maxDepth"),
        ("(" * 900 + "alpha" + ")" * 900, "maxDepth"),
        ("alpha " * 10_001, "maxTerms"),
        ("t: IN [" + "alpha " * 10_001 + "]", "maxTerms"),
        ("alp* " * 101, "maxPatterns"),
        ("alpha~1 " * 101, "maxPatterns"),
        ("a" * 262_145, "maxLength"),
    ],
)
def test_a_query_beyond_a_limit_is_refused_with_the_setting(text: str, limit: str) -> None:
    reason = str(_error("TEXTSEARCH", "t", text))
    assert f"spark.indextables.query.{limit}" in reason
    assert len(reason) < 3000


def test_a_query_that_only_recursion_stops_is_a_query_error() -> None:
    with pytest.raises(QueryError, match="too deep"):
        bind_query(TextQuery("TEXTSEARCH", "t", "NOT " * 5000 + "alpha"), MAPPING)
