"""Actions to JSON objects and back, by one table made from their dataclasses.

Reading is tolerant where a value's meaning is plain (a number where text is due in a map, null for absent, a figure
that cannot be true for an unknown one) and strict where guessing could hide data: a field of the wrong type is an
error that names it.
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
    """What is wrong with one action; the codec adds where."""


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
    """Read a number that is a fact about a file; where it cannot be one, it is `unknown`.

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
    """How one action is spelt: JSON name -> (attribute, reader), and what must be there."""

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
    # Quickwit's time range came as text from one writer and as a number from another.
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
    ),
    "remove": _shape(RemoveFile, deletion_timestamp=_MOMENT, size=_PLACE),
    "mergeskip": _shape(
        SkipFile,
        skip_timestamp=_figure(is_moment, 0),
        retry_after=_MOMENT,
        size=_PLACE,
        skip_count=_figure(lambda value: 0 <= value < 1 << 31, 1),
    ),
    # Nobody's rows depend on who committed: what does not fit is kept, not fatal.
    "commitInfo": _shape(CommitInfo, lenient=True, timestamp=_moment),
    "txn": _shape(Txn),
}
ADD_FIELDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    name: read for name, (_, read) in _SHAPES["add"].fields.items()
}
"""The fields of an add and how a value of each is read."""

_SHAPES_READ: Final = _SHAPES | {"skip": _SHAPES["mergeskip"]}
_PLAIN: Final = frozenset({str, int, bool, float, dict})
"""What JSON takes as it is: to ask each value whether it is a mapping is what a large commit would cost most."""

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
    """The JSON object of one line: the action's name and its body, nulls left out."""
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
    """The action of one line, or FieldError saying what is wrong with it.

    One name a line is the rule; were there more, each is an action, so that none is overlooked.
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
    """Read many values of one field, of these types; null stays null. FieldError if `read` refuses one of them.

    The same sequence is returned if every value is read as it is.

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
        known = fields.get(key)
        if known is None:
            extra[key] = value
        elif value is not None:
            attribute, read = known
            try:
                values[attribute] = read(value)
            except FieldError as reason:
                if not shape.lenient:
                    raise FieldError(f"{name}.{key} {reason}") from None
                extra[key] = value
    if shape.kind is AddFile:
        values.setdefault("partition_values", {})  # unpartitioned tables of some writers leave it out
    missing = [key for key in shape.required if fields[key][0] not in values]
    if missing:
        raise FieldError(f"{name} has no {', '.join(sorted(missing))}")
    action: Action = shape.kind(**values, extra=extra)
    return action
