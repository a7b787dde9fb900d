"""Metrics of states, for OpenTelemetry. Nothing is kept or sent unless the application sets up an SDK."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter

_TABLE: Final = "indextables.table"


class Gauge(Protocol):
    """The gauge of a meter; the API has no public name for its type."""

    def set(self, amount: float, attributes: Mapping[str, str]) -> None: ...


class Instruments(NamedTuple):
    """The metrics of the format's specification, named as in it, after `indextables.state.`."""

    read_duration: Histogram
    read_manifests: Histogram
    read_files: Histogram
    write_duration: Histogram
    write_compacted: Counter
    tombstones: Gauge
    tombstone_ratio: Gauge

    @classmethod
    def of(cls, meter: Meter) -> Instruments:
        name = "indextables.state.{}".format
        return cls(
            read_duration=meter.create_histogram(
                name("read.duration_ms"), "ms", "Time to read entries of a state"
            ),
            read_manifests=meter.create_histogram(
                name("read.manifest_count"), "{manifest}", "Manifests read at once"
            ),
            read_files=meter.create_histogram(
                name("read.file_count"), "{file}", "File entries that a read gave"
            ),
            write_duration=meter.create_histogram(name("write.duration_ms"), "ms", "Time to write a state"),
            write_compacted=meter.create_counter(
                name("write.compacted"), "{write}", "Writes that compacted the state"
            ),
            tombstones=meter.create_gauge(
                name("tombstone_count"), "{file}", "Tombstones of the newest state seen"
            ),
            tombstone_ratio=meter.create_gauge(name("tombstone_ratio"), "1", "Tombstones for each live file"),
        )


@cache
def instruments() -> Instruments:
    """Return the metrics of this process. They are created at first use: finding the SDK takes time."""
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 - opening a table of few versions does not need it

    return Instruments.of(get_meter("indextables"))


def entries_were_read(uri: str, *, seconds: float, manifests: int, files: int) -> None:
    """Record one read of some manifests of a table's state."""
    table = {_TABLE: uri}
    instruments().read_duration.record(seconds * 1000, table)
    instruments().read_manifests.record(manifests, table)
    instruments().read_files.record(files, table)


def state_was_written(uri: str, *, seconds: float, compacted: bool) -> None:
    """Record one write of a state."""
    table = {_TABLE: uri}
    instruments().write_duration.record(seconds * 1000, table)
    instruments().write_compacted.add(int(compacted), table)


def state_was_seen(uri: str, *, tombstones: int, files: int) -> None:
    """Record the tombstones of the newest state. Without a live file the ratio is their number."""
    table = {_TABLE: uri}
    instruments().tombstones.set(tombstones, table)
    instruments().tombstone_ratio.set(tombstones / max(files, 1), table)
