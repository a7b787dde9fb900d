"""What the package says of its work at level DEBUG."""

from __future__ import annotations

import logging
import re
import sys

import pyarrow as pa
import pytest

import indextables as it

SECRET = "s3cr3t-canary"


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.DEBUG, logger="indextables")
    return lambda: "\n".join(record.getMessage() for record in caplog.records)


def test_a_read_says_which_version_it_has_and_how_much_of_it_is_read(tmp_path, said):
    path = str(tmp_path / "logs")
    settings = {"spark.indextables.azure.accountKey": SECRET}
    for day in (1, 2):
        rows = pa.table({"day": [day], "message": ["disk full"]})
        it.write(path, rows, text=["message"], partition_by=["day"], settings=settings)
    assert "committed version 1 (" in said()
    table = it.open(path, settings=settings)
    assert "version 1" in said()
    table.search("disk", where="day = 2")
    assert "a scan of version 1 reads 1 of 2 splits in 1 tasks" in said()
    assert "and is extracted" in said()
    it.open(path)
    assert "version 1 is in the cache of snapshots" in said()
    assert SECRET not in said()


def test_a_lost_race_is_said(tmp_path, said, monkeypatch):
    path = str(tmp_path / "logs")
    it.write(path, pa.table({"n": [1]}))
    module = sys.modules["indextables.log.commits.loop"]
    publish, lost = module.publish, iter([True])

    def late(*arguments):
        return publish(*arguments) if next(lost, None) is None else False

    monkeypatch.setattr(module, "publish", late)
    monkeypatch.setattr(module.Backoff, "pause", lambda *_: None)
    assert it.write(path, pa.table({"n": [2]})) == 1
    assert "another writer created version 1 first; attempt 1 of" in said()
    assert re.search(r"committed version 1 \(WRITE\): .* attempt 2", said())
