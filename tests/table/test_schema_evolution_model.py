"""Random sequences of changes of columns and rows against a plain model: columns, and rows as dictionaries.

The model has no identities of columns, no splits and no statistics: a renamed column is a renamed key of every row.
"""

from __future__ import annotations

import contextlib
import copy
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.errors import SchemaError, VersionNotFoundError
from indextables.log import load_snapshot
from indextables.log.snapshots import cache
from indextables.maintenance import MergeOptions, plan_merge, run_merge_task
from indextables.maintenance.merge_commits import commit_merge
from indextables.runtime import now_ms
from indextables.schema import TableSchema
from indextables.storage import open_store
from indextables.table import (
    Aggregate,
    Measure,
    ScanRequest,
    answer_on_driver,
    commit_write,
    plan_scan,
    plan_write,
    run_write_task,
    sums_as_doubles,
)
from indextables.table.grouping import is_supported
from support.row_statements import RowStatement

NAMES = ("a", "b", "c", "d", "e")
WORDS = ("disk", "full", "login")
DAYS = ("mon", "tue")
KINDS = {
    "text": pa.string(),
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(9, 2),
    "wide decimal": pa.decimal128(25, 2),
    "struct": pa.struct({"word": pa.string(), "number": pa.int32()}),
}
WIDER = {"int": "long", "float": "double", "decimal": "wide decimal"}
SETTINGS = {
    "spark.indextables.checkpoint.interval": "3",
    "spark.indextables.indexWriter.heapSize": "15M",
    "spark.indextables.state.compaction.maxManifests": "3",
    "spark.indextables.stats.bloom.columns": "id",
}

Row = dict[str, Any]
Matches = Callable[[Row], bool | None]


@dataclass
class Model:
    """One version: the kind of each column in order, the value of new ones in rows without them, and the rows."""

    kinds: dict[str, str]
    defaults: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


