"""Actions to JSON objects and back, by one table that is derived from their dataclasses.

Reading is tolerant where the meaning of a value is clear: a number where a map should hold text is taken as its text,
null as absent, and an impossible figure (such as a negative number of records) as unknown. It is strict where a guess
could hide data: a field of the wrong type raises an error that names the field.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import orjson

from indextables.log.actions.model import (
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    UnknownAction,
)
from indextables.stats import MAX_LONG, is_count, is_moment


class FieldError(ValueError):
    """An action is invalid. The codec adds the file and the line."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise FieldError("is not a string")
    return value


def _is_long(value: int) -> bool:
    return -MAX_LONG - 1 <= value <= MAX_LONG


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise FieldError("is not a whole number")
    if not _is_long(value):
        raise FieldError("does not fit into 64 bits")
    return value


@dataclasses.dataclass(frozen=True)
class _figure:  # noqa: N801 - a reader, as the functions around it
    """Reads a number that describes a file. An impossible number is read as `unknown`.

    The possible numbers are those between two bounds.
    """

    is_possible: Callable[[int], bool]
    unknown: int | None = None

    def __call__(self, value: Any) -> int | None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise FieldError("is not a whole number")
        return value if self.is_possible(value) else self.unknown


def _moment(value: Any) -> int:
    if not is_moment(_whole(value)):
        raise FieldError("is not a time")
    return int(value)


_COUNT: Final = _figure(is_count)
_MOMENT: Final = _figure(is_moment)
_PLACE: Final = _figure(lambda value: 0 <= value <= MAX_LONG)
_SMALL: Final = _figure(lambda value: -(1 << 31) <= value < 1 << 31)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise FieldError("is not true or false")
    return value


