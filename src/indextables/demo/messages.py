"""The messages of the sample data set: templates, and random values for their parameters.

A template belongs to a level and to the services that may log it. Its weight is its share of all rows: the weights of a
level add up to the share of the level, and words have known frequencies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Draw: TypeAlias = Callable[[np.random.Generator, int], pa.Array]

EVERYONE: Final = (
    "api-gateway",
    "auth",
    "billing",
    "cart",
    "catalog",
    "checkout",
    "inventory",
    "mailer",
    "orders",
    "payments",
    "recommender",
    "search",
    "shipping",
    "uploads",
)
WEB: Final = ("api-gateway", "auth", "cart", "catalog", "checkout", "search")
DATA: Final = ("billing", "catalog", "inventory", "orders", "payments", "search", "shipping")
MONEY: Final = ("billing", "checkout", "payments")
QUEUES: Final = ("inventory", "mailer", "orders", "recommender", "shipping")
CACHES: Final = ("api-gateway", "cart", "catalog", "recommender", "search")


@dataclass(frozen=True)
class Template:
    level: str
    weight: float
    services: tuple[str, ...]
    text: str
    status: int | None = None
    """The HTTP status that goes with the message, where there is one."""
    slow: float = 1.0
    """How much longer than usual the logged operation took."""

    @property
    def pieces(self) -> list[tuple[str, str | None]]:
        """Return the text split at its parameters: (literal, the parameter that follows or None)."""
        where = (
            " [worker-{small} span {hex}{hex}]"
            if self.status is None
            else ", request {hex}-{hex} span {hex}{hex}"
        )
        return [(literal, name) for literal, name, _, _ in Formatter().parse(self.text + where)]


QUARANTINED: Final = Template(
    "ERROR",
    0.0,
    ("uploads",),
    "object {path} quarantined after checksum mismatch, expected {hex} found {hex}",
    status=500,
)
"""The message of the rare rows. It is placed by row number and never drawn, so that its weight is 0."""

TEMPLATES: Final = (
    # DEBUG: 16%
    Template("DEBUG", 0.030, CACHES, "cache hit for key {key} on shard {small}"),
    Template("DEBUG", 0.015, CACHES, "cache entry {key} expired after {seconds} s and was evicted"),
    Template("DEBUG", 0.025, WEB, "parsed {small} query parameters from {path}"),
    Template("DEBUG", 0.020, DATA, "prepared statement {hex} reused for table {table}"),
    Template("DEBUG", 0.020, QUEUES, "polled topic {topic} partition {small} and received {count} records"),
    Template("DEBUG", 0.015, EVERYONE, "heartbeat sent to coordinator {host} sequence {count}"),
    Template("DEBUG", 0.015, ("auth",), "token for user {user} has {seconds} s to live"),
    Template(
        "DEBUG", 0.010, ("recommender", "search"), "scored {count} candidates with model {model} in {ms} ms"
    ),
    Template("DEBUG", 0.010, EVERYONE, "feature flag {flag} evaluated to true for user {user}"),
    # INFO: 69%
    Template("INFO", 0.110, WEB, "GET {path} answered 200 in {ms} ms for client {ip}", status=200),
    Template("INFO", 0.050, WEB, "POST {path} answered 201 in {ms} ms for client {ip}", status=201),
    Template("INFO", 0.020, WEB, "GET {path} not modified, answered 304 in {ms} ms", status=304),
    Template(
        "INFO", 0.030, WEB, "GET {path} answered 404 for client {ip}, no such resource", status=404, slow=0.3
    ),
    Template("INFO", 0.020, WEB, "DELETE {path} answered 204 in {ms} ms", status=204),
    Template("INFO", 0.035, CACHES, "cache miss for key {key}, loaded from database in {ms} ms"),
    Template("INFO", 0.010, CACHES, "cache warmed with {count} entries from table {table}"),
    Template("INFO", 0.030, ("auth",), "user {user} logged in from {ip}", status=200),
    Template("INFO", 0.015, ("auth",), "user {user} logged out after {seconds} s"),
    Template("INFO", 0.020, ("auth", "api-gateway"), "session {hex} renewed for user {user}"),
    Template(
        "INFO",
        0.030,
        ("orders", "checkout"),
        "order {id} created by user {user} with {small} items",
        status=201,
    ),
    Template("INFO", 0.025, ("orders", "shipping"), "order {id} moved from packed to shipped"),
    Template("INFO", 0.030, MONEY, "payment {id} authorised by {gateway} in {ms} ms", status=200),
    Template("INFO", 0.015, MONEY, "invoice {id} issued for account {user}"),
    Template("INFO", 0.010, MONEY, "refund {id} completed through {gateway}", status=200),
    Template("INFO", 0.025, ("inventory",), "stock of item {id} adjusted by {small} in warehouse {site}"),
    Template("INFO", 0.020, ("shipping",), "parcel {id} handed to carrier {carrier} at {site}"),
    Template("INFO", 0.020, ("mailer",), "mail {hex} delivered to {user}@example.com in {ms} ms", status=250),
    Template(
        "INFO",
        0.020,
        ("uploads",),
        "stored object {path} of {count} KB in bucket {bucket}",
        status=201,
        slow=3.0,
    ),
    Template("INFO", 0.015, ("uploads",), "thumbnail of {path} rendered in {ms} ms", slow=2.0),
    Template("INFO", 0.025, ("search",), "query {hex} matched {count} documents in {ms} ms", status=200),
    Template("INFO", 0.015, ("search", "catalog"), "index segment {hex} merged, {count} documents"),
    Template("INFO", 0.025, QUEUES, "consumed {count} messages from topic {topic} in {ms} ms"),
    Template("INFO", 0.020, QUEUES, "published event {topic}.{hex} to {host}"),
    Template("INFO", 0.015, EVERYONE, "garbage collection paused for {small} ms, heap {count} MB"),
    Template("INFO", 0.010, EVERYONE, "configuration reloaded, {small} keys changed"),
    Template("INFO", 0.010, EVERYONE, "health check from {ip} passed", status=200, slow=0.1),
    Template("INFO", 0.010, DATA, "connection pool resized to {small} connections for database {database}"),
    Template("INFO", 0.010, ("billing", "inventory"), "nightly job {flag} finished in {seconds} s"),
    # WARN: 10%
    Template("WARN", 0.015, DATA, "slow query on table {table} took {ms} ms", slow=20.0),
    Template(
        "WARN", 0.010, DATA, "connection pool for database {database} is nearly exhausted, {small} left"
    ),
    Template("WARN", 0.010, WEB, "rate limit exceeded for client {ip} on {path}", status=429, slow=0.2),
    Template("WARN", 0.006, CACHES, "cache node {host} is slow, answered after {ms} ms", slow=10.0),
    Template("WARN", 0.004, CACHES, "timeout reading from cache node {host} after {ms} ms", slow=40.0),
    Template("WARN", 0.010, ("auth",), "failed login for user {user} from {ip}, wrong password", status=401),
    Template("WARN", 0.005, ("auth", "api-gateway"), "certificate of {host} expires in {small} days"),
    Template(
        "WARN", 0.010, EVERYONE, "retrying call to {host}:{port} after {error}, attempt {small}", slow=8.0
    ),
    Template("WARN", 0.010, QUEUES, "consumer lag on topic {topic} reached {count} messages"),
    Template("WARN", 0.005, EVERYONE, "disk usage on volume {bucket} at 9{digit} percent"),
    Template("WARN", 0.005, ("inventory",), "stock of item {id} below threshold in warehouse {site}"),
    Template(
        "WARN", 0.005, ("shipping",), "carrier {carrier} did not confirm parcel {id} within {seconds} s"
    ),
    Template("WARN", 0.005, ("recommender",), "model {model} is stale, last trained {seconds} s ago"),
    # ERROR: 4.6%
    Template(
        "ERROR",
        0.010,
        DATA,
        "timeout waiting for db connection to {database} after {ms} ms",
        status=504,
        slow=60.0,
    ),
    Template(
        "ERROR",
        0.006,
        DATA,
        "db timeout: statement {hex} on table {table} cancelled after {ms} ms",
        status=500,
        slow=60.0,
    ),
    Template("ERROR", 0.006, EVERYONE, "connection refused by {host}:{port}, {error}", status=502),
    Template(
        "ERROR", 0.004, EVERYONE, "connection reset by peer {ip} while reading response", status=502, slow=5.0
    ),
    Template("ERROR", 0.005, MONEY, "payment {id} declined by {gateway}: {reason}", status=402),
    Template("ERROR", 0.003, MONEY, "payment gateway {gateway} unavailable, {error}", status=503, slow=30.0),
    Template(
        "ERROR",
        0.004,
        DATA,
        "deadlock detected on table {table}, transaction {hex} rolled back",
        status=500,
        slow=15.0,
    ),
    Template(
        "ERROR", 0.004, EVERYONE, "unhandled exception in worker {small}: {error} at {path}", status=500
    ),
    Template("ERROR", 0.002, ("mailer",), "mail to {user}@example.com bounced: {reason}", status=550),
    Template("ERROR", 0.002, ("uploads",), "upload of {path} aborted by client {ip}", status=499, slow=12.0),
    # FATAL: 0.4%
    Template("FATAL", 0.002, EVERYONE, "out of memory: heap exhausted at {count} MB, process {port} killed"),
    Template("FATAL", 0.002, DATA, "cannot start: database {database} unreachable, {error}"),
)


def render(template: Template, rng: np.random.Generator, durations: npt.NDArray[np.float64]) -> pa.Array:
    """Return one message for each duration."""
    rows = len(durations)
    parts: list[pa.Array | str] = []
    for literal, parameter in template.pieces:
        if literal:
            parts.append(literal)
        if parameter == "ms":
            parts.append(pc.cast(pa.array(durations.astype(np.int64)), pa.string()))
        elif parameter is not None:
            parts.append(_DRAWS[parameter](rng, rows))
    return pc.binary_join_element_wise(*parts, "")


def _number(low: int, high: int) -> Draw:
    return lambda rng, rows: pc.cast(pa.array(rng.integers(low, high, rows)), pa.string())


def _one_of(*words: str) -> Draw:
    options = pa.array(words)
    return lambda rng, rows: options.take(pa.array(rng.integers(0, len(words), rows)))


_FOUR_HEX: Final = pa.array([f"{value:04x}" for value in range(1 << 16)])


def _hex(rng: np.random.Generator, rows: int) -> pa.Array:
    halves = (_FOUR_HEX.take(pa.array(rng.integers(0, 1 << 16, rows))) for _ in range(2))
    return pc.binary_join_element_wise(*halves, "")


def _concat(*parts: Draw | str) -> Draw:
    def draw(rng: np.random.Generator, rows: int) -> pa.Array:
        return pc.binary_join_element_wise(*(p if isinstance(p, str) else p(rng, rows) for p in parts), "")

    return draw


_id = _number(100_000, 10_000_000)
_octet = _number(1, 255)
_resource = _one_of("orders", "carts", "items", "users", "invoices", "parcels", "searches", "sessions")

_DRAWS: Final[dict[str, Draw]] = {
    "bucket": _one_of("media", "backups", "exports", "archive", "scratch"),
    "carrier": _one_of("northwind", "parcelforce", "swiftpost", "rhino", "gulliver"),
    "count": _number(1, 5_000),
    "database": _one_of("orders-primary", "orders-replica", "ledger", "warehouse", "accounts"),
    "digit": _number(0, 10),
    "error": _one_of(
        "no route to host",
        "broken pipe",
        "connection reset",
        "read timeout",
        "handshake failed",
        "name not resolved",
        "permission denied",
        "null reference",
        "index out of range",
        "unexpected end of stream",
    ),
    "flag": _one_of("new-checkout", "dark-mode", "fast-lane", "reprice", "reindex", "double-entry"),
    "gateway": _one_of("stripe", "adyen", "paypal", "worldpay"),
    "hex": _hex,
    "host": _concat(_one_of("db", "kv", "queue", "edge", "node"), "-", _number(1, 40), ".internal"),
    "id": _id,
    "ip": _concat("10.", _octet, ".", _octet, ".", _octet),
    "key": _concat(_resource, ":", _id),
    "model": _one_of("bm25-v2", "ranker-v7", "als-v3", "twotower-v1"),
    "path": _concat("/api/v", _number(1, 4), "/", _resource, "/", _id),
    "port": _number(1_024, 65_536),
    "reason": _one_of(
        "insufficient funds", "card expired", "mailbox full", "suspected fraud", "unknown recipient"
    ),
    "seconds": _number(2, 7_200),
    "site": _one_of("antwerp", "leipzig", "reno", "osaka", "lodz"),
    "small": _number(1, 64),
    "table": _one_of("orders", "order_items", "customers", "stock", "payments", "audit_log"),
    "topic": _one_of("order-events", "stock-events", "mail-outbox", "clicks", "price-changes"),
    "user": _concat(
        _one_of("ada", "grace", "linus", "edsger", "barbara", "donald", "alan"), _number(1, 2_000)
    ),
}
