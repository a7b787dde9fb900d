"""Schema resolution: a writer's schema and a reader's become one function that reads the writer's bytes.

Fields are matched by name: their order does not matter, a field that the writer does not have takes its default, and
the values of a field that the reader does not know are skipped.

The writer's schema is input like the values. Refused are schemas with which a few bytes could keep a reader busy for
long: arrays of what takes no bytes, types that contain themselves, deep nesting. A decoder that does not check its
schema itself takes it from `parse_record_schema`.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Final, TypeAlias

import orjson

from indextables.avro.binary import (
    AvroError,
    Read,
    array_of,
    map_of,
    read_bytes,
    read_long,
    read_string,
    read_string_map,
    truncated,
)

Schema: TypeAlias = dict[str, Any]
Steps: TypeAlias = list[tuple[int, Read[Any]]]
"""How to read a record: for each field of the writer, its position in the class, and the function that reads it."""

_DEEPEST: Final = 32
"""The schemas of this package's users nest six deep."""

_LONGEST_TEXT: Final = 1 << 20
"""Theirs have up to 5,000 characters."""

_FIXED: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_COMPATIBLE: Final[dict[str, tuple[Read[Any], frozenset[str]]]] = {
    "string": (read_string, frozenset({"string", "bytes"})),
    "bytes": (read_bytes, frozenset({"string", "bytes"})),
    "long": (read_long, frozenset({"int", "long"})),
    "int": (read_long, frozenset({"int", "long"})),
}


@dataclass(frozen=True)
class RecordClasses:
    """What a reader makes of records.

    `types` has a dataclass for each record of the reader's schema, and `constructors` the functions that are called in
    the place of some. `shorthands` has, for a record that older writers wrote as a value of another type, that type and
    a function that takes its value. `fast_records` and `fast_arrays` are readers that replace compiled ones: of records
    with exactly these steps, and of arrays whose items have a certain reader.
    """

    types: Mapping[str, type]
    constructors: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    shorthands: Mapping[str, tuple[Schema, Callable[[Any], Any]]] = field(default_factory=dict)
    fast_records: Mapping[str, tuple[Steps, Read[Any]]] = field(default_factory=dict)
    fast_arrays: Mapping[Read[Any], Read[Any]] = field(default_factory=dict)


def parse_schema(text: str) -> object:
    """Parse the JSON of a schema. AvroError for what is not JSON or too long."""
    if len(text) > _LONGEST_TEXT:
        raise _refusal(f"has {len(text):,} characters")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as reason:
        raise _refusal(f"is not JSON ({reason})") from reason


def parse_record_schema(text: str) -> Schema:
    """Parse and check the schema of a record. AvroError for any other."""
    document = parse_schema(text)
    if not isinstance(document, dict) or document.get("type") != "record":
        raise _refusal("is not that of a record")
    Resolution(RecordClasses({})).compile(document)
    return document


@dataclass(frozen=True, slots=True)
class Compiled:
    """A type as a function that reads its values, whether each takes at least a byte, and how deep the type nests."""

    read: Read[Any]
    takes_bytes: bool = True
    height: int = 1


