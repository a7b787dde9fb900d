"""ALTER TABLE through Spark, on classic and on Connect: what it changes, what old rows read, what it refuses."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it

TYPES = {"string": "STRING", "int": "INT", "bigint": "BIGINT"}


def prepare(spark, directory: Path) -> Path:
    return directory


def new_table(directory: Path) -> str:
    path = str(directory / uuid.uuid4().hex)
    rows = {"id": pa.array([1, 2], pa.int32()), "day": ["mon", "tue"], "a": ["disk full", None]}
    it.write(path, pa.table(rows), text=["a"], partition_by=["day"])
    return f"indextables.`{path}`"


def path_of(table: str) -> str:
    return table.removeprefix("indextables.`").removesuffix("`")


def rows(spark, sql: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(sql).collect()), key=str)


def columns_are_added_renamed_dropped_and_widened(spark, directory: Path) -> None:
    table = new_table(directory)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO b")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (a STRING COMMENT 'new', n INT)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT")
    assert rows(spark, f"SELECT id, day, b, a, n FROM {table}") == [
        (1, "mon", "disk full", None, None),
        (2, "tue", None, None, None),
    ]
    assert rows(spark, f"SELECT id FROM {table} WHERE b TEXTSEARCH 'disk'") == [(1,)]
    spark.sql(f"INSERT INTO {table} (id, day, b, a, n) VALUES (5000000000, 'mon', 'x', 'disk', 3)")
    assert rows(spark, f"SELECT id FROM {table} WHERE a = 'disk' OR id > 4000000000") == [(5000000000,)]
    spark.sql(f"ALTER TABLE {table} DROP COLUMN b")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN IF EXISTS b")
    assert spark.table(table).columns == ["id", "day", "a", "n"]
    assert rows(spark, f"SELECT count(*), count(n), max(id) FROM {table}") == [(3, 1, 5000000000)]
    assert rows(spark, f"SELECT a FROM {table} VERSION AS OF 0") == [("disk full",), (None,)]


def a_table_is_altered_by_its_name(spark, directory: Path) -> None:
    path, name = path_of(new_table(directory)), f"altered_{uuid.uuid4().hex}"
    spark.sql(f"CREATE TABLE {name} USING indextables LOCATION '{path}'")
    for table in (name, f"spark_catalog.default.{name}", f"indextables.default.{name}"):
        version = it.open(path).version
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS (n INT, m STRING)")
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")
        spark.sql(f"ALTER TABLE {table} RENAME COLUMN m TO k")
        spark.sql(f"INSERT INTO {table} (id, day, n) VALUES ({version + 3}, 'mon', 5000000000)")
        assert rows(spark, f"SELECT n, k FROM {table} WHERE n IS NOT NULL") == [(5000000000, None)]
        spark.sql(f"ALTER TABLE {table} DROP COLUMNS (n, k)")
        assert spark.table(table).columns == ["id", "day", "a"] == it.open(path).schema.names
        key = "spark.indextables.stats.bloom.columns"
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{key}' = 'id')")
        assert dict(rows(spark, f"SHOW TBLPROPERTIES {table}"))[key] == "id"
        spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('{key}')")
        assert key not in dict(rows(spark, f"SHOW TBLPROPERTIES {table}"))
        with pytest.raises(Exception, match="partition column"):
            spark.sql(f"ALTER TABLE {table} DROP COLUMN day")
        assert it.open(path).version == version + 7
    spark.sql(f"DROP TABLE {name}")


def how_a_new_column_is_indexed_can_be_chosen(spark, directory: Path) -> None:
    table = new_table(directory)
    key = "spark.indextables.indexing.typemap.note"
    spark.conf.set(key, "text")
    try:
        spark.sql(f"ALTER TABLE {table} ADD COLUMN note STRING")
    finally:
        spark.conf.unset(key)
    spark.sql(f"INSERT INTO {table} VALUES (3, 'mon', 'x', 'cache miss')")
    assert rows(spark, f"SELECT id FROM {table} WHERE note TEXTSEARCH 'miss'") == [(3,)]
    assert rows(spark, f"SELECT id FROM {table} WHERE NOT (note TEXTSEARCH 'none')") == [(3,)]


def properties_are_set_shown_and_unset(spark, directory: Path) -> None:
    table = new_table(directory)
    key = "spark.indextables.stats.bloom.columns"
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{key}' = 'id')")
    assert dict(rows(spark, f"SHOW TBLPROPERTIES {table}"))[key] == "id"
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('{key}')")
    assert key not in dict(rows(spark, f"SHOW TBLPROPERTIES {table}"))


REFUSED = {
    "DROP COLUMN day": "partition column",
    "RENAME COLUMN day TO d": "partition column",
    "ALTER COLUMN id TYPE DOUBLE": "integers can become wider",
    "ADD COLUMN x INT NOT NULL": "cannot be NOT NULL",
    "ADD COLUMN x INT FIRST": "leave FIRST or AFTER out",
    "ALTER COLUMN a COMMENT 'c'": "ALTER TABLE takes ADD COLUMN",
    "SET TBLPROPERTIES ('owner' = 'me')": "owner",
}


def what_cannot_be_changed_is_refused(spark, directory: Path) -> None:
    table = new_table(directory)
    for change, reason in REFUSED.items():
        with pytest.raises(Exception, match=reason):
            spark.sql(f"ALTER TABLE {table} {change}")
    assert it.open(path_of(table)).version == 0


def random_statements_agree_with_a_plain_model(spark, directory: Path) -> None:
    for seed in range(2):
        run_statements(spark, str(directory / f"random-{seed}"), seed, 8)


CASES = {
    case.__name__: case
    for case in (
        columns_are_added_renamed_dropped_and_widened,
        a_table_is_altered_by_its_name,
        how_a_new_column_is_indexed_can_be_chosen,
        properties_are_set_shown_and_unset,
        what_cannot_be_changed_is_refused,
        random_statements_agree_with_a_plain_model,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_on_classic(case, spark, tmp_path):
    CASES[case](spark, prepare(spark, tmp_path))


@pytest.mark.parametrize("case", CASES)
def test_on_connect(case, connect_report):
    assert connect_report[case] is None, connect_report[case]


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_random_statements_agree_with_a_plain_model(spark, tmp_path):
    for seed in range(100, 200):
        run_statements(spark, str(tmp_path / str(seed)), seed, 8)


def run_statements(spark, path: str, seed: int, steps: int) -> None:
    rng = random.Random(seed)
    name = f"indextables.`{path}`"
    spark.sql(f"CREATE TABLE {name} (id INT, a STRING)")
    columns, model, next_id = {"id": "int", "a": "string"}, [], 0
    for _ in range(steps):
        free = [c for c in "abcd" if c not in columns]
        changeable = [c for c in columns if c != "id"]
        step = rng.choice(["insert", "insert", "add", "rename", "drop", "widen"])
        if step == "insert":
            next_id += 1
            row = {
                c: next_id if c == "id" else rng.choice([7, 8]) if k != "string" else "w"
                for c, k in columns.items()
            }
            values = ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in row.values())
            spark.sql(f"INSERT INTO {name} VALUES ({values})")
            model.append(row)
        elif step == "add" and free:
            column, kind = rng.choice(free), rng.choice(list(TYPES))
            spark.sql(f"ALTER TABLE {name} ADD COLUMN {column} {TYPES[kind]}")
            columns[column] = kind
            model = [row | {column: None} for row in model]
        elif step == "rename" and free and changeable:
            old, new = rng.choice(changeable), rng.choice(free)
            spark.sql(f"ALTER TABLE {name} RENAME COLUMN {old} TO {new}")
            columns = {new if c == old else c: k for c, k in columns.items()}
            model = [{new if c == old else c: v for c, v in row.items()} for row in model]
        elif step == "drop" and len(changeable) > 1:
            column = rng.choice(changeable)
            spark.sql(f"ALTER TABLE {name} DROP COLUMN {column}")
            del columns[column]
            model = [{c: v for c, v in row.items() if c != column} for row in model]
        elif step == "widen" and (ints := [c for c, k in columns.items() if k == "int"]):
            column = rng.choice(ints)
            spark.sql(f"ALTER TABLE {name} ALTER COLUMN {column} TYPE BIGINT")
            columns[column] = "bigint"
        frame = spark.table(name)
        assert dict(frame.dtypes) == columns, (seed, step)
        assert sorted(map(repr, (row.asDict() for row in frame.collect()))) == sorted(map(repr, model)), (
            seed,
            step,
        )
        column = rng.choice(list(columns))
        value = "w" if columns[column] == "string" else 7
        expected = sum(row[column] == value for row in model)
        literal = f"'{value}'" if isinstance(value, str) else value
        assert frame.where(f"{column} = {literal}").count() == expected, (seed, step)
        assert frame.where(f"{column} IS NULL").count() == sum(r[column] is None for r in model), (seed, step)
        values = {c: [row[c] for row in model if row[c] is not None] for c in columns}
        bounds = [f(values[c]) if values[c] else None for c in columns for f in (min, max)]
        asked = ", ".join(f"min({c}), max({c})" for c in columns)
        assert spark.sql(f"SELECT {asked} FROM {name}").first()[:] == tuple(bounds), (seed, step)
        numbers = [c for c, kind in columns.items() if kind != "string"]
        figures = [len(values[c]) for c in columns]
        figures += [sum(values[c]) / len(values[c]) if values[c] else None for c in numbers]
        asked = ", ".join([f"count({c})" for c in columns] + [f"avg({c})" for c in numbers])
        assert spark.sql(f"SELECT {asked} FROM {name}").first()[:] == tuple(figures), (seed, step)