def _text_map(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise FieldError("is not an object")
    return {key: _as_text(item) for key, item in value.items() if item is not None}


def _number_map(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise FieldError("is not an object")
    return {key: _whole(item) for key, item in value.items() if item is not None}


def _json_map(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FieldError("is not an object")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise FieldError("is not a list")
    return tuple(_text(item) for item in value)


def _text_set(value: Any) -> frozenset[str]:
    return frozenset(_texts(value))


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as reason:  # orjson reads deeper nesting than it writes
        raise FieldError(f"cannot be kept as text ({reason})") from None


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "str": _text,
    "int": _whole,
    "bool": _truth,
    "Mapping[str, str]": _text_map,
    "Mapping[str, int]": _number_map,
    "Extra": _json_map,
    "tuple[str, ...]": _texts,
    "frozenset[str]": _text_set,
}


@dataclasses.dataclass(frozen=True)
class _Shape:
    """The JSON form of one action: JSON name -> (attribute, reader), and the fields that must be present.

    `lenient`: a field of the wrong type is kept in `extra` instead of refused.
    """

    kind: type[Any]
    fields: Mapping[str, tuple[str, Callable[[Any], Any]]]
    required: frozenset[str]
    lenient: bool = False


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _shape(kind: type[Any], *, lenient: bool = False, **readers: Callable[[Any], Any]) -> _Shape:
    declared = [f for f in dataclasses.fields(kind) if f.name != "extra"]
    fields = {
        _camel(f.name): (f.name, readers.get(f.name) or _READERS[str(f.type).removesuffix(" | None")])
        for f in declared
    }
    required = frozenset(
        _camel(f.name)
        for f in declared
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    )
    return _Shape(kind, fields, required, lenient)


_SHAPES: Final[dict[str, _Shape]] = {
    "protocol": _shape(Protocol),
    "metaData": _shape(Metadata, created_time=_MOMENT),
    # One writer stores Quickwit's time range as text, another as a number.
    "add": _shape(
        AddFile,
        time_range_start=_as_text,
        time_range_end=_as_text,
        num_records=_COUNT,
        modification_time=_figure(is_moment, 0),
        footer_start_offset=_PLACE,
        footer_end_offset=_PLACE,
        delete_opstamp=_PLACE,
        num_merge_ops=_SMALL,
        uncompressed_size_bytes=_PLACE,
        companion_delta_version=_PLACE,
        hotcache_start_offset=_PLACE,
        hotcache_length=_PLACE,
        num_deleted=_COUNT,
        added_at_version=_PLACE,
        added_at_timestamp=_MOMENT,
    ),
    "remove": _shape(RemoveFile, deletion_timestamp=_MOMENT, size=_PLACE, num_deleted=_COUNT),
    "mergeskip": _shape(
        SkipFile,
        skip_timestamp=_figure(is_moment, 0),
        retry_after=_MOMENT,
        size=_PLACE,
        skip_count=_figure(lambda value: 0 <= value < 1 << 31, 1),
    ),
    # No row depends on the commit's description, so a field of the wrong type must not make the table unreadable.
    "commitInfo": _shape(CommitInfo, lenient=True, timestamp=_moment),
    "txn": _shape(Txn),
}
ADD_FIELDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    name: read for name, (_, read) in _SHAPES["add"].fields.items()
}
"""The fields of an add and how a value of each is read."""

_SHAPES_READ: Final = _SHAPES | {"skip": _SHAPES["mergeskip"]}
_PLAIN: Final = frozenset({str, int, bool, float, dict})
"""Types that orjson writes directly. Checked first: an isinstance check for Mapping dominates large commits."""

_NULL: Final = type(None)
_ONLY_TEXT: Final[set[type]] = {str}
_READERS_OF_TYPE: Final[Mapping[type, tuple[Callable[[Any], Any], ...]]] = {
    str: (_text, _as_text),
    bool: (_truth,),
    int: (_whole,),
    dict: (_text_map,),
    list: (_texts,),
}
_NAMES: Final = {shape.kind: name for name, shape in _SHAPES.items()}


def to_document(action: Action) -> dict[str, Any]:
    """Return the JSON object of one line: the action's name and its body, without nulls."""
    if isinstance(action, UnknownAction):
        return {action.name: action.body}
    name = _NAMES[type(action)]
    body = dict(action.extra)
    for json_name, (attribute, _) in _SHAPES[name].fields.items():
        value = getattr(action, attribute)
        if value is None:
            continue
        if type(value) not in _PLAIN:
            if isinstance(value, frozenset):
                value = sorted(value)
            elif isinstance(value, Mapping):
                value = dict(value)
        body[json_name] = value
    return {name: body}


def from_document(document: Any) -> list[Action]:
    """Return the actions of one line, which normally is one. Raises FieldError if the line is invalid.

    A line with several names has an action for each, so that none is overlooked.
    """
    if not isinstance(document, dict):
        raise FieldError("the line is not a JSON object")
    actions: list[Action] = []
    for name, body in document.items():
        shape = _SHAPES_READ.get(name)
        if shape is None:
            actions.append(UnknownAction(name, body))
        elif body is not None:
            actions.append(_action(name, shape, body))
    if not actions:
        raise FieldError("the line holds no action")
    return actions


def read_column(read: Callable[[Any], Any], values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
    """Read many values of one field, which have these types; null stays null.

    Returns the same sequence if reading changes no value. Raises FieldError if `read` refuses a value.

    >>> read_column(_text_map, [{"a": 1, "b": None}, None], {dict, type(None)})
    [{'a': '1'}, None]
    """
    return (
        values
        if _is_plain(read, kinds - {_NULL}, values)
        else [None if v is None else read(v) for v in values]
    )


def _is_plain(read: Callable[[Any], Any], kinds: set[type], values: Sequence[Any]) -> bool:
    """Return True if `read` would return every value as it is."""
    if not kinds:
        return True
    if len(kinds) > 1:
        return False
    (kind,) = kinds
    if kind is list or not reads_type(read, kind):
        return False
    if kind is dict:
        return set(map(type, chain.from_iterable(map(dict.values, filter(None, values))))) <= _ONLY_TEXT
    if kind is int:
        numbers = [value for value in values if value is not None] if None in values else values
        return reads_range(read, min(numbers), max(numbers))
    return True


def reads_type(read: Callable[[Any], Any], kind: type) -> bool:
    """Return True if `read` keeps values of this JSON type, as far as their items and ranges allow.

    Items of an object or a list have to be texts, and for numbers see `reads_range`.
    """
    return read in _READERS_OF_TYPE.get(kind, ()) or (kind is int and isinstance(read, _figure))


def reads_range(read: Callable[[Any], Any], lowest: int, highest: int) -> bool:
    """Return True if `read`, which reads whole numbers, keeps all of those between two numbers."""
    is_possible = read.is_possible if isinstance(read, _figure) else _is_long
    return is_possible(lowest) and is_possible(highest)


def _action(name: str, shape: _Shape, body: Any) -> Action:
    if not isinstance(body, dict):
        raise FieldError(f"{name} is not a JSON object")
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    fields = shape.fields
    for key, value in body.items():
        field = fields.get(key)
        if field is None:
            extra[key] = value
        elif value is not None:
            attribute, read = field
            try:
                values[attribute] = read(value)
            except FieldError as reason:
                if not shape.lenient:
                    raise FieldError(f"{name}.{key} {reason}") from None
                extra[key] = value
    if shape.kind is AddFile:
        values.setdefault("partition_values", {})  # some writers omit it in unpartitioned tables
    missing = [key for key in shape.required if fields[key][0] not in values]
    if missing:
        raise FieldError(f"{name} has no {', '.join(sorted(missing))}")
    action: Action = shape.kind(**values, extra=extra)
    return action