class Machine:
    """`versions` is the model of every version."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.path = f"memory://{uuid.uuid4()}"
        self.next_id = 0
        first = Model({"id": "int", "day": "string", "a": "text", "b": self.rng.choice(list(KINDS))})
        first.rows = self.new_rows(first, 5)
        it.write(
            self.path,
            self.arrow(first, first.rows),
            text=[name for name, kind in first.kinds.items() if kind == "text"],
            settings=SETTINGS,
            partition_by=["day"] if self.rng.random() < 0.5 else None,
        )
        self.versions = [first]

    def run(self, steps: int) -> None:
        operations = (
            self.append,
            self.append,
            self.append_with_new_columns,
            self.add,
            self.add,
            self.rename,
            self.swap,
            self.drop,
            self.widen,
            self.drop_and_add_again,
            self.delete,
            self.upsert,
            self.update,
            self.merge_into,
            self.replace_where,
            self.merge,
            self.append_overtaken_by_a_change,
            self.merge_overtaken_by_a_change,
            self.checkpoint,
            self.restore,
        )
        for _ in range(steps):
            operation = self.rng.choice(operations)
            after = operation()
            if self.rng.random() < 0.3:
                cache.forget(self.path)
            self.check(operation.__name__, after)

    # What is compared after each step

    def check(self, operation: str, model: Model) -> None:
        table = self.open()
        self.note(model, table.version)
        self.compare(operation, table, model)
        version = self.rng.randrange(table.version + 1)
        try:
            older = it.open(self.path, version=version)
        except VersionNotFoundError:
            assert version < table.version
            return
        self.compare(f"version {version} after {operation}", older, self.versions[version])

    def compare(self, subject: str, table: it.Table, model: Model) -> None:
        expected = pa.schema([(name, KINDS[kind]) for name, kind in model.kinds.items()])
        assert table.schema.names == expected.names, subject
        assert [str(f.type) for f in table.schema] == [str(f.type) for f in expected], subject
        assert in_order(table.to_arrow().to_pylist()) == in_order(model.rows), subject
        assert table.count() == len(model.rows), subject
        for _ in range(4):
            where, matches = self.condition(model)
            found = [row for row in model.rows if matches(row) is True]
            rows = table.to_arrow(where=where).to_pylist()
            assert in_order(rows) == in_order(found), (subject, where)
            assert table.count(where=where) == len(found), (subject, where)
            excluded = [row for row in model.rows if matches(row) is False]
            assert table.count(where=f"NOT ({where})") == len(excluded), (subject, where)
        name, word = self.rng.choice([*model.kinds]), self.rng.choice(WORDS)
        texts = [name for name, kind in model.kinds.items() if kind == "text"]
        for text in texts:
            found = [row for row in model.rows if row[text] is not None and word in row[text].split()]
            hits = table.search(f"{text}:{word}", columns=["id"], limit=100)
            assert sorted(hits.column("id").to_pylist()) == sorted(r["id"] for r in found), (subject, text)
            assert hits.column("_score").to_pylist() == sorted(
                hits.column("_score").to_pylist(), reverse=True
            )
            present = [row for row in model.rows if row[text] is not None]
            assert table.count(f"{text}:*") == len(present), (subject, text)
        if texts:
            found = [row for row in model.rows if any(word in (row[text] or "").split() for text in texts)]
            assert table.count(f"{word}") >= len(found), (subject, word)
        if model.kinds[name] != "struct":
            counts: dict[Any, int] = {}
            for row in model.rows:
                counts[row[name]] = counts.get(row[name], 0) + 1
            top = {row["value"]: row["count"] for row in table.top_values(name, n=1000).to_pylist()}
            assert top == counts, (subject, name)
            assert table.stats(name).nulls == counts.get(None, 0), (subject, name)
        for name in model.kinds:
            self.compare_totals(subject, table, model, name)

    def compare_totals(self, subject: str, table: it.Table, model: Model, name: str) -> None:
        """Least, greatest and number of values, by the log where it has them, as Spark asks for them."""
        values = [row[name] for row in model.rows if row[name] is not None]
        expected = {"min": min, "max": max, "count": len}
        for asked in (("min", "max"), ("count",)):
            aggregate = Aggregate((), tuple(Measure(function, name) for function in asked))
            if not is_supported(table.snapshot.schema, aggregate):
                continue
            request = ScanRequest((name,), aggregate=aggregate)
            plan = plan_scan(table.uri, table.snapshot, request, table.settings)
            answer = answer_on_driver(plan)
            assert answer is not None, (subject, name)
            figures = [expected[f](values) if values or f == "count" else None for f in asked]
            assert answer.to_pylist() == [
                {f"measure_{number}": figure for number, figure in enumerate(figures)}
            ], (subject, name, asked)
            if model.kinds[name] in ("int", "long") and sums_as_doubles(plan, name):
                assert sum(map(abs, values)) <= 1 << 53, (subject, name)

    # What changes the table: each returns the model of the table then

    def append(self) -> Model:
        model = self.newest()
        new = self.new_rows(model, self.rng.randint(1, 3))
        missing = [name for name in model.kinds if name not in ("id", "day") and self.rng.random() < 0.3]
        for row in new:
            row.update({name: model.defaults.get(name) for name in missing})
        it.write(self.path, self.arrow(model, new, without=missing, narrow=True), settings=SETTINGS)
        model.rows += new
        return model

    def append_with_new_columns(self) -> Model:
        model = self.newest()
        free = [name for name in NAMES if name not in model.kinds]
        if not free:
            return model
        kinds = {name: self.rng.choice(list(KINDS)) for name in free[:1]}
        for name, kind in kinds.items():
            model.kinds[name] = kind
            for row in model.rows:
                row[name] = None
        new = self.new_rows(model, 2)
        settings = SETTINGS | {"spark.indextables.write.mergeSchema": "true"}
        texts = [name for name, kind in kinds.items() if kind == "text"]
        it.write(self.path, self.arrow(model, new), settings=settings, text=texts)
        model.rows += new
        return model

    def add(self) -> Model:
        model = self.newest()
        free = [name for name in NAMES if name not in model.kinds]
        if not free:
            return model
        name, kind = self.rng.choice(free), self.rng.choice(list(KINDS))
        default = None
        if kind not in ("text", "struct") and self.rng.random() < 0.5:
            default = self.value(kind)
        defaults = {} if default is None else {name: default}
        self.open().alter(add={name: KINDS[kind]}, default=defaults, text=[name] if kind == "text" else [])
        model.kinds[name] = kind
        model.defaults |= defaults
        for row in model.rows:
            row[name] = default
        return model

    def rename(self) -> Model:
        model = self.newest()
        free = [name for name in NAMES if name not in model.kinds]
        old = self.changeable(model)
        if not free or old is None:
            return model
        new = self.rng.choice(free)
        self.open().alter(rename={old: new})
        return renamed(model, {old: new})

    def swap(self) -> Model:
        model = self.newest()
        names = [name for name in model.kinds if name in NAMES]
        if len(names) < 2:
            return model
        one, other = self.rng.sample(names, 2)
        self.open().alter(rename={one: other, other: one})
        return renamed(model, {one: other, other: one})

    def drop(self) -> Model:
        model, name = self.newest(), None
        name = self.changeable(model)
        if name is None:
            return model
        self.open().alter(drop=[name])
        return dropped(model, name)

    def drop_and_add_again(self) -> Model:
        model = self.newest()
        name = self.changeable(model)
        if name is None:
            return model
        kind = model.kinds[name]
        self.open().alter(drop=[name], add={name: KINDS[kind]}, text=[name] if kind == "text" else [])
        model = dropped(model, name)
        model.kinds[name] = kind
        for row in model.rows:
            row[name] = None
        return model

    def widen(self) -> Model:
        model = self.newest()
        names = [name for name, kind in model.kinds.items() if kind in WIDER]
        if not names:
            return model
        name = self.rng.choice(names)
        self.open().alter(widen={name: KINDS[WIDER[model.kinds[name]]]})
        model.kinds[name] = WIDER[model.kinds[name]]
        return model

    def delete(self) -> Model:
        model = self.newest()
        where, matches = self.condition(model)
        self.open().delete(where)
        model.rows = [row for row in model.rows if matches(row) is not True]
        return model

    def upsert(self) -> Model:
        model = self.newest()
        new = self.new_rows(model, 2)
        for row in self.rng.sample(model.rows, min(2, len(model.rows))):
            new.append(self.new_row(model) | {"id": row["id"]})
        ids = {row["id"] for row in new}
        self.open().upsert(self.arrow(model, new), on=["id"])
        model.rows = [row for row in model.rows if row["id"] not in ids] + new
        return model

    def update(self) -> Model:
        """An UPDATE of Spark: some columns of the rows that satisfy a condition get new values."""
        model = self.newest()
        where, matches = self.condition(model)
        names = [name for name in model.kinds if name != "id" and self.rng.random() < 0.5]
        fresh = {row["id"]: self.new_row(model) for row in model.rows}

        def new(row: Row) -> Row:
            return row | {name: fresh[row["id"]][name] for name in names}

        statement = RowStatement(self.path, "UPDATE", where, SETTINGS)
        assert in_order(statement.rows) == in_order([row for row in model.rows if matches(row) is True])
        statement.run(new)
        model.rows = [new(row) if matches(row) is True else row for row in model.rows]
        return model

    def merge_into(self) -> Model:
        """A MERGE INTO of Spark: of the rows that it finds, some are deleted and others replaced; new ones come."""
        model = self.newest()
        inserted = self.new_rows(model, self.rng.randint(0, 2))
        chosen = self.rng.sample(model.rows, min(3, len(model.rows)))
        changed = {row["id"]: self.new_row(model) | {"id": row["id"]} for row in chosen[1:]}
        gone = {row["id"] for row in chosen[:1]}

        statement = RowStatement(self.path, "MERGE", None, SETTINGS)
        kept = [place for place in statement.rows if place["id"] in changed or place["id"] in gone]
        assert in_order(kept) == in_order(chosen)
        statement.only(lambda row: row["id"] in changed or row["id"] in gone)
        statement.run(lambda row: changed.get(row["id"]), inserted)
        rows = [changed.get(row["id"], row) for row in model.rows if row["id"] not in gone]
        model.rows = rows + inserted
        return model

    def replace_where(self) -> Model:
        model = self.newest()
        where, matches = self.condition(model)
        new = [row for row in self.new_rows(model, 4) if matches(row) is True]
        it.write(self.path, self.arrow(model, new), mode="overwrite", replace_where=where, settings=SETTINGS)
        model.rows = [row for row in model.rows if matches(row) is not True] + new
        return model

    def merge(self) -> Model:
        self.open().merge_splits()
        return self.newest()

    def append_overtaken_by_a_change(self) -> Model:
        """An append that was written before a change is refused, or its rows are as the changed table has them."""
        model = self.newest()
        new = self.new_rows(model, 2)
        rows = self.arrow(model, new)
        plan = plan_write(
            self.path,
            TableSchema.from_arrow(rows.schema),
            mode="append",
            partition_by=None,
            settings=Settings(SETTINGS),
        )
        assert plan is not None
        result = run_write_task(plan, rows.to_batches())
        after = self.rng.choice([self.add, self.rename, self.drop, self.widen, self.swap])()
        self.note(after, self.open().version)
        try:
            commit_write(plan, [result])
        except SchemaError:
            return after
        added = [name for name in after.kinds if name not in model.kinds]
        assert {name: kind for name, kind in after.kinds.items() if name not in added} == model.kinds
        after = copy.deepcopy(after)
        after.rows += [row | {name: after.defaults.get(name) for name in added} for row in new]
        return after

    def merge_overtaken_by_a_change(self) -> Model:
        store, settings = open_store(self.path), Settings(SETTINGS)
        before = load_snapshot(store)
        tasks = plan_merge(before, MergeOptions(), settings, now=now_ms())
        groups = [run_merge_task(task, store) for task in tasks]
        after = self.rng.choice([self.add, self.rename, self.drop, self.widen])()
        self.note(after, self.open().version)
        if groups:
            with contextlib.suppress(SchemaError):
                commit_merge(store, groups, metadata=tasks[0].metadata, base=before, settings=settings)
        return after

    def checkpoint(self) -> Model:
        self.open().checkpoint()
        return self.newest()

    def restore(self) -> Model:
        version = self.rng.randrange(self.open().version + 1)
        try:
            self.open().restore(version)
        except VersionNotFoundError:
            return self.newest()
        return copy.deepcopy(self.versions[version])

    # What they are made of

    def open(self) -> it.Table:
        return it.open(self.path, settings=SETTINGS)

    def newest(self) -> Model:
        return copy.deepcopy(self.versions[-1])

    def note(self, model: Model, version: int) -> None:
        while len(self.versions) <= version:
            self.versions.append(copy.deepcopy(model))

    def changeable(self, model: Model) -> str | None:
        names = [name for name in model.kinds if name in NAMES]
        return self.rng.choice(names) if len(names) > 1 else None

    def new_rows(self, model: Model, count: int) -> list[Row]:
        return [self.new_row(model) for _ in range(count)]

    def new_row(self, model: Model) -> Row:
        self.next_id += 1
        values = {name: self.value(kind) for name, kind in model.kinds.items()}
        row = {name: None if self.rng.random() < 0.2 else value for name, value in values.items()}
        return row | {"id": self.next_id, "day": self.rng.choice(DAYS)}

    def value(self, kind: str) -> Any:
        number = self.rng.randrange(-3, 4)
        match kind:
            case "text":
                return " ".join(self.rng.choices(WORDS, k=self.rng.randint(1, 3)))
            case "string":
                return self.rng.choice(WORDS)
            case "long":
                return number * 3_000_000_000
            case "float":
                return pa.scalar(number / 3, pa.float32()).as_py()
            case "double":
                return number / 3
            case "decimal":
                return Decimal(number) / 4
            case "wide decimal":
                return Decimal(number) * 10**20 + Decimal("0.25")
            case "struct":
                return {"word": self.rng.choice(WORDS), "number": number}
        return number

    def arrow(
        self,
        model: Model,
        rows: list[Row],
        without: list[str] | tuple[str, ...] = (),
        *,
        narrow: bool = False,
    ) -> pa.Table:
        columns = {}
        for name, kind in model.kinds.items():
            if name not in without:
                values = [row[name] for row in rows]
                fits = kind == "long" and all(v is None or abs(v) < 1 << 31 for v in values)
                columns[name] = pa.array(values, pa.int32() if narrow and fits else KINDS[kind])
        return pa.table(columns)

    def condition(self, model: Model) -> tuple[str, Matches]:
        name = self.rng.choice(list(model.kinds))
        kind = model.kinds[name]
        if self.rng.random() < 0.2:
            return f"{name} IS NULL", lambda row: row[name] is None
        if kind == "struct":
            word = self.rng.choice(WORDS)
            return f"{name}.word = '{word}'", known(name, lambda value: value["word"] == word)
        if kind == "text":
            word = self.rng.choice(WORDS)
            return self.rng.choice(
                [
                    (f"{name} TEXTSEARCH '{word}'", known(name, lambda value: word in value.split())),
                    (f"{name} LIKE '{word}%'", known(name, lambda value: value.startswith(word))),
                ]
            )
        value = self.value(kind)
        literal = f"'{value}'" if isinstance(value, str) else f"{value}"
        choices: list[tuple[str, Matches]] = [
            (f"{name} = {literal}", known(name, lambda given: given == value)),
            (f"{name} <=> {literal}", lambda row: row[name] == value),
            (f"{name} < {literal}", known(name, lambda given: given < value)),
            (f"{name} >= {literal}", known(name, lambda given: given >= value)),
            (f"{name} IN ({literal})", known(name, lambda given: given == value)),
        ]
        if kind in ("int", "long", "wide decimal") and name != "day":
            query = f"{name} INDEXQUERY '[* TO \"{literal}\"]'"
            choices.append((query, known(name, lambda given: given <= value)))
        if kind == "string" and name != "day":
            choices.append((f"{name} INDEXQUERY '{value}'", known(name, lambda given: given == value)))
        return self.rng.choice(choices)


def known(name: str, test: Callable[[Any], bool]) -> Matches:
    return lambda row: None if row[name] is None else test(row[name])


def renamed(model: Model, names: dict[str, str]) -> Model:
    return Model(
        {names.get(name, name): kind for name, kind in model.kinds.items()},
        {names.get(name, name): value for name, value in model.defaults.items()},
        [{names.get(name, name): value for name, value in row.items()} for row in model.rows],
    )


def dropped(model: Model, name: str) -> Model:
    return Model(
        {other: kind for other, kind in model.kinds.items() if other != name},
        {other: value for other, value in model.defaults.items() if other != name},
        [{other: value for other, value in row.items() if other != name} for row in model.rows],
    )


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["id"])


@pytest.mark.parametrize("seed", range(40))
def test_a_table_is_what_the_model_is_after_any_changes_of_columns(seed: int):
    Machine(seed).run(6)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(20))
def test_a_table_is_what_the_model_is_after_many_changes_of_columns(block: int):
    for seed in range(1000 + block * 100, 1100 + block * 100):
        try:
            Machine(seed).run(12)
        except BaseException as failure:
            failure.add_note(f"seed {seed}")
            raise
