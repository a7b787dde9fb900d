"""The grammar of the SQL commands, by itself: what is understood, and where what is not begins."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indextables as it
from indextables.errors import CommandError, IndexTablesError
from indextables.spark.sql import Job, finish_job, job_tasks, parse_command, run_command, run_job_task
from indextables.spark.sql.rows import rows_answer
from indextables.spark.sql.statements import (
    Age,
    Amount,
    Checkpoint,
    Condition,
    DescribeComponents,
    DescribeHistory,
    DescribeLog,
    DescribeSkipping,
    DescribeState,
    DropPartitions,
    EmptyTrash,
    Gather,
    InvalidateCache,
    MergeSplits,
    Named,
    Prewarm,
    Purge,
    RepairLog,
    Restore,
    TableName,
    TruncateTimeTravel,
)

COMMANDS = {
    "DESCRIBE INDEXTABLES TRANSACTION LOG '/t'": DescribeLog("/t"),
    "DESC TANTIVY4SPARK TRANSACTION LOG '/t' INCLUDE ALL": DescribeLog("/t", include_all=True),
    "DESCRIBE INDEXTABLES STATE '/t'": DescribeState("/t"),
    "TRUNCATE INDEXTABLES TIME TRAVEL '/t'": TruncateTimeTravel("/t"),
    "TRUNCATE INDEXTABLES TIME TRAVEL '/t' DRY RUN": TruncateTimeTravel("/t", dry_run=True),
    "DROP INDEXTABLES PARTITIONS FROM '/t' WHERE a = 1": DropPartitions("/t", Condition("a = 1", 44)),
    "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE": InvalidateCache(),
    "INVALIDATE TANTIVY4SPARK TRANSACTION LOG CACHE FOR '/t'": InvalidateCache("/t"),
    "CHECKPOINT INDEXTABLES '/t'": Checkpoint("/t"),
    "COMPACT INDEXTABLES '/t'": Checkpoint("/t"),
    "DESCRIBE HISTORY '/t'": DescribeHistory("/t"),
    "DESC HISTORY '/t' LIMIT 5": DescribeHistory("/t", Amount(5)),
    "RESTORE TABLE '/t' TO VERSION AS OF 3": Restore("/t", 3),
    "RESTORE '/t' VERSION AS OF 3": Restore("/t", 3),
    "RESTORE TABLE '/t' TO TIMESTAMP AS OF '2026-01-31'": Restore("/t", None, Named("2026-01-31")),
    "VACUUM '/t'": Purge("/t"),
    "VACUUM '/t' RETAIN 36 HOURS DRY RUN": Purge("/t", Age(36), dry_run=True),
    "EMPTY INDEXTABLES TRASH": EmptyTrash(),
    "EMPTY INDEXTABLES TRASH OLDER THAN 7 DAYS DRY RUN": EmptyTrash(Age(168), dry_run=True),
    "PURGE INDEXTABLE '/t'": Purge("/t"),
    "PURGE INDEXTABLES '/t' DRY RUN": Purge("/t", dry_run=True),
    "PURGE TANTIVY4SPARK '/t' OLDER THAN 7 DAYS": Purge("/t", Age(168)),
    "PURGE INDEXTABLE '/t' OLDER THAN 1 DAY TRANSACTION LOG RETENTION 36 HOURS DRY RUN": Purge(
        "/t", Age(24), Age(36), dry_run=True
    ),
    "PURGE INDEXTABLE '/t' TRANSACTION LOG RETENTION 1 HOUR": Purge("/t", None, Age(1)),
    "MERGE SPLITS '/t'": MergeSplits("/t"),
    "MERGE SPLITS '/t' TARGET SIZE 100M": MergeSplits("/t", target_size=Amount(100 << 20)),
    "MERGE SPLITS '/t' TARGET SIZE 4194304 MAX DEST SPLITS 3 MAX SOURCE SPLITS PER MERGE 50": MergeSplits(
        "/t", None, Amount(4 << 20), Amount(3), Amount(50)
    ),
    "MERGE SPLITS '/t' WHERE a = 1 TARGET SIZE 1G": MergeSplits(
        "/t", Condition("a = 1", 24), Amount(1 << 30)
    ),
    "MERGE SPLITS '/t' WHERE d = 1 MAX GROUPS 5 MAX SOURCE SPLITS PER MERGE '9'": MergeSplits(
        "/t", Condition("d = 1", 24), max_dest_splits=Amount(5), max_source_splits=Amount(9)
    ),
    "MERGE SPLITS '/t' WHERE target > 'MAX DEST' MAX SOURCE SPLITS PER MERGE 2": MergeSplits(
        "/t", Condition("target > 'MAX DEST'", 24), max_source_splits=Amount(2)
    ),
    "OPTIMIZE '/t'": MergeSplits("/t"),
    "OPTIMIZE '/t' WHERE a = 1": MergeSplits("/t", Condition("a = 1", 20)),
    "REORG TABLE '/t' APPLY (PURGE)": MergeSplits("/t", only_deleted=True),
    "REORG TABLE '/t' WHERE a = 1 APPLY (PURGE)": MergeSplits(
        "/t", Condition("a = 1", 23), only_deleted=True
    ),
    "DESCRIBE INDEXTABLES COMPONENT SIZES '/t'": DescribeComponents("/t"),
    "DESC TANTIVY4SPARK COMPONENT SIZES '/t' WHERE n > 1": DescribeComponents("/t", Condition("n > 1", 46)),
    "DESCRIBE INDEXTABLES DATA SKIPPING STATS": DescribeSkipping(),
    "DESCRIBE INDEXTABLES DATA SKIPPING STATS FOR '/t'": DescribeSkipping("/t"),
    "DESCRIBE INDEXTABLES STORAGE STATS": Gather("STORAGE STATS"),
    "DESC INDEXTABLES ENVIRONMENT": Gather("ENVIRONMENT"),
    "DESCRIBE INDEXTABLES DISK CACHE": Gather("DISK CACHE"),
    "FLUSH INDEXTABLES DISK CACHE": Gather("FLUSH DISK CACHE"),
    "FLUSH TANTIVY4SPARK SEARCHER CACHE": Gather("FLUSH SEARCHER CACHE"),
    "PREWARM INDEXTABLES CACHE '/t'": Prewarm("/t"),
    "PREWARM INDEXTABLES CACHE '/t' FOR SEGMENTS (TERM_DICT, 'POSTINGS') ON FIELDS (a, `b.c`, 'd') "
    "WITH PERWORKER PARALLELISM OF 8": Prewarm("/t", (Named("a"), Named("b.c"), Named("d")), Amount(8)),
    "PREWARM INDEXTABLES CACHE '/t' ON FIELDS (a) WHERE day = 'ASYNC MODE'": Prewarm(
        "/t", (Named("a"),), where=Condition("day = 'ASYNC MODE'", 51)
    ),
    "REPAIR INDEXFILES TRANSACTION LOG '/a/_transaction_log'": RepairLog("/a/_transaction_log"),
    "REPAIR INDEXFILES TRANSACTION LOG '/a/_transaction_log' AT LOCATION '/b/_transaction_log'": RepairLog(
        "/a/_transaction_log", "/b/_transaction_log"
    ),
}


@pytest.mark.spec("testCheckpointSqlParsing")
@pytest.mark.parametrize("sql", COMMANDS)
def test_every_command_is_understood(sql):
    assert parse_command(sql) == COMMANDS[sql]


@pytest.mark.parametrize("sql", COMMANDS)
def test_case_space_comments_and_a_semicolon_do_not_count(sql):
    if "WHERE" in sql:
        return  # its position moves
    words = sql.split(" ")
    loose = "\n\t/* one /* two */ */ ".join(word if word.startswith("'") else word.lower() for word in words)
    assert parse_command(f"-- first\n{loose} ; -- last") == COMMANDS[sql]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'/data/it''s'", "/data/it's"),
        (r"'/data/it\'s'", "/data/it's"),
        (r"'/\'''x'", "/''x"),
        ('"/data/a b"', "/data/a b"),
        ('"/a""b"', '/a"b'),
        ("'/a\"\"b'", '/a""b'),
        (r"r'C:\new'", r"C:\new"),
        (r"'\u0041\U0001F600\101\n\\'", "A\U0001f600A\n\\"),
        (r"'50\% a\_b'", r"50\% a\_b"),
        ("indextables.`/data/logs`", "/data/logs"),
        ("`indextables` . `/data/lo``gs`", "/data/lo`gs"),
        ("INDEXTABLES.`/data/logs`", "/data/logs"),
        ("`/data/logs`", "/data/logs"),
        ("`s3://bucket/logs`", "s3://bucket/logs"),
        ("logs", TableName(("logs",))),
        ("web.logs", TableName(("web", "logs"))),
        ("indextables.web.logs", TableName(("indextables", "web", "logs"))),
        ("spark_catalog.`we b`.logs", TableName(("spark_catalog", "we b", "logs"))),
        ("état", TableName(("état",))),
    ],
)
def test_a_table_is_a_path_or_a_name(written, meant):
    assert parse_command(f"CHECKPOINT INDEXTABLES {written}") == Checkpoint(meant)


def test_a_condition_goes_up_to_the_semicolon_at_the_end():
    sql = "DROP INDEXTABLES PARTITIONS FROM t WHERE d = ';' /* or */ OR d > 'x''y' -- all ;\n ; "
    found = parse_command(sql)
    assert isinstance(found, DropPartitions)
    assert found.where == Condition("d = ';' /* or */ OR d > 'x''y'", sql.index("d ="))


@pytest.mark.parametrize(
    ("sql", "message", "place"),
    [
        (
            "",
            "REORG, FLUSH, PREWARM, RESTORE, VACUUM or EMPTY, found the end",
            0,
        ),
        ("VACUUM INDEXTABLES '/t'", "named by its path", 7),
        ("VACUUM '/t' RETAIN 3 DAYS", "expected HOURS or HOUR, found 'DAYS'", 21),
        ("RESTORE '/t' TO 3", "expected VERSION or TIMESTAMP, found '3'", 16),
        ("RESTORE '/t' TO VERSION AS OF x", "expected the number of a version, found 'x'", 30),
        ("RESTORE '/t' TO TIMESTAMP AS OF 3", "expected a time in quotes, found '3'", 32),
        ("DESCRIBE HISTORY '/t' LIMIT all", "expected a whole number of versions, found 'all'", 28),
        ("EMPTY INDEXTABLES", "expected TRASH, found the end", 17),
        ("MERGE SPLITS", "expected a table: its path in quotes, or a name, found the end", 12),
        ("MERGE SPLITS '/t' TARGET SIZE x", "expected a size such as 4096, 64K, 100M or 2G, found 'x'", 30),
        ("MERGE SPLITS '/t' MAX SPLITS 3", "expected DEST or SOURCE, found 'SPLITS'", 22),
        ("MERGE SPLITS '/t' MAX DEST SPLITS 1 MAX DEST SPLITS 1", "expected SOURCE, found 'DEST'", 40),
        ("MERGE SPLITS '/t' MAX GROUPS 1 MAX DEST SPLITS 1", "expected SOURCE, found 'DEST'", 35),
        ("MERGE SPLITS '/t' MAX DEST SPLITS 1 MAX GROUPS 1", "expected SOURCE, found 'GROUPS'", 40),
        (
            "MERGE SPLITS '/t' MAX GROUPS 1 MAX SOURCE SPLITS PER MERGE 2 MAX GROUPS 3",
            "expected the end of the command, found 'MAX'",
            61,
        ),
        ("MERGE SPLITS '/t' MAX DEST SPLITS few", "expected a whole number of splits, found 'few'", 34),
        ("MERGE SPLITS '/t' PRECOMMIT", "PRECOMMIT is not supported", 18),
        ("MERGE SPLITS '/t' WHERE TARGET SIZE 1G", "expected a condition on partition columns", 24),
        ("OPTIMIZE '/t' ZORDER BY (a)", "expected the end of the command, found 'ZORDER'", 14),
        ("DESCRIBE TABLE t", "expected INDEXTABLES or TANTIVY4SPARK, found 'TABLE'", 9),
        ("DESCRIBE INDEXTABLES LOG '/t'", "DATA, STORAGE, DISK or ENVIRONMENT, found 'LOG'", 21),
        ("DESCRIBE INDEXTABLES COMPONENT '/t'", "expected SIZES, found", 31),
        ("DESCRIBE INDEXTABLES COMPONENT SIZES '/t' WHERE", "expected a condition, found the end", 47),
        ("DESCRIBE INDEXTABLES DATA STATS", "expected SKIPPING, found 'STATS'", 26),
        ("DESCRIBE INDEXTABLES DISK CACHE '/t'", "expected the end of the command", 32),
        ("FLUSH INDEXTABLES CACHE", "expected DISK or SEARCHER, found 'CACHE'", 18),
        ("PREWARM INDEXTABLES '/t'", "expected CACHE, found", 20),
        ("PREWARM INDEXTABLES CACHE '/t' ON FIELDS a", "expected (, found 'a'", 41),
        ("PREWARM INDEXTABLES CACHE '/t' ON FIELDS ()", "expected the name of a column, found ')'", 42),
        ("PREWARM INDEXTABLES CACHE '/t' ON FIELDS (a b)", "expected ), found 'b'", 44),
        ("PREWARM INDEXTABLES CACHE '/t' FOR SEGMENTS (ALL)", "DOC_STORE or STORE, found 'ALL'", 45),
        ("PREWARM INDEXTABLES CACHE '/t' WITH PERWORKER PARALLELISM OF 0", "is from 1 to 64", 61),
        ("PREWARM INDEXTABLES CACHE '/t' WITH PERWORKER PARALLELISM OF x", "a whole number of splits", 61),
        ("PREWARM INDEXTABLES CACHE '/t' WHERE a = 1 ASYNC MODE", "ASYNC MODE is not supported", 43),
        ("PREWARM INDEXTABLES CACHE '/t' ASYNC MODE", "ASYNC MODE is not supported", 31),
        ("DESCRIBE INDEXTABLES TRANSACTION '/t'", "expected LOG, found \"'/t'\"", 33),
        ("DESCRIBE INDEXTABLES STATE", "expected a table: its path in quotes, or a name, found the end", 26),
        (
            "DESCRIBE INDEXTABLES STATE /data/t",
            "expected a table: its path in quotes, or a name, found '/'",
            27,
        ),
        ("DESCRIBE INDEXTABLES STATE ''", "expected a table", 27),
        ("DESCRIBE INDEXTABLES STATE ``", "expected a table", 27),
        ("DESCRIBE INDEXTABLES STATE a.", "expected the next part of the name, found the end", 29),
        ("DESCRIBE INDEXTABLES STATE indextables", "named by its path, as in indextables.`/data/logs`", 27),
        ("DESCRIBE INDEXTABLES STATE indextables.a.b.c", "named by its path", 27),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG t INCLUDE", "expected ALL, found the end", 46),
        ("TRUNCATE INDEXTABLES TIME TRAVEL t DRY", "expected RUN, found the end", 38),
        ("TRUNCATE INDEXTABLES TIME TRAVEL t NOW", "expected the end of the command, found 'NOW'", 35),
        ("CHECKPOINT INDEXTABLES 'a' 'b'", "expected the end of the command", 27),
        ("CHECKPOINT INDEXTABLES 'a'; CHECKPOINT INDEXTABLES 'b'", "expected the end of the command", 28),
        ("CHECKPOINT INDEXTABLES :path", "expected a table: its path in quotes, or a name, found ':'", 23),
        ("DROP INDEXTABLES PARTITIONS FROM t", "expected WHERE, found the end", 34),
        ("DROP INDEXTABLES PARTITIONS FROM t WHERE ;", "expected a condition on partition columns", 41),
        (
            "DROP INDEXTABLES PARTITIONS FROM t WHERE a = 1; b",
            "expected the end of the command, found 'b'",
            48,
        ),
        ("PURGE TABLE t", "expected INDEXTABLE, INDEXTABLES or TANTIVY4SPARK, found 'TABLE'", 6),
        ("PURGE INDEXTABLE t OLDER 7 DAYS", "expected THAN, found '7'", 25),
        ("PURGE INDEXTABLE t OLDER THAN DAYS", "expected a whole number of days or hours, found 'DAYS'", 30),
        ("PURGE INDEXTABLE t OLDER THAN -1 DAYS", "expected a whole number of days or hours, found '-'", 30),
        ("PURGE INDEXTABLE t OLDER THAN 1.5 DAYS", "expected DAYS, HOURS, DAY or HOUR, found '.'", 31),
        ("PURGE INDEXTABLE t OLDER THAN 7 WEEKS", "expected DAYS, HOURS, DAY or HOUR, found 'WEEKS'", 32),
        ("PURGE INDEXTABLE t OLDER THAN 9999999999 DAYS", "expected a whole number of days or hours", 30),
        ("PURGE INDEXTABLE t TRANSACTION LOG 7 DAYS", "expected RETENTION, found '7'", 35),
        (
            "PURGE INDEXTABLE t DRY RUN OLDER THAN 7 DAYS",
            "expected the end of the command, found 'OLDER'",
            27,
        ),
        ("REPAIR INDEXFILES TRANSACTION LOG t AT LOCATION 'b'", "expected the path of a log in quotes", 34),
        ("REPAIR INDEXFILES TRANSACTION LOG 'a' LOCATION 'b'", "'LOCATION'", 38),
        ("CHECKPOINT INDEXTABLES '/t", "a string begins here and is not closed", 23),
        ("CHECKPOINT INDEXTABLES '/t\\'", "a string begins here and is not closed", 23),
        ("CHECKPOINT INDEXTABLES `/t", "a name begins here and is not closed", 23),
        ("CHECKPOINT /* a /* b */ INDEXTABLES t", "a comment begins here and is not closed", 11),
    ],
)
def test_an_error_says_what_was_expected_and_where(sql, message, place):
    with pytest.raises(CommandError) as caught:
        parse_command(sql)
    assert message in str(caught.value)
    assert caught.value.position == place


def test_the_place_is_shown_in_its_line():
    with pytest.raises(CommandError) as caught:
        parse_command("-- what is there\nDESCRIBE INDEXTABLES\n\tTRANSACTION LOGS '/t'")
    assert str(caught.value) == (
        "expected LOG, found 'LOGS' (line 3, column 14)\n TRANSACTION LOGS '/t'\n             ^"
    )


def test_a_long_line_is_cut_around_the_place():
    with pytest.raises(CommandError) as caught:
        parse_command(f"CHECKPOINT INDEXTABLES '{'x' * 500}' oops '{'y' * 500}'")
    _, shown, mark = str(caught.value).splitlines()
    assert len(shown) == 120
    assert shown[mark.index("^") :].startswith("oops")


@pytest.fixture
def table(tmp_path) -> str:
    path = str(tmp_path / "table")
    for day in ("mon", "tue"):
        it.write(path, pa.table({"day": [day], "n": [1]}), partition_by=["day"])
    return path


def test_a_condition_that_cannot_be_used_is_placed_in_the_command(table):
    sql = f"DROP INDEXTABLES PARTITIONS FROM '{table}' WHERE n = 1"
    with pytest.raises(
        CommandError, match=r"partition columns only, and this one has 'n'.* \(line 1, column"
    ):
        run_command(sql, {})
    with pytest.raises(CommandError, match="no column 'no'") as caught:
        run_command(sql.replace("n = 1", "no = 1"), {})
    assert caught.value.position == sql.index("n = 1")
    with pytest.raises(CommandError, match="cannot parse the condition"):
        run_command(sql.replace("n = 1", "day = = 1"), {})
    assert it.open(table).version == 1


def test_nothing_runs_before_a_name_is_located(table):
    sql = "DROP INDEXTABLES PARTITIONS FROM web.logs WHERE day = 'mon'"
    assert run_command(sql, {}) == TableName(("web", "logs"))
    assert run_command(sql, {}, located=table).column("splits_removed").to_pylist() == [1]


def test_settings_of_the_session_are_checked(table):
    with pytest.raises(IndexTablesError, match="unknown setting"):
        run_command(f"CHECKPOINT INDEXTABLES '{table}'", {"spark.indextables.nonsense": "1"})


def test_short_answers_travel_inline_and_long_ones_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    row = {"n": 1, "text": 'a "b"\n', "nothing": None}
    assert rows_answer(pa.Table.from_pylist([row]).cast(_texts()))["rows"] == '[1,"a \\"b\\"\\n",null]\n'
    many = pa.Table.from_pylist([{"n": n, "text": "x" * 100, "nothing": None} for n in range(20_000)])
    answer = rows_answer(many.cast(_texts()))
    assert "rows" not in answer
    lines = (tmp_path / answer["file"].rsplit("/", 1)[1]).read_text().splitlines()
    assert (len(lines), lines[-1]) == (20_000, f'[19999,"{"x" * 100}",null]')


def _texts() -> pa.Schema:
    return pa.schema({"n": pa.int64(), "text": pa.string(), "nothing": pa.string()})


@given(st.text(alphabet=st.sampled_from("DROP indextables'\"`\\/*-;.= \n\tx0🎈"), max_size=60))
def test_any_text_is_a_command_or_an_error_of_ours(text):
    for sql in (text, f"DROP INDEXTABLES PARTITIONS FROM {text}", f"CHECKPOINT INDEXTABLES {text}"):
        with contextlib.suppress(CommandError):
            parse_command(sql)  # any other error fails


def test_hostile_input_is_answered_quickly():
    for sql in ("CHECKPOINT INDEXTABLES '" + "\\" * 200_001, "/*" * 100_000, "`" * 100_001, "'" * 100_001):
        with pytest.raises(CommandError):
            parse_command(sql)


def test_a_retention_below_the_minimum_is_refused_at_its_place():
    it.write("memory://sql-purge", pa.table({"n": [1]}))
    with pytest.raises(CommandError, match="the minimum is 24 hours") as caught:
        run_command("PURGE INDEXTABLE 'memory://sql-purge' OLDER THAN 1 HOURS", {})
    assert caught.value.position == 49


def test_a_purge_that_deletes_much_leaves_it_to_those_who_can_run_jobs(tmp_path):
    """What the JVM does, step by step, here by one process."""
    uri = str(tmp_path / "table")
    it.write(uri, pa.table({"n": [1]}))
    (tmp_path / "table/splits").mkdir(exist_ok=True)
    for number in range(2100):
        (tmp_path / f"table/splits/orphan-{number}.split").write_bytes(b"x")
    options = {"spark.indextables.purge.retentionCheckEnabled": "false"}
    sql = f"PURGE INDEXTABLE '{uri}' OLDER THAN 0 HOURS"
    assert isinstance(run_command(f"{sql} DRY RUN", options, with_jobs=True), pa.Table)
    job = run_command(sql, options, with_jobs=True)
    assert isinstance(job, Job)
    results = [next(run_job_task(task)).column("result")[0].as_py() for task in job_tasks(job.file)]
    assert len(results) == 3
    metrics = finish_job(job.file, results).column("metrics")[0].as_py()
    assert (metrics["status"], metrics["orphaned_files_deleted"]) == ("SUCCESS", 2100)
    assert not Path(job.file).exists()
    assert len(list((tmp_path / "table/splits").iterdir())) == 1
    assert it.open(uri).count() == 1


@pytest.mark.parametrize("command", ["TRUNCATE INDEXTABLES TIME TRAVEL '{}'", "PURGE INDEXTABLE '{}'"])
def test_every_command_that_deletes_honours_the_setting_for_dry_runs(tmp_path, command):
    path = tmp_path / "table"
    for n in range(3):
        it.write(path, pa.table({"n": [n]}), mode="overwrite")
    it.open(path).checkpoint()
    for file in path.rglob("*"):  # after the checkpoint, which cleans up old versions itself
        os.utime(file, (0, 0))
    before = sorted(path.rglob("*"))
    options = {
        "spark.indextables.cleanup.dryRun": "true",
        "spark.indextables.purge.txLogRetentionHours": "0",
    }
    run_command(command.format(path), options)
    assert sorted(path.rglob("*")) == before
    run_command(command.format(path), options | {"spark.indextables.cleanup.dryRun": "false"})
    assert sorted(path.rglob("*")) != before
