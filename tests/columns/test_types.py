"""Column groups hold every Arrow type, and conditions on decimals, local times and structs answer as a plain model."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from indextables import columns
from indextables.columns import SchemaBased
from indextables.predicates import to_sql
from support.typed_rows import conditions, tables


@given(rows=tables(), data=st.data())
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
def test_random_conditions_on_random_types(rows: tuple[pa.Table, pa.Table], data: Any) -> None:
    given_rows, expected = rows
    uri = f"memory://typed-columns-{uuid.uuid4()}"
    columns.write(uri, given_rows, policy=SchemaBased(("c0",)))
    dataset = columns.open(uri)
    for _ in range(3):
        condition = data.draw(conditions(expected), label="condition")
        ids = [row["id"] for row in expected.to_pylist() if condition.answer(row)]
        where = to_sql(condition.predicate)
        assert dataset.to_arrow(columns=["id"], where=where).column("id").to_pylist() == ids, where
