"""Datasets of column groups on real object stores: the same rows, by ranges and not by whole files."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pytest
from bench.proxies import running
from bench.servers import Server

from indextables import columns
from indextables.columns import DeltaLogType, SchemaBased, Transaction, write_delta
from support.fault_proxy import FaultProxy

pytestmark = pytest.mark.servers

ROWS = pa.table(
    {"id": range(20_000), "wide": [f"{i:050}" for i in range(20_000)], "k": [i % 9 for i in range(20_000)]}
)


@pytest.mark.parametrize("file_format", ["parquet", "vortex"])
def test_a_dataset_lives_on_an_object_store(server: Server, file_format: str):
    uri, settings = server.uri(f"{uuid.uuid4()}/ds"), server.settings
    policy = SchemaBased(("wide",))
    assert columns.write(uri, ROWS, policy=policy, format=file_format, settings=settings) == 1
    assert columns.write(uri, ROWS.slice(0, 5), settings=settings) == 2
    log = write_delta(uri, DeltaLogType.PRIMARY_KEY, pa.table({"id": [0, 2]}), settings=settings)
    with Transaction.open(uri, options=settings) as transaction:
        transaction.add_delta_log(log.path, log.num_entries, log.type).commit()
    dataset = columns.open(uri, settings=settings)
    assert dataset.to_arrow().equals(pa.concat_tables([ROWS, ROWS.slice(0, 5)]))
    live = dataset.reader(apply_deltas=True)
    assert live.num_rows == 20_001
    assert live.take([0, 20_000], ["id"]).column("id").to_pylist() == [1, 4]
    assert live.to_table("id < 4", columns=["wide", "id"]).column("id").to_pylist() == [1, 3, 1, 3]


def test_a_projection_fetches_little_of_a_file(server: Server):
    uri = server.uri(f"{uuid.uuid4()}/ds")
    columns.write(uri, ROWS, row_group_bytes=100_000, compression="none", settings=server.settings)
    with running(FaultProxy(server.address, faults=())) as proxy:
        dataset = columns.open(uri, settings=server.settings | server.through(proxy.address).settings)
        found = dataset.to_arrow(["id"], where="id >= 19990").column("id").to_pylist()
        asked = [request for request in proxy.passed if "_data/" in request.path]
    assert found == list(range(19990, 20000))
    [group] = dataset.manifest.column_groups
    size = int(group.files[0].properties["file_size"])
    assert all(request.method == "GET" and request.range for request in asked)
    assert 0 < sum(request.size for request in asked) < size / 5
