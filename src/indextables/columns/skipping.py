"""The types of a schema that somebody else wrote, and how to pass over values of those that nobody here knows.

The schema is input like the values. Refused are schemas with which a few bytes could keep a reader busy for long:
lists of what takes no bytes, types that contain themselves, deep nesting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from indextables.columns.binary import Read, array_of, map_of, read_bytes, read_long, truncated
from indextables.columns.schemas import Schema
from indextables.errors import CorruptTableError

Node: TypeAlias = str | Schema | list[Any]

_DEEPEST: Final = 32
"""Manifests nest six deep."""

_FIXED: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_PRIMITIVE: Final = frozenset({*_FIXED, "int", "long", "string", "bytes"})
_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})


@dataclass(frozen=True, slots=True)
class Compiled:
    """How to read values of a type, whether each takes a byte at least, and how deep the type nests."""

    read: Read[Any]
    takes_bytes: bool
    height: int = 1


def refused(why: str) -> CorruptTableError:
    return CorruptTableError(f"the schema of the manifest {why}")


class WriterTypes:
    """The types of one schema. Those with a name are remembered from where they are defined on."""

    def __init__(self) -> None:
        self._named: dict[str, Schema] = {}
        self._skips: dict[int, Compiled] = {}
        self._open: set[int] = set()

    def plain(self, node: object) -> Node:
        """A type without the layers around it: a primitive's name, a complex type, or the branches of a union."""
        while True:
            if isinstance(node, list):
                return node
            if isinstance(node, str):
                if node in _PRIMITIVE:
                    return node
                found = self._named.get(node.rpartition(".")[2])
                if found is None:
                    raise refused(f"names a type that it does not define: {node!r}")
                return found
            if not isinstance(node, dict) or "type" not in node:
                raise refused(f"has no type where one has to be, but {node!r:.100}")
            kind = node["type"]
            if kind in ("array", "map"):
                return node
            if isinstance(kind, str) and kind in _NAMED:
                self._named[str(node.get("name")).rpartition(".")[2]] = node
                return node
            node = kind

    def skip(self, node: object, depth: int) -> Compiled:
        """How to pass over values of a type; what it reads is of no meaning."""
        plain = self.plain(node)
        if depth > _DEEPEST:
            raise refused(f"nests more than {_DEEPEST} types")
        if isinstance(plain, str):
            return _SKIP_PRIMITIVE[plain]
        known = self._skips.get(id(plain))
        if known is None:
            if id(plain) in self._open:
                raise refused("has a type that contains itself")
            self._open.add(id(plain))
            known = self._skip_complex(plain, depth)
            self._open.discard(id(plain))
            self._skips[id(plain)] = known
        if depth + known.height > _DEEPEST:
            raise refused(f"nests more than {_DEEPEST} types")
        return known

    def _skip_complex(self, node: Schema | list[Any], depth: int) -> Compiled:
        if isinstance(node, list):
            return union_of([self.skip(branch, depth + 1) for branch in node])
        match node["type"]:
            case "array":
                return list_of(self.skip(node.get("items"), depth + 1))
            case "map":
                values = self.skip(node.get("values"), depth + 1)
                return Compiled(map_of(values.read), True, values.height + 1)
            case "enum":
                return Compiled(read_long, True)
            case "fixed":
                size = node.get("size")
                if not isinstance(size, int) or size < 0:
                    raise refused(f"has a fixed type of size {size!r:.100}")
                return _fixed(size)
        return _in_sequence([self.skip(kind, depth + 1) for _, kind in fields_of(node)])


def fields_of(record: Schema) -> list[tuple[str, object]]:
    """The names and types of a record's fields."""
    fields = record.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        raise refused(f"has a record without fields: {record.get('name')!r:.100}")
    names = [field.get("name") for field in fields]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise refused(f"has a record with nameless or repeated fields: {record.get('name')!r:.100}")
    return [(field["name"], field.get("type")) for field in fields]


def list_of(items: Compiled) -> Compiled:
    if not items.takes_bytes:
        raise refused("has a list of what takes no bytes")
    return Compiled(array_of(items.read), True, items.height + 1)


def union_of(branches: list[Compiled]) -> Compiled:
    reads = [branch.read for branch in branches]

    def read_union(raw: bytes, at: int) -> tuple[Any, int]:
        branch, start = read_long(raw, at)
        if not 0 <= branch < len(reads):
            raise CorruptTableError(f"the manifest chooses type {branch} of {len(reads)} at byte {at}")
        return reads[branch](raw, start)

    return Compiled(read_union, True, 1 + max((branch.height for branch in branches), default=0))


def _in_sequence(parts: list[Compiled]) -> Compiled:
    # What takes no bytes is not even visited: named types let it be endlessly much.
    reads = [part.read for part in parts if part.takes_bytes]

    def skip_record(raw: bytes, at: int) -> tuple[None, int]:
        for read in reads:
            _, at = read(raw, at)
        return None, at

    return Compiled(skip_record, bool(reads), 1 + max((part.height for part in parts), default=0))


def _fixed(size: int) -> Compiled:
    def skip_fixed(raw: bytes, at: int) -> tuple[None, int]:
        if size > len(raw) - at:
            raise truncated(raw, at)
        return None, at + size

    return Compiled(skip_fixed, size > 0)


_SKIP_PRIMITIVE: Final = {
    "int": Compiled(read_long, True),
    "long": Compiled(read_long, True),
    "string": Compiled(read_bytes, True),
    "bytes": Compiled(read_bytes, True),
    **{name: _fixed(size) for name, size in _FIXED.items()},
}
