"""ALTER TABLE: the changes that Spark's parser makes of a statement become those of a table.

Names of columns, `SET spark.indextables.indexing.typemap.<column> = text` for one that is added, and everything that a
table cannot do are decided here; Java only passes the changes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from indextables.config import Settings, keys
from indextables.errors import InputError, SchemaError
from indextables.log import load_snapshot
from indextables.schema import TableSchema, canonical_type
from indextables.spark.request import Request, refused
from indextables.storage import open_store, table_uri
from indextables.table import Alteration, alter_table

_INDEXING: Final = (keys.TYPEMAP, keys.TOKENIZER)
_WORKS: Final = (
    "ALTER TABLE takes ADD COLUMN, RENAME COLUMN, DROP COLUMN, ALTER COLUMN ... TYPE with a wider type, and SET and "
    "UNSET TBLPROPERTIES"
)
_OTHERS: Final = {
    "UpdateColumnNullability": "every column of a table is nullable",
    "UpdateColumnComment": "comments of columns do not change",
    "UpdateColumnPosition": "the order of columns does not change: select them in the order that you want",
    "UpdateColumnDefaultValue": "a default is given when a column is added, with Table.alter(add=..., default=...)",
}


def run_alter(request: Request) -> dict[str, Any]:
    """Make the changes of one statement in one commit, and return the version."""
    settings = Settings(request.options)
    store = open_store(table_uri(request.path), settings)
    snapshot = load_snapshot(store, settings=settings)
    alteration = to_alteration(request.arguments["changes"], snapshot.schema, settings)
    return {"version": alter_table(store, snapshot, alteration, settings)}


def to_alteration(
    changes: Sequence[Mapping[str, Any]], schema: TableSchema, settings: Settings
) -> Alteration:
    """Return what the changes of a statement ask for. SchemaError or InputError if a table cannot do it.

    >>> changes = [{"change": "rename", "column": ["a"], "name": "b"}]
    >>> to_alteration(changes, TableSchema(()), Settings()).rename
    {'a': 'b'}
    """
    drop: list[str] = []
    rename: dict[str, str] = {}
    widen: dict[str, str] = {}
    add: dict[str, str] = {}
    comments: dict[str, str] = {}
    properties: dict[str, str | None] = {}
    for change in changes:
        match change:
            case {"change": "set", "name": str(name), "value": str(value)}:
                properties[name] = value
            case {"change": "unset", "name": str(name)}:
                properties[name] = None
            case {"change": "add"}:
                name, kind = _added(change)
                add[name] = kind
                if isinstance(comment := change.get("comment"), str):
                    comments[name] = comment
            case {"change": "rename", "name": str(new)}:
                rename[_column(change)] = new
            case {"change": "drop"}:
                name = _column(change)
                if schema.get(name) is not None or not change.get("if_exists"):
                    drop.append(name)
            case {"change": "widen", "type": str(kind)}:
                widen[_column(change)] = _type(kind)
            case {"change": "other", "name": str(name)}:
                raise InputError(f"{_OTHERS.get(name, f'a table has no {name}')}. {_WORKS}")
            case _:
                raise refused("a change is not one of ALTER TABLE")
    return Alteration(
        drop=drop,
        rename=rename,
        widen=widen,
        add=add,
        comments=comments,
        typemap=_indexing(add, settings),
        properties=properties,
    )


def _added(change: Mapping[str, Any]) -> tuple[str, str]:
    name = _column(change)
    if change.get("nullable") is False:
        raise SchemaError(
            f"column {name!r} cannot be NOT NULL: the rows that are there have no value of it, and every column of a "
            "table is nullable. Leave NOT NULL out"
        )
    if change.get("position") is not None:
        raise InputError(
            f"column {name!r} is added at the end; leave FIRST or AFTER out, and select columns in any order"
        )
    if change.get("default") is not None:
        raise InputError(
            f"column {name!r}: DEFAULT is not supported in SQL; give the value with Table.alter(add=..., "
            "default=...) in Python, or leave it out and fill the column"
        )
    if not isinstance(change.get("type"), str):
        raise refused("an added column has no type")
    return name, _type(change["type"])


def _column(change: Mapping[str, Any]) -> str:
    match change.get("column"):
        case [str(name)]:
            return name
        case [str(), *_] as path:
            raise SchemaError(
                f"{'.'.join(path)!r} is a field of a struct, and only whole columns can be changed; add a column for "
                "it instead"
            )
    raise refused("a change names no column")


def _type(text: str) -> str:
    try:
        return canonical_type(orjson.loads(text))
    except orjson.JSONDecodeError:
        raise refused("a type of a change is not JSON") from None


def _indexing(add: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return the settings of the session, or of the table's options, that say how the added columns are indexed."""
    names = {name.lower() for name in add}
    indexing: dict[str, str] = {}
    for family in _INDEXING:
        for name, value in settings.family(family).items():
            if name.lower() in names:
                indexing[f"{family.prefix}{name}"] = value
    return indexing
