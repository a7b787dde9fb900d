"""A prewarming on the driver's disk while the executors run its tasks: JSON of plain values (see `job_files`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class WaitingPrewarm:
    """Which splits of which version are to be in the caches of which hosts."""

    uri: str
    version: int
    options: Mapping[str, str] = field(repr=False)  # credentials may be among them
    where: str | None
    zone: str
    fields: tuple[str, ...]
    threads: int
    hosts: tuple[str, ...]
    parallelism: int


def prewarm_document(waiting: WaitingPrewarm) -> dict[str, Any]:
    return {"kind": "prewarm", **dataclasses.asdict(waiting)}


def waiting_prewarm(document: Any) -> WaitingPrewarm:
    """Return the prewarming of a document. ValueError, KeyError or TypeError for any other document."""
    kinds: dict[str, type | tuple[type, ...]] = {
        "uri": str,
        "version": int,
        "options": dict,
        "where": (str, type(None)),
        "zone": str,
        "fields": list,
        "threads": int,
        "hosts": list,
        "parallelism": int,
    }
    values = {name: document[name] for name in kinds}
    if not all(isinstance(values[name], kind) for name, kind in kinds.items()):
        raise TypeError("a value in it is of another type")
    texts = [*values["fields"], *values["hosts"], *values["options"], *values["options"].values()]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a value in it is not a string")
    return WaitingPrewarm(**{**values, "fields": tuple(values["fields"]), "hosts": tuple(values["hosts"])})