class Resolution:
    """The compilation of one writer's schema; `fields` gets the names of the fields that its records have."""

    def __init__(self, classes: RecordClasses) -> None:
        self.fields: dict[str, frozenset[str]] = {}
        self._classes = classes
        self._named: dict[str, Schema] = {}
        self._compiled: dict[tuple[int, int], Compiled] = {}
        self._open: set[tuple[int, int]] = set()

    def compile(
        self, written: object, ours: str | Schema | None = None, where: str = "", depth: int = 0
    ) -> Compiled:
        """Compile a type of the writer; `ours` is the reader's type, or None for values to skip."""
        plain = self._plain(written)
        if depth > _DEEPEST:
            raise _refusal(f"nests more than {_DEEPEST} types")
        if isinstance(plain, str):
            return _SKIP[plain] if ours is None else _primitive(plain, ours, where)
        # A pair of types is compiled once, however often a hostile schema repeats a name.
        pair = (id(plain), id(ours))
        if pair in self._open:
            raise _refusal("has a type that contains itself")
        if pair not in self._compiled:
            self._open.add(pair)
            try:
                self._compiled[pair] = self._compile(plain, ours, where, depth + 1)
            finally:
                self._open.discard(pair)
        compiled = self._compiled[pair]
        if depth + compiled.height > _DEEPEST:
            raise _refusal(f"nests more than {_DEEPEST} types")
        return compiled

    def _plain(self, node: object) -> str | Schema | list[Any]:
        """Return a type without its layers: a primitive's name, a complex type, or the branches of a union."""
        while not isinstance(node, list):
            if isinstance(node, str):
                if node in _SKIP:
                    return node
                named = self._named.get(node.rpartition(".")[2])
                if named is None:
                    raise _refusal(f"names a type that it does not define: {node!r}")
                return named
            if not isinstance(node, dict) or "type" not in node:
                # A plain repr of what is nested deeply ends with a RecursionError.
                raise _refusal(f"has no type where one has to be, but {reprlib.repr(node):.100}")
            kind = node["type"]
            if kind in ("array", "map"):
                return node
            if isinstance(kind, str) and kind in _NAMED:
                self._named[str(node.get("name")).rpartition(".")[2]] = node
                return node
            node = kind
        return node

    def _compile(
        self, plain: Schema | list[Any], ours: str | Schema | None, where: str, depth: int
    ) -> Compiled:
        if isinstance(plain, list):
            return _union([self._branch(branch, ours, where, depth) for branch in plain])
        if isinstance(ours, str):
            raise _misfit(plain, ours, where)
        kind = plain["type"]
        if ours is not None and kind != ours["type"]:
            if kind != "array" or ours.get("name") not in self._classes.shorthands:
                raise _misfit(plain, ours, where)
            shorthand, construct = self._classes.shorthands[ours["name"]]
            return _convert(self._compile(plain, shorthand, where, depth), construct)
        match kind:
            case "array":
                items = self.compile(plain.get("items"), ours and ours["items"], where, depth)
                if not items.takes_bytes:
                    raise _refusal("has an array of items that take no bytes")
                read = self._classes.fast_arrays.get(items.read) or array_of(items.read)
                return Compiled(read, height=items.height + 1)
            case "map":
                values = self.compile(plain.get("values"), ours and ours["values"], where, depth)
                read = read_string_map if values.read is read_string else map_of(values.read)
                return Compiled(read, height=values.height + 1)
            case "enum":
                return Compiled(read_long)
            case "fixed":
                size = plain.get("size")
                if not isinstance(size, int) or size < 0:
                    raise _refusal(f"has a fixed type of size {size!r:.100}")
                return _skip_fixed(size)
        if ours is None:
            return _skip_record([self.compile(type_, depth=depth) for _, type_ in _fields_of(plain)])
        return self._record(plain, ours, depth)

    def _branch(self, written: object, ours: str | Schema | None, where: str, depth: int) -> Compiled:
        """Compile a branch of a union. It may be of another type, as long as no value chooses it."""
        if ours is None:
            return self.compile(written, depth=depth)
        if isinstance(written, list):
            raise _refusal("has a union in a union")
        try:
            return self.compile(written, ours, where, depth)
        except AvroError as reason:
            message = str(reason)

            def refuse(_raw: bytes, at: int) -> tuple[Any, int]:
                raise AvroError(f"{message}, and a value before byte {at} is of that type")

            return Compiled(refuse)

    def _record(self, written: Schema, ours: Schema, depth: int) -> Compiled:
        name = ours["name"]
        our_types = {member["name"]: member["type"] for member in ours["fields"]}
        slots = {member.name: slot for slot, member in enumerate(fields(self._classes.types[name]))}
        parts: list[Compiled] = []
        steps: Steps = []
        for member, type_ in _fields_of(written):
            part = self.compile(type_, our_types.get(member), f"{name}.{member}", depth)
            parts.append(part)
            steps.append((slots[member] if member in our_types else len(slots), part.read))
        self.fields[name] = frozenset(member for member, _ in _fields_of(written))
        for member in ours["fields"]:
            if member["name"] not in self.fields[name] and "default" not in member:
                raise _refusal(f"has no field {name}.{member['name']}")
        takes_bytes = any(part.takes_bytes for part in parts)
        return Compiled(self._record_reader(name, steps), takes_bytes, _height(parts))

    def _record_reader(self, name: str, steps: Steps) -> Read[Any]:
        """Return a reader that reads the fields in the writer's order and passes them in the order of the class."""
        fast_steps, fast = self._classes.fast_records.get(name, (None, None))
        if fast is not None and steps == fast_steps:
            return fast
        members = fields(self._classes.types[name])
        construct = self._classes.constructors.get(name, self._classes.types[name])
        read_slots = {slot for slot, _ in steps}
        defaults = [None if member.default is MISSING else member.default for member in members] + [None]
        fresh = [slot for slot, m in enumerate(members) if m.default is MISSING and slot not in read_slots]

        def read_record(raw: bytes, at: int) -> tuple[Any, int]:
            values = defaults.copy()
            for slot in fresh:
                values[slot] = {}
            for slot, read in steps:  # that of a skipped field is the last
                values[slot], at = read(raw, at)
            values.pop()
            return construct(*values), at

        return read_record


