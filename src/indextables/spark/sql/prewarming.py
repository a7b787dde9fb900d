"""PREWARM INDEXTABLES CACHE: on this machine, or with the splits distributed to Spark's executors."""

from __future__ import annotations

import pyarrow as pa

from indextables.errors import CommandError, SchemaError
from indextables.spark.sql.cluster import Cluster, Job
from indextables.spark.sql.conditions import predicate_of
from indextables.spark.sql.jobs import HostResult, WaitingPrewarm
from indextables.spark.sql.statements import Prewarm
from indextables.spark.sql.tokens import misplaced
from indextables.storage import options_for_tasks
from indextables.table import DEFAULT_THREADS, Table, run_prewarm_task


def run_prewarm(
    statement: Prewarm, table: Table, sql: str, zone: str, cluster: Cluster, *, with_jobs: bool = False
) -> pa.Table | Job:
    """Prewarm the cache of this machine and return the rows, or return a job for the executors."""
    waiting = _waiting(statement, table, sql, zone, cluster)
    tasks = waiting.tasks()
    if not with_jobs or not tasks:
        host = cluster.here.executor.host
        return waiting.finish([HostResult(host, host, run_prewarm_task(task)) for task in tasks])
    file = waiting.save()
    if file is None:
        raise CommandError("the command is too long for a job")
    description = f"PREWARM INDEXTABLES CACHE {table.uri}"
    return Job(file, description, tuple(task.host for task in tasks))


def _waiting(statement: Prewarm, table: Table, sql: str, zone: str, cluster: Cluster) -> WaitingPrewarm:
    predicate_of(statement.where, table, sql, zone)  # an error in it is one of the command, not of a task
    fields = []
    for named in statement.fields:
        try:
            fields.append(table.snapshot.schema.field(named.name).name)
        except SchemaError as reason:
            raise misplaced(str(reason), sql, named.position) from None
    return WaitingPrewarm(
        uri=table.uri,
        version=table.version,
        options=options_for_tasks(table.uri, table.settings),
        where=None if statement.where is None else statement.where.text,
        zone=zone,
        fields=tuple(fields),
        threads=DEFAULT_THREADS if statement.threads is None else statement.threads.number,
        hosts=cluster.hosts,
        parallelism=cluster.parallelism,
    )
