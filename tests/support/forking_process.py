"""A process that uses all features, forks, and uses them again in the child and in itself. Prints JSON.

A process of its own, so that no thread of the test run is lost with the fork, and so that a deadlock can be killed.
"""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa

import indextables as it
from indextables import columns
from indextables.config import Settings
from indextables.log.snapshots.cache import SNAPSHOTS
from indextables.predicates import parse_where
from indextables.runtime import current
from indextables.storage import open_store
from indextables.table import ScanRequest, plan_scan
from indextables.table.scans.driver_answers import answer_on_driver

DATA = pa.table(
    {"id": range(40), "p": [i % 2 for i in range(40)], "message": [f"disk {i}" for i in range(40)]}
)
SECONDS = 40
S3 = Settings(
    {
        "spark.indextables.aws.accessKey": "key",
        "spark.indextables.aws.secretKey": "secret",
        "spark.indextables.aws.region": "us-east-1",
    }
)


def everything(directory: Path, dataset: str) -> dict[str, Any]:
    """Write, read, search, write a state, read it back without a cache, and do the same with a columns dataset."""
    path = str(directory / "table")
    version = it.write(path, DATA, partition_by=["p"], text=["message"])
    table = it.open(path)
    found = {
        "version": version,
        "rows": table.to_arrow().num_rows,
        "hits": table.search("message:disk", limit=None).num_rows,
        "state": table.checkpoint(),
    }
    table.invalidate_cache()
    found["rows of the state"] = it.open(path).to_arrow(where="p = 1").num_rows
    for kind in ("parquet", "vortex"):
        place = directory / f"{dataset}-{kind}"
        columns.write(place, DATA, format=kind)
        found[kind] = columns.open(place).to_arrow().num_rows
    return found


def in_child(action: Callable[[], Any]) -> Any:
    """What the action returns or raises in a forked child; a child that hangs ends with a traceback on stderr."""
    receiving, sending = os.pipe()
    faulthandler.cancel_dump_traceback_later()  # a child could not: it would wait for a thread of its parent
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            answer = action()
        except BaseException as reason:
            answer = f"{type(reason).__name__}: {reason}"
        os.write(sending, json.dumps(answer).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "hung"


def with_everything_warm(directory: Path) -> dict[str, Any]:
    report = {"parent": everything(directory, "a"), "child": in_child(lambda: everything(directory, "b"))}
    with multiprocessing.get_context("fork").Pool(1) as pool:
        report["pool"] = pool.apply_async(everything, (directory, "c")).get(SECONDS)
    return report | {"parent again": everything(directory, "d")}


def with_warm_caches(directory: Path) -> dict[str, Any]:
    """Fill every cache and the pool of threads, and read in the parent, in a child, in its child, and in the parent."""
    path = str(directory / "table")
    it.write(path, DATA, partition_by=["p"], text=["message"])
    it.open(path).checkpoint()

    def read() -> dict[str, Any]:
        table = it.open(path)
        where = parse_where("message TEXTSEARCH 'disk'", table.snapshot.schema)
        request = ScanRequest(columns=("id", "message"), predicate=where)
        plan = plan_scan(table.uri, table.snapshot, request, table.settings, parallelism=2)
        answer = answer_on_driver(plan)
        together = threading.Barrier(3)
        open_store("s3://bucket/table", S3)
        return {
            "driver": None if answer is None else answer.num_rows,
            "rows": table.to_arrow().num_rows,
            "hits": table.search("message:disk", limit=None).num_rows,
            "threads": sum(current().threads.map(lambda _: together.wait(20) >= 0, range(3), 3)),
            "runtime": sorted(name for name, size in current().cache_sizes().items() if size),
        }

    def read_as_child() -> dict[str, Any]:
        inherited = sorted(name for name, size in current().cache_sizes().items() if size)
        return {"inherited": inherited, "read": read(), "read again": read()}

    report = {"parent": read(), "child": in_child(read_as_child)}
    report["grandchild"] = in_child(lambda: [read(), in_child(read_as_child)])
    return report | {"parent again": read_as_child()}


def with_a_held_lock(directory: Path) -> dict[str, Any]:
    """Fork while another thread holds the lock of the snapshot cache."""
    everything(directory, "a")
    held, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with current().cache(SNAPSHOTS)._lock:
            held.set()
            forked.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        return {"child": in_child(lambda: it.open(str(directory / "table")).to_arrow().num_rows)}
    finally:
        forked.set()
        thread.join()


def with_a_store_on_a_network(_: Path) -> dict[str, Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Object)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = Settings(
        dict(S3) | {"spark.indextables.aws.endpoint": f"http://127.0.0.1:{server.server_port}"}
    )

    def read() -> str:
        return open_store("s3://bucket/table", settings).get("object").decode()

    used = open_store("s3://bucket/table", settings)
    report = {"child before": in_child(read), "parent": read()}
    return report | {
        "child": in_child(read),
        "child with the parent's": in_child(lambda: used.get("object").decode()),
        "parent again": read(),
    }


class _Object(BaseHTTPRequestHandler):
    """Every object of every bucket."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
        self.end_headers()
        self.wfile.write(b"bytes")

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    case = {
        "warm": with_everything_warm,
        "caches": with_warm_caches,
        "lock": with_a_held_lock,
        "network": with_a_store_on_a_network,
    }[sys.argv[1]]
    print(json.dumps(case(Path(sys.argv[2]))))
