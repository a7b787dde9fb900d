"""Spark on S3 and Azure: credentials as options and as session settings, used on executors, shown nowhere."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from bench.servers import Server

pytestmark = pytest.mark.servers


@pytest.fixture
def path(server: Server) -> str:
    return server.uri(str(uuid.uuid4())).replace("s3://", "s3a://")


@pytest.fixture
def in_session(spark, server: Server) -> Iterator[None]:
    for key, value in server.settings.items():
        spark.conf.set(key, value)
    yield
    for key in server.settings:
        spark.conf.unset(key)


def logs(spark):
    rows = [(n, "mon" if n % 2 else "tue", f"timeout of db {n}" if n % 10 == 0 else "ok") for n in range(100)]
    return spark.createDataFrame(rows, "id long, day string, message string").repartition(2)


def write(frame, path: str, options: dict[str, str]) -> None:
    writer = frame.write.format("indextables").mode("append").partitionBy("day").options(**options)
    writer.option("spark.indextables.indexing.typemap.message", "text").save(path)


def test_a_table_is_written_and_searched_with_options(spark, server: Server, path: str):
    write(logs(spark), path, server.settings)
    frame = spark.read.format("indextables").options(**server.settings).load(path)
    found = frame.filter("message TEXTSEARCH 'timeout AND db' AND day = 'tue'")
    assert sorted(row.id for row in found.select("id").collect()) == list(range(0, 100, 10))
    assert frame.count() == 100
    assert server.secret not in found._jdf.queryExecution().toString()


def test_the_settings_of_a_session_hold_for_sql(spark, path: str, in_session: None):
    write(logs(spark), path, {})
    query = f"SELECT count(*) FROM indextables.`{path}` WHERE message TEXTSEARCH 'timeout'"
    assert spark.sql(query).collect()[0][0] == 10


def test_wrong_credentials_are_an_error_without_a_secret(spark, server: Server, path: str):
    secret = "d3Jvbmctd3Jvbmctd3Jvbmc="
    with pytest.raises(Exception, match="the store refuses") as caught:
        write(logs(spark), path, server.with_secret(secret).settings)
    assert secret not in str(caught.value)
    assert server.secret not in str(caught.value)
