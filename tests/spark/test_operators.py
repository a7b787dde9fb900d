"""The search operators in SQL: what is taken for one, what it finds, and what is said when it cannot be."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException

MESSAGES = [
    "disk error on db1",
    "all is well",
    "it's a user's error",
    'the "quoted" word',
    "disk almost full",
    None,
]


@pytest.fixture(scope="module", autouse=True)
def views(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("operators") / "logs")
    rows = [
        (i, text, f"host-{i % 2}", None if text is None else text.upper()) for i, text in enumerate(MESSAGES)
    ]
    frame = spark.createDataFrame(rows, "id long, message string, host string, title string")
    text = {f"spark.indextables.indexing.typemap.{column}": "text" for column in ("message", "title")}
    frame.coalesce(1).write.format("indextables").options(**text).save(path)
    spark.createDataFrame(
        [("host-0", "ops"), ("host-1", "dev")], "host string, team string"
    ).createOrReplaceTempView("teams")
    return path


@pytest.fixture(autouse=True)
def logs(spark, views, way):
    spark.read.format("indextables").options(**way).load(views).createOrReplaceTempView("logs")


def ids(spark, where: str, **options) -> list[int]:
    return sorted(row["id"] for row in spark.sql(f"SELECT id FROM logs WHERE {where}", **options).collect())


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("message TEXTSEARCH 'disk'", [0, 4]),
        ("message textsearch 'disk AND error'", [0]),
        ('message TEXTSEARCH "disk OR well"', [0, 1, 4]),
        ("logs.message TEXTSEARCH 'disk'", [0, 4]),
        ("`message` TEXTSEARCH 'disk'", [0, 4]),
        ("message TEXTSEARCH 'di' 'sk'", [0, 4]),
        ("message TEXTSEARCH r'disk'", [0, 4]),
        ("message TEXTSEARCH '\"disk error\"'", [0]),
        ("message TEXTSEARCH 'user\\'s'", [2]),
        ("message TEXTSEARCH 'user''s'", [2]),
        ("message /* TEXTSEARCH 'no' */ TEXTSEARCH -- 'no'\n 'disk'", [0, 4]),
        ("'\U0001f600' <> message AND message TEXTSEARCH 'disk'", [0, 4]),
        ("NOT message TEXTSEARCH 'disk'", [1, 2, 3]),
        ("message NOT TEXTSEARCH 'disk'", [1, 2, 3]),
        ("NOT (message TEXTSEARCH 'disk' OR id = 1)", [2, 3]),
        ("message TEXTSEARCH 'disk' OR id = 1", [0, 1, 4]),
        ("message TEXTSEARCH 'disk' OR message IS NULL", [0, 4, 5]),
        ("message TEXTSEARCH 'disk' AND message TEXTSEARCH 'full'", [4]),
        ("(message TEXTSEARCH 'disk') = true", [0, 4]),
        ("message TEXTSEARCH 'disk' AND length(message) > 16", [0]),
        ("host FIELDMATCH 'host-1'", [1, 3, 5]),
        ("message INDEXQUERY 'disk -full'", [0]),
        ("* TEXTSEARCH 'disk'", [0, 4]),
        ("logs.* TEXTSEARCH 'disk'", [0, 4]),
        ("NOT * TEXTSEARCH 'disk' AND id < 3", [1, 2]),
        ("id * 2 = 8 AND * TEXTSEARCH 'disk'", [4]),
        ("indextables.textsearch(message, 'disk')", [0, 4]),
    ],
)
def test_a_search_finds(spark, where, found):
    assert ids(spark, where) == found


def test_a_query_can_be_a_parameter(spark):
    assert ids(spark, "message TEXTSEARCH :words", args={"words": "disk AND full"}) == [4]
    assert ids(spark, "message TEXTSEARCH ? AND id = ?", args=["disk", 0]) == [0]


def test_dataframes_search_by_expression(spark):
    logs = spark.table("logs")
    assert logs.filter("message TEXTSEARCH 'disk'").count() == 2
    assert logs.where("* TEXTSEARCH 'disk'").filter("id > 1").count() == 1


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("SELECT * FROM logs JOIN teams USING (host) WHERE message TEXTSEARCH 'disk' AND team = 'ops'", 2),
        (
            "SELECT * FROM teams LEFT JOIN logs ON logs.host = teams.host AND logs.message TEXTSEARCH 'well'",
            2,
        ),
        (
            """SELECT * FROM teams t WHERE EXISTS
               (SELECT 1 FROM logs l WHERE l.host = t.host AND l.message TEXTSEARCH 'well')""",
            1,
        ),
        ("SELECT * FROM teams WHERE host IN (SELECT host FROM logs WHERE message TEXTSEARCH 'disk')", 1),
        ("SELECT (SELECT count(*) FROM logs WHERE message TEXTSEARCH 'disk') AS n FROM teams", 2),
        (
            """WITH hits AS (SELECT * FROM logs WHERE message TEXTSEARCH 'disk')
               SELECT * FROM hits UNION ALL SELECT * FROM hits""",
            4,
        ),
        ("SELECT host, count(*) FROM logs WHERE * TEXTSEARCH 'error' GROUP BY host", 1),
        ("SELECT * FROM (SELECT id AS n, message AS m FROM logs) WHERE m TEXTSEARCH 'disk'", 2),
    ],
)
def test_searches_reach_the_table_from_joins_and_subqueries(spark, query, count):
    assert spark.sql(query).count() == count


def test_a_view_of_a_search_can_be_queried(spark):
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW disks AS SELECT id, host FROM logs WHERE message TEXTSEARCH 'disk'"
    )
    assert spark.sql("SELECT * FROM disks WHERE host = 'host-0'").count() == 2


def test_an_accepted_search_leaves_no_filter_in_the_plan(spark, views):
    by_tasks = spark.read.option("spark.indextables.read.answerOnDriver.maxRows", 0)
    by_tasks.format("indextables").load(views).createOrReplaceTempView("logs")
    plan = (
        spark.sql("SELECT id FROM logs WHERE message TEXTSEARCH 'disk' AND id > 1")
        ._jdf.queryExecution()
        .toString()
    )
    physical = plan[plan.index("== Physical Plan ==") :]
    assert "Filter (" not in physical
    assert "message TEXTSEARCH 'disk'" in physical


@pytest.mark.parametrize(
    ("operator", "function"),
    [
        ("a.`b c`.d TEXTSEARCH 'x'", "indextables.textsearch(a.`b c`.d, 'x')"),
        (
            "a FIELDMATCH 'x' AND b INDEXQUERY \"y\"",
            "indextables.fieldmatch(a, 'x') AND indextables.indexquery(b, \"y\")",
        ),
        ("a NOT TEXTSEARCH 'x' OR b", "(NOT indextables.textsearch(a, 'x')) OR b"),
        ("* TEXTSEARCH 'x'", "indextables.textsearch(_indexall, 'x')"),
        ("(* TEXTSEARCH 'x')", "(indextables.textsearch(_indexall, 'x'))"),
        ("NOT t.* TEXTSEARCH 'x'", "NOT indextables.textsearch(t._indexall, 'x')"),
        ("textsearch TEXTSEARCH 'x'", "indextables.textsearch(textsearch, 'x')"),
    ],
)
def test_an_operator_is_its_function(spark, operator, function):
    parser = spark._jsparkSession.sessionState().sqlParser()
    assert parser.parseExpression(operator).toString() == parser.parseExpression(function).toString()


@pytest.mark.parametrize(
    "expression",
    [
        "a * textsearch('x')",
        "a * textsearch",
        "'a TEXTSEARCH ''b'''",
        "textsearch(a, 'b')",
        "`a TEXTSEARCH 'b'`",
        "textsearch + 1",
        "a AS textsearch",
    ],
)
def test_what_is_no_operator_is_left_alone(spark, expression):
    parser = spark._jsparkSession.sessionState().sqlParser()
    assert "indextables" not in parser.parseExpression(expression).toString()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT message TEXTSEARCH 'disk' FROM logs",
        "SELECT * FROM (SELECT * FROM logs LIMIT 3) WHERE message TEXTSEARCH 'disk'",
        "SELECT * FROM logs WHERE message TEXTSEARCH 'disk' OR length(message) > 3",
        "SELECT * FROM logs WHERE CASE WHEN message TEXTSEARCH 'disk' THEN true ELSE id = 1 END",
        "SELECT count(*) FILTER (WHERE message TEXTSEARCH 'disk') FROM logs",
        "SELECT * FROM logs ORDER BY message TEXTSEARCH 'disk'",
        "SELECT * FROM teams WHERE team TEXTSEARCH 'ops'",
        "SELECT * FROM VALUES ('a'), ('b') AS t(v) WHERE v TEXTSEARCH 'a'",
        "SELECT * FROM logs WHERE * TEXTSEARCH 'disk' OR length(message) > 3",
    ],
)
def test_a_search_that_cannot_be_pushed_is_an_error_not_an_answer(spark, query):
    with pytest.raises(AnalysisException) as caught:
        spark.sql(query).collect()
    assert "could not be handed to the index: a search must stand in the WHERE" in str(caught.value) or (
        "_indexall" in str(caught.value) and "TEXTSEARCH of" not in str(caught.value)
    ), caught.value


def test_the_error_names_the_column_that_was_not_pushed(spark):
    with pytest.raises(AnalysisException, match=r"^TEXTSEARCH of logs\.message could not be handed"):
        spark.sql("SELECT message TEXTSEARCH 'disk' FROM logs").collect()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("host TEXTSEARCH 'x'", "column 'host'"),
        ("id TEXTSEARCH 'x'", "column 'id'"),
        ("message TEXTSEARCH '(disk'", r"column 'message'.*position"),
        ("nowhere TEXTSEARCH 'x'", "`nowhere` cannot be resolved"),
        ("indextables.textsearch(message)", "textsearch takes a column and a query string"),
        ("indextables.textsearch(message, 1)", "textsearch takes a column and a query string"),
    ],
)
def test_a_search_that_the_table_cannot_answer_is_a_planning_error(spark, where, message):
    with pytest.raises(AnalysisException, match=f"(?s){message}"):
        spark.sql(f"SELECT * FROM logs WHERE {where}").explain()


def test_the_column_of_all_columns_has_no_value(spark):
    with pytest.raises(AnalysisException, match=r"_indexall.* has no value of its own"):
        spark.sql("SELECT * FROM logs WHERE _indexall = 'x'").collect()


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT * FROM logs WHERE message TEXTSEARCH 'x' AND AND id = 1", "line 1, pos 56"),
        ("SELECT *\nFROM logs\nWHERE message TEXTSEARCH 'x' ANDD id = 1", "line 3, pos 29"),
        ("SELECT * FROM logs WHERE message TEXTSEARCH", "line 1, pos 33"),
        ("SELECT * FROM logs WHERE message TEXTSEARCH concat('a')", "line 1, pos 33"),
        ("SELECT * FROM logs WHERE * TEXTSEARCH 'x' AND message TEXTSEARCH 'y' GROUP id", "line 1, pos 75"),
    ],
)
def test_a_syntax_error_is_placed_in_the_text_the_user_wrote(spark, query, place):
    with pytest.raises(ParseException) as caught:
        spark.sql(query)
    assert place in str(caught.value)
    assert query.splitlines()[-1] in str(caught.value), "the message quotes the query as it was written"
    assert "indextables.textsearch" not in str(caught.value)
