"""Reading a manifest that was written with another schema, by Avro's rules of schema resolution.

Fields are matched by name: the order in which a version writes them does not matter, what it does not have takes
the default, and what this release does not know is skipped. (milvus-storage decodes in its own order, and fails at
the indexes of its older containers.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import cache, lru_cache
from typing import Any, Final

import orjson

from indextables.columns.binary import Read, map_of, read_bytes, read_long, read_string, read_string_map
from indextables.columns.file_lists import read_file, read_files
from indextables.columns.manifest import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)
from indextables.columns.schemas import NEWEST, Schema, inferred_version, schema
from indextables.columns.skipping import Compiled, Node, WriterTypes, fields_of, list_of, refused, union_of
from indextables.errors import CorruptTableError

_CLASSES: Final[dict[str, type]] = {
    "Manifest": Manifest,
    "ColumnGroup": ColumnGroup,
    "ColumnGroupFile": ColumnGroupFile,
    "DeltaLog": DeltaLog,
    "Statistics": Statistics,
    "Index": Index,
    "LobFileInfo": LobFile,
}
_PRIMITIVES: Final[dict[str, tuple[Read[Any], frozenset[str]]]] = {
    "string": (read_string, frozenset({"string", "bytes"})),
    "bytes": (read_bytes, frozenset({"string", "bytes"})),
    "long": (read_long, frozenset({"int", "long"})),
    "int": (read_long, frozenset({"int", "long"})),
}
_FILE_STEPS: Final = [(0, read_string), (1, read_long), (2, read_long), (4, read_string_map)]
_LONGEST_TEXT: Final = 1 << 20
"""The newest has 2,433 characters. Readers are kept for the next file with the same text."""

_STRINGS: Final[Schema] = {"type": "array", "items": "string"}


@dataclass(frozen=True)
class ManifestReader:
    """Reads the manifests of one schema. `version` is what the schema looks like."""

    version: int
    read: Read[Manifest]


@cache
def stream_reader(version: int) -> Read[Manifest]:
    """The reader for what follows the header of a stream of this version."""
    return _compiled(schema(version)).read


@lru_cache(maxsize=16)
def container_reader(schema_text: str) -> ManifestReader:
    """The reader for containers that have this schema in their header.

    >>> from indextables.columns.schemas import schema_text
    >>> container_reader(schema_text(4)).version
    4
    """
    if len(schema_text) > _LONGEST_TEXT:
        raise refused(f"has {len(schema_text):,} characters")
    try:
        written = orjson.loads(schema_text)
    except orjson.JSONDecodeError as reason:
        raise refused(f"is not JSON ({reason})") from reason
    try:
        return _compiled(written)
    except RecursionError:
        raise refused("nests too deeply") from None


def _compiled(written: object) -> ManifestReader:
    resolution = _Resolution()
    root = resolution.resolve(written, _known(), "Manifest")
    return ManifestReader(inferred_version(resolution.fields), root.read)


@cache
def _known() -> Schema:
    """The newest schema, and in it what only older ones have of a file."""
    newest: Schema = orjson.loads(orjson.dumps(schema(NEWEST)))
    groups = newest["fields"][0]["type"]["items"]
    files = groups["fields"][1]["type"]["items"]
    files["fields"].append({"name": "metadata", "type": "bytes", "default": ""})
    return newest


class _Resolution:
    """One schema on its way to a reader; `fields` fills with the names that its records have."""

    def __init__(self) -> None:
        self.fields: dict[str, frozenset[str]] = {}
        self._types = WriterTypes()
        self._resolved: dict[tuple[int, int], Compiled] = {}

    def resolve(self, written: object, wanted: str | Schema, where: str) -> Compiled:
        plain = self._types.plain(written)
        # A named type is resolved once for each use, however often a hostile schema repeats its name.
        pair = (id(plain), id(wanted))
        if pair not in self._resolved:
            self._resolved[pair] = self._resolve(plain, wanted, where)
        return self._resolved[pair]

    def _resolve(self, plain: Node, wanted: str | Schema, where: str) -> Compiled:
        if isinstance(plain, list):
            return union_of([self._branch(branch, wanted, where) for branch in plain])
        if isinstance(wanted, str):
            read, fitting = _PRIMITIVES[wanted]
            if not isinstance(plain, str) or plain not in fitting:
                raise _misfit(plain, wanted, where)
            return Compiled(read, True)
        if isinstance(plain, str):
            raise _misfit(plain, wanted, where)
        match wanted["type"], plain["type"]:
            case "array", "array":
                items = self.resolve(plain.get("items"), wanted["items"], where)
                return (
                    Compiled(read_files, True, items.height + 1)
                    if items.read is read_file
                    else list_of(items)
                )
            case "map", "map":
                values = self.resolve(plain.get("values"), wanted["values"], where)
                read = read_string_map if values.read is read_string else map_of(values.read)
                return Compiled(read, True, values.height + 1)
            case "record", "record":
                return self._record(plain, wanted)
            case "record", "array" if wanted["name"] == "Statistics":
                return _bare_statistics(self.resolve(plain, _STRINGS, where))
        raise _misfit(plain, wanted, where)

    def _branch(self, written: object, wanted: str | Schema, where: str) -> Compiled:
        """A branch of a union may be of another type, as long as no value chooses it."""
        if isinstance(written, list):
            raise refused("has a union in a union")
        try:
            return self.resolve(written, wanted, where)
        except CorruptTableError as reason:
            message = str(reason)

            def refuse(_raw: bytes, at: int) -> tuple[Any, int]:
                raise CorruptTableError(f"{message}, and a value before byte {at} is of that type")

            return Compiled(refuse, True)

    def _record(self, written: Schema, wanted: Schema) -> Compiled:
        name = wanted["name"]
        known = {field["name"]: field["type"] for field in wanted["fields"]}
        slots = {field.name: slot for slot, field in enumerate(fields(_CLASSES[name]))}
        unknown = len(slots)
        parts: list[Compiled] = []
        steps: list[tuple[int, Read[Any]]] = []
        for field, kind in fields_of(written):
            if field in known:
                part = self.resolve(kind, known[field], f"{name}.{field}")
                steps.append((slots[field], part.read))
            else:
                part = self._types.skip(kind, 1)
                steps.append((unknown, part.read))
            parts.append(part)
        present = frozenset(field for field, _ in fields_of(written))
        self.fields[name] = present
        for field in wanted["fields"]:
            if field["name"] not in present and "default" not in field:
                raise refused(f"has no field {name}.{field['name']}")
        height = 1 + max((part.height for part in parts), default=0)
        return Compiled(_record_reader(name, steps), any(part.takes_bytes for part in parts), height)


def _record_reader(name: str, steps: list[tuple[int, Read[Any]]]) -> Read[Any]:
    """Reads the fields in the order in which they were written into the places that the class has for them."""
    if name == "ColumnGroupFile" and steps == _FILE_STEPS:
        return read_file
    make = _maker(name)
    width = len(fields(_CLASSES[name]))
    filled = {slot for slot, _ in steps}
    absent: list[Any] = [None] * width
    fresh: list[int] = []
    for slot, field in enumerate(fields(_CLASSES[name])):
        if slot not in filled:
            if field.default is MISSING:
                fresh.append(slot)
            else:
                absent[slot] = field.default
    if width in filled:
        absent.append(None)

    def read_record(raw: bytes, at: int) -> tuple[Any, int]:
        values = absent.copy()
        for slot in fresh:
            values[slot] = {}
        for slot, read in steps:
            values[slot], at = read(raw, at)
        return make(*values[:width]), at

    def read_known_record(raw: bytes, at: int) -> tuple[Any, int]:
        values = absent.copy()
        for slot, read in steps:
            values[slot], at = read(raw, at)
        return make(*values), at

    return read_record if fresh or width in filled else read_known_record


def _maker(name: str) -> Callable[..., Any]:
    return _delta_log if name == "DeltaLog" else _CLASSES[name]


def _delta_log(path: str, num_entries: int, kind: int) -> DeltaLog:
    try:
        return DeltaLog(path, num_entries, DeltaLogType(kind))
    except ValueError:
        raise CorruptTableError(f"the manifest has a delta log of unknown type {kind} ({path!r})") from None


def _bare_statistics(paths: Compiled) -> Compiled:
    """Versions 1 and 2 of the format keep the files of a statistic, and nothing else of it."""

    def read_statistics(raw: bytes, at: int) -> tuple[Statistics, int]:
        found, at = paths.read(raw, at)
        return Statistics(found), at

    return Compiled(read_statistics, True, paths.height)


def _misfit(written: object, wanted: str | Schema, where: str) -> CorruptTableError:
    kind = wanted if isinstance(wanted, str) else wanted["type"]
    return refused(f"has no {kind} at {where}, but {written!r:.100}")
