"""UPDATE, MERGE INTO and DELETE with any condition: the table has the rows that a plain model has."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException

import indextables as it

SCHEMA = "id LONG, day STRING, message STRING"
QUIET = {"spark.indextables.mergeOnWrite.enabled": "false"}


def write(path: str, rows: int = 20, *, partition_by: list[str] | None = None) -> str:
    """Write a table of two files; return its name in SQL."""
    for start in (0, rows // 2):
        numbers = range(start, start + rows // 2)
        data = pa.table(
            {
                "id": pa.array(numbers, pa.int64()),
                "message": [None if n % 5 == 1 else f"disk {n} {'full' if n % 2 else 'ok'}" for n in numbers],
                "host": [f"h{n % 2}" for n in numbers],
                "tags": [["a", str(n)] if n % 3 else None for n in numbers],
            }
        )
        it.write(path, data, text=["message"], partition_by=partition_by, settings=QUIET)
    return f"indextables.`{path}`"


def messages(spark, table: str) -> dict[int, str | None]:
    rows = spark.table(table).select("id", "message").collect()
    found = {row["id"]: row["message"] for row in rows}
    assert len(found) == len(rows), "a row is there twice"
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {table} SET message = merging(message) WHERE id IN (3, 13, 17)",
        (
            "MERGE INTO {table} t USING (SELECT explode(array(3, 13, 17)) AS id) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET message = merging(message)"
        ),
        "DELETE FROM {table} WHERE id IN (3, 13, 17) AND merging(message) = 'merged'",
    ],
    ids=["UPDATE", "MERGE INTO", "DELETE FROM"],
)
def test_a_statement_changes_the_rows_that_it_has_found_after_a_merge(spark, tmp_path: Path, statement: str):
    path = str(tmp_path / "t")
    table = write(path)
    it.open(path).delete("id = 2 OR id = 11")

    def merging(message: str | None) -> str:
        """Run in the middle of the statement, after it has planned the scan of the table."""
        it.open(path).merge_splits()
        return "merged"

    spark.udf.register("merging", merging, "string")
    spark.sql(statement.format(table=table))
    operations = [version["operation"] for version in it.open(path).history().to_pylist()[:2]]
    assert operations == [statement.split(maxsplit=1)[0], "MERGE SPLITS"]
    left = messages(spark, table)
    changed = {} if statement.startswith("DELETE") else dict.fromkeys((3, 13, 17), "merged")
    assert {n: left[n] for n in (3, 13, 17) if n in left} == changed
    assert sorted(left) == [n for n in range(20) if n not in (2, 11) and (changed or n not in (3, 13, 17))]


@pytest.mark.parametrize("partition_by", [None, ["host"]])
def test_an_update_changes_the_rows_that_match(spark, tmp_path: Path, way, partition_by: list[str] | None):
    path = str(tmp_path / "t")
    table = write(path, partition_by=partition_by)
    for key, value in way.items():
        spark.conf.set(key, value)
    before = messages(spark, table)
    spark.sql(f"UPDATE {table} SET message = concat('new ', id) WHERE id % 3 = 0 AND length(host) = 2")
    expected = {n: f"new {n}" if n % 3 == 0 else text for n, text in before.items()}
    assert messages(spark, table) == expected
    spark.sql(f"UPDATE {table} SET message = 'found', host = 'h9' WHERE message TEXTSEARCH 'full'")
    full = {n for n, text in expected.items() if text is not None and "full" in text}
    assert full
    expected |= dict.fromkeys(full, "found")
    assert messages(spark, table) == expected
    current = it.open(path)
    assert current.count("found") == len(full) == current.count(where="host = 'h9'")
    history = current.history().to_pylist()
    assert [each["operation"] for each in history[:2]] == ["UPDATE", "UPDATE"]
    assert current.version == 3
    tags = {row["id"]: row["tags"] for row in spark.table(table).collect()}
    assert tags == {n: ["a", str(n)] if n % 3 else None for n in range(20)}
    for key in way:
        spark.conf.unset(key)


def test_an_update_of_all_rows_and_of_none(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    table = write(path)
    spark.sql(f"UPDATE {table} SET message = 'same'")
    assert set(messages(spark, table).values()) == {"same"}
    assert len(messages(spark, table)) == 20
    version = it.open(path).version
    spark.sql(f"UPDATE {table} SET message = 'other' WHERE id > 1000")
    assert it.open(path).version == version


def test_a_delete_takes_conditions_that_python_cannot_decide(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    table = write(path)
    spark.sql(f"DELETE FROM {table} WHERE id % 7 = 0 AND length(host) = 2")
    left = [n for n in range(20) if n % 7]
    assert sorted(messages(spark, table)) == left
    spark.range(5, 9).createOrReplaceTempView("wanted")
    spark.sql(f"DELETE FROM {table} WHERE id IN (SELECT id FROM wanted)")
    left = [n for n in left if n not in range(5, 9)]
    assert sorted(messages(spark, table)) == left
    spark.sql(
        f"DELETE FROM {table} t WHERE message TEXTSEARCH 'ok' AND EXISTS (SELECT * FROM wanted WHERE t.id > 9)"
    )
    left = [n for n in left if n <= 9 or n % 2 or n % 5 == 1]
    assert sorted(messages(spark, table)) == left
    spark.sql(f"DELETE FROM {table} WHERE length(host) = 2")
    assert messages(spark, table) == {}
    assert it.open(path).files().num_rows == 0


@pytest.mark.parametrize("named", [False, True])
def test_a_merge_updates_deletes_and_inserts(spark, tmp_path: Path, *, named: bool):
    path = str(tmp_path / "t")
    table = write(path, partition_by=["host"])
    if named:
        spark.sql(f"CREATE TABLE merged_into USING indextables LOCATION '{path}'")
        table = "merged_into"
    try:
        source = spark.range(15, 25).selectExpr("id", "concat('merged ', id) AS message")
        source.createOrReplaceTempView("source")
        expected = messages(spark, table)
        spark.sql(
            f"""MERGE INTO {table} t USING source s ON t.id = s.id
            WHEN MATCHED AND s.id % 2 = 0 THEN DELETE
            WHEN MATCHED THEN UPDATE SET message = s.message
            WHEN NOT MATCHED THEN INSERT (id, message, host, tags) VALUES (s.id, s.message, 'h7', array('x'))
            WHEN NOT MATCHED BY SOURCE AND t.id < 3 THEN DELETE
            WHEN NOT MATCHED BY SOURCE AND t.id < 6 THEN UPDATE SET host = 'h5'"""
        )
        for n in range(25):
            if n < 3 or (15 <= n < 20 and n % 2 == 0):
                del expected[n]
            elif n >= 15:
                expected[n] = f"merged {n}"
        assert messages(spark, table) == expected
        counts = {row["host"]: row["count"] for row in spark.table(table).groupBy("host").count().collect()}
        assert (counts["h5"], counts["h7"]) == (3, 5)
        assert it.open(path).count("merged") == 8
        assert it.open(path).version == 2
    finally:
        if named:
            spark.sql("DROP TABLE merged_into")


def test_a_search_stands_in_the_condition_of_a_merge(spark, tmp_path: Path):
    table = write(str(tmp_path / "t"))
    spark.range(0, 30).createOrReplaceTempView("numbers")
    expected = messages(spark, table)
    spark.sql(
        f"""MERGE INTO {table} t USING numbers s ON t.id = s.id AND t.message TEXTSEARCH 'full'
        WHEN MATCHED THEN UPDATE SET message = 'found'"""
    )
    assert messages(spark, table) == {
        n: "found" if text is not None and "full" in text else text for n, text in expected.items()
    }


def test_a_row_that_matches_two_rows_of_the_source_is_an_error(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    table = write(path)
    spark.sql("SELECT 3L AS id UNION ALL SELECT 3L").createOrReplaceTempView("twice")
    with pytest.raises(PySparkException, match="MERGE_CARDINALITY_VIOLATION"):
        spark.sql(
            f"MERGE INTO {table} t USING twice s ON t.id = s.id WHEN MATCHED THEN UPDATE SET message = 'x'"
        )
    assert it.open(path).version == 1
    spark.sql(f"MERGE INTO {table} t USING twice s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert 3 not in messages(spark, table)
    assert it.open(path).count() == 19


def test_explain_changes_nothing(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    table = write(path)
    plan = spark.sql(f"EXPLAIN UPDATE {table} SET message = 'x' WHERE length(message) > 1").collect()[0][0]
    assert "WriteDelta" in plan
    assert it.open(path).version == 1


def test_statements_that_cannot_run_say_why(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    table = write(path)
    with pytest.raises(AnalysisException, match="TEXTSEARCH"):
        spark.sql(f"UPDATE {table} SET message = 'x' WHERE message TEXTSEARCH 'full' OR length(host) = 9")
    with pytest.raises(AnalysisException, match="position"):
        spark.sql(f"UPDATE {table} SET message = 'x' WHERE message TEXTSEARCH 'full AND ('")
    with pytest.raises(AnalysisException, match="missing"):
        spark.sql(f"UPDATE {table} SET missing = 'x'")
    with pytest.raises(it.SchemaError, match="'__row_number' has a name that is reserved"):
        it.write(str(tmp_path / "odd"), pa.table({"__row_number": [1], "n": [1]}))
    assert it.open(path).version == 1


def test_a_statement_that_fails_in_a_task_changes_nothing(spark, tmp_path: Path):
    path = str(tmp_path / "t")
    table = write(path)
    with pytest.raises(PySparkException, match="the last row"):
        spark.sql(
            f"UPDATE {table} SET message = CASE WHEN id = 19 THEN raise_error('the last row') ELSE 'new' END"
        )
    assert it.open(path).version == 1
    assert "new" not in messages(spark, table).values()


class Model:
    """A table that random statements change, and the rows that it must have."""

    DAYS = ("mon", "tue", "wed")

    def __init__(self, spark, path: str, seed: int) -> None:
        self.spark, self.path, self.rng = spark, path, random.Random(seed)
        self.table = f"indextables.`{path}`"
        self.next_id = 0
        self.rows = self.new(8)
        parts = ["day"] if self.rng.random() < 0.7 else None
        it.write(path, self.arrow(self.rows), text=["message"], partition_by=parts, settings=QUIET)
        self.is_partitioned = parts is not None
        self.name = f"random_statements_{seed}"
        spark.sql(f"CREATE TABLE {self.name} USING indextables LOCATION '{path}'")

    def drop_name(self) -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS {self.name}")

    def run(self, steps: int) -> None:
        statements = (
            self.update,
            self.delete,
            self.merge_into,
            self.replace_where,
            self.replace_where_in_rows,
            self.overwrite_partitions,
            self.insert,
            self.optimize,
        )
        for _ in range(steps):
            statement = self.rng.choice(statements)
            statement()
            found = self.spark.table(self.table).select("id", "day", "message").collect()
            assert sorted(map(tuple, found)) == sorted((n, *row) for n, row in self.rows.items()), statement
            full = sum("full" in message.split() for _, message in self.rows.values())
            search = f"SELECT count(*) FROM {self.table} WHERE message TEXTSEARCH 'full'"
            assert self.spark.sql(search).first()[0] == full, statement

    def update(self) -> None:
        where, ids = self.condition()
        self.spark.sql(f"UPDATE {self.table} SET message = concat('new ', id), day = 'tue' WHERE {where}")
        self.rows |= {n: ("tue", f"new {n}") for n in ids}

    def delete(self) -> None:
        where, ids = self.condition()
        self.spark.sql(f"DELETE FROM {self.table} WHERE {where}")
        self.rows = {n: row for n, row in self.rows.items() if n not in ids}

    def merge_into(self) -> None:
        changed = self.rng.sample(sorted(self.rows), min(4, len(self.rows)))
        gone, new = set(changed[:1]), self.new(2)
        source = [(n, "wed", f"full {n}") for n in changed] + [(n, *row) for n, row in new.items()]
        self.spark.createDataFrame(source, SCHEMA).createOrReplaceTempView("merge_source")
        self.spark.sql(
            f"MERGE INTO {self.table} t USING merge_source s ON t.id = s.id "
            f"WHEN MATCHED AND s.id IN ({', '.join(map(str, {-1, *gone}))}) THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        self.rows |= {n: ("wed", f"full {n}") for n in changed} | new
        self.rows = {n: row for n, row in self.rows.items() if n not in gone}

    def replace_where(self) -> None:
        day = self.rng.choice(self.DAYS)
        new = {n: (day, message) for n, (_, message) in self.new(2).items()}
        self.write(self.frame(new).mode("overwrite").option("replaceWhere", f"day = '{day}'"))
        self.rows = {n: row for n, row in self.rows.items() if row[0] != day} | new

    def replace_where_in_rows(self) -> None:
        """The condition is on columns that are no partitions: rows of files go."""
        bound = self.rng.randrange(self.next_id)
        new = self.new(2)
        where, matches = self.rng.choice(
            (
                (f"id >= {bound}", lambda n, _: n >= bound),
                (f"id >= {bound} AND message LIKE '%l%'", lambda n, message: n >= bound and "l" in message),
                ("message = 'login'", lambda _, message: message == "login"),
            )
        )
        new = {n: row for n, row in new.items() if matches(n, row[1])}
        self.write(self.frame(new).mode("overwrite").option("replaceWhere", where))
        self.rows = {n: row for n, row in self.rows.items() if not matches(n, row[1])} | new

    def overwrite_partitions(self) -> None:
        new = self.new(1)
        self.write(self.frame(new).mode("overwrite").option("partitionOverwriteMode", "dynamic"))
        days = {day for day, _ in new.values()} if self.is_partitioned else set(self.DAYS)
        self.rows = {n: row for n, row in self.rows.items() if row[0] not in days} | new

    def insert(self) -> None:
        new = self.new(2)
        self.write(self.frame(new).mode("append"))
        self.rows |= new

    def optimize(self) -> None:
        self.spark.sql(f"OPTIMIZE {self.table}").collect()

    def write(self, writer) -> None:
        """Write by the path of the table, or by its name in one of the ways that keep its columns."""
        way = self.rng.choice(("save", "saveAsTable", "insertInto"))
        if way == "save":
            writer.save(self.path)
        else:
            getattr(writer, way)(self.name)

    def frame(self, rows: dict[int, tuple[str, str]]):
        values = [(n, *row) for n, row in rows.items()]
        return self.spark.createDataFrame(values, SCHEMA).coalesce(1).write.format("indextables")

    def condition(self) -> tuple[str, set[int]]:
        day, bound = self.rng.choice(self.DAYS), self.rng.randrange(self.next_id)
        conditions = [
            (f"day = '{day}' AND length(message) > 0", lambda n: self.rows[n][0] == day),
            (f"id % 3 = {bound % 3}", lambda n: n % 3 == bound % 3),
            ("message TEXTSEARCH 'full'", lambda n: "full" in self.rows[n][1].split()),
            (f"id = {bound}", lambda n: n == bound),
        ]
        where, matches = self.rng.choice(conditions)
        return where, set(filter(matches, self.rows))

    def new(self, count: int) -> dict[int, tuple[str, str]]:
        start, self.next_id = self.next_id, self.next_id + count
        numbers = range(start, self.next_id)
        return {n: (self.rng.choice(self.DAYS), self.rng.choice(("disk full", "login"))) for n in numbers}

    def arrow(self, rows: dict[int, tuple[str, str]]) -> pa.Table:
        days, texts = zip(*rows.values(), strict=True)
        return pa.table({"id": pa.array(rows, pa.int64()), "day": days, "message": texts})


@pytest.mark.parametrize("seed", range(2))
def test_random_statements_leave_the_rows_of_the_model(spark, tmp_path: Path, seed: int):
    model = Model(spark, str(tmp_path / "t"), seed)
    try:
        model.run(9)
    finally:
        model.drop_name()


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_random_statements_leave_the_rows_of_the_model(spark, tmp_path: Path):
    for seed in range(100, 200):
        model = Model(spark, str(tmp_path / str(seed)), seed)
        try:
            model.run(10)
        except BaseException as failure:
            failure.add_note(f"seed {seed}")
            raise
        finally:
            model.drop_name()