def _primitive(written: str, ours: str | Schema, where: str) -> Compiled:
    read, compatible = _COMPATIBLE[ours] if isinstance(ours, str) else (read_bytes, frozenset[str]())
    if written not in compatible:
        raise _misfit(written, ours, where)
    return Compiled(read)


def _fields_of(record: Schema) -> list[tuple[str, object]]:
    """Return the names and types of a record's fields."""
    members = record.get("fields")
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise _refusal(f"has a record without fields: {record.get('name')!r:.100}")
    names = [member.get("name") for member in members]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise _refusal(f"has a record with nameless or repeated fields: {record.get('name')!r:.100}")
    return [(member["name"], member.get("type")) for member in members]


def _union(branches: list[Compiled]) -> Compiled:
    reads = [branch.read for branch in branches]

    def read_union(raw: bytes, at: int) -> tuple[Any, int]:
        branch, start = read_long(raw, at)
        if not 0 <= branch < len(reads):
            raise AvroError(f"a value chooses type {branch} of {len(reads)} at byte {at}")
        return reads[branch](raw, start)

    return Compiled(read_union, height=_height(branches))


def _convert(compiled: Compiled, construct: Callable[[Any], Any]) -> Compiled:
    def read_converted(raw: bytes, at: int) -> tuple[Any, int]:
        value, at = compiled.read(raw, at)
        return construct(value), at

    return Compiled(read_converted, compiled.takes_bytes, compiled.height)


def _skip_record(parts: list[Compiled]) -> Compiled:
    # Fields that take no bytes are not visited: with named types, a short schema can have billions of them.
    reads = [part.read for part in parts if part.takes_bytes]

    def skip_record(raw: bytes, at: int) -> tuple[None, int]:
        for read in reads:
            _, at = read(raw, at)
        return None, at

    return Compiled(skip_record, bool(reads), _height(parts))


def _skip_fixed(size: int) -> Compiled:
    def skip_fixed(raw: bytes, at: int) -> tuple[None, int]:
        if size > len(raw) - at:
            raise truncated(raw, at)
        return None, at + size

    return Compiled(skip_fixed, size > 0)


_SKIP: Final = {
    "int": Compiled(read_long),
    "long": Compiled(read_long),
    "string": Compiled(read_bytes),
    "bytes": Compiled(read_bytes),
    **{name: _skip_fixed(size) for name, size in _FIXED.items()},
}
"""How to skip values of the primitive types."""


def _height(parts: list[Compiled]) -> int:
    return 1 + max((part.height for part in parts), default=0)


def _misfit(written: object, ours: str | Schema, where: str) -> AvroError:
    kind = ours if isinstance(ours, str) else ours["type"]
    return _refusal(f"has no {kind} at {where}, but {written!r:.100}")


def _refusal(why: str) -> AvroError:
    return AvroError(f"the schema {why}")
