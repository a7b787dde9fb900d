"""Writes docs/api.md from the signatures and docstrings of the public API; `--check` only compares it."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import indextables
from indextables import columns, maintenance, spark
from indextables.spark import functions

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "api.md"

HEAD: Final = """\
# Python API

<!-- Written by tools/api_page.py from signatures and docstrings: change them, then run `make docs`. -->

Every name of the first section is imported from `indextables`. Each example runs as a test. Parameters after `*` are
given by name. `settings` takes a dictionary of [settings](configuration.md). An argument of a wrong type and an unknown
column are an `InputError`.
"""

SEARCHES: Final = ("Snippet", "page_token", "score_text")
"""What `Table.search` takes, and what is done with its answer."""

PROCESS: Final = ("environment", "storage_stats", "data_skipping_stats", "disk_cache_stats", "flush_caches")
"""Functions about this process and its caches."""

RESULTS: Final = (
    "RowChange",
    "ColumnStats",
    "Hits",
    "SearchPlan",
    "Merged",
    "Purged",
    "Truncated",
    "CleanedVersions",
    "StateDescription",
    "CacheFigures",
    "Prewarmed",
    "FlushedCaches",
)
"""What methods of a table return about an operation."""

LOG: Final = ("Snapshot", "Metadata", "Protocol", "AddFile", "RemoveFile")
"""What the log records about a table."""

COLUMNS_FIRST: Final = ("open", "write", "Dataset", "Reader", "Writer", "Transaction", "Manifest")
"""The names of `indextables.columns` with which a reader of the page should begin."""


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *_tables(), *_spark(), *_columns()]).rstrip() + "\n"


def _tables() -> Iterator[str]:
    yield "## indextables\n"
    for name in ("open", "write", "Table", "ChangeSet"):
        yield from _entry(indextables, name)
    yield "## Searches\n"
    for name in SEARCHES:
        yield from _entry(indextables, name)
    yield "## This process\n"
    for name in PROCESS:
        yield from _entry(indextables, name)
    yield "## Results of operations\n"
    for name in RESULTS:
        yield from _entry(indextables, name)
    yield "## What the log records\n"
    for name in LOG:
        yield from _entry(indextables, name)
    yield "## Settings\n"
    yield from _entry(indextables, "Settings")
    yield "## Errors\n"
    yield "| error | kind | meaning |\n|---|---|---|"
    yield from _errors(indextables.IndexTablesError, 0)
    yield "\n## indextables.maintenance\n"
    yield from _entry(maintenance, "repair")
    yield from _entry(maintenance, "Repaired")


def _spark() -> Iterator[str]:
    yield "## indextables.spark\n"
    for name in spark.__all__:
        yield from _entry(spark, name)
    yield "## indextables.spark.functions\n"
    yield f"{inspect.getdoc(functions)} Examples are in [docs/spark.md](spark.md#searches-in-the-dataframe-api).\n"
    for name in functions.__all__:
        yield from _entry(functions, name)


def _columns() -> Iterator[str]:
    yield "## indextables.columns\n"
    yield f"{inspect.getdoc(columns)}\n"
    names = [*COLUMNS_FIRST, *(name for name in columns.__all__ if name not in COLUMNS_FIRST)]
    for name in names:
        if name != "open_dataset":  # the name of `columns.open` for `import *`
            yield from _entry(columns, name)


def _errors(error: type[indextables.IndexTablesError], depth: int) -> Iterator[str]:
    meaning = (inspect.getdoc(error) or "").split("\n\n", maxsplit=1)[0].replace("\n", " ")
    yield f"| {'&nbsp;&nbsp;' * depth}`{error.__name__}` | `{error.kind}` | {meaning} |"
    for child in error.__subclasses__():
        if child.__bases__[0] is error:
            yield from _errors(child, depth + 1)


def _entry(package: ModuleType, name: str) -> Iterator[str]:
    value = getattr(package, name)
    qualified = f"{package.__name__}.{name}"
    if inspect.isclass(value):
        yield f"### {qualified}\n"
        yield from _class(value, name)
    elif inspect.isfunction(value):
        yield f"### {qualified}\n"
        yield from _function(value, name)
    else:
        yield f"### {qualified}\n"
        yield f"`{value!r}`\n"


def _class(kind: type, name: str) -> Iterator[str]:
    if dataclasses.is_dataclass(kind):
        fields = [field for field in dataclasses.fields(kind) if not field.name.startswith("_")]
        yield _code(f"class {name}:", [f"{field.name}: {_annotation(field.type)}" for field in fields])
    yield from _doc(kind)
    if issubclass(kind, enum.Enum):
        yield "\n".join(f"- `{member.name}`" for member in kind) + "\n"
    members = _members(kind)
    properties = [(key, value) for key, value in members if isinstance(value, property | cached_property)]
    if properties:
        yield "| property | type | meaning |\n|---|---|---|"
        for key, value in properties:
            getter: Any = value.fget if isinstance(value, property) else value.func
            meaning = (inspect.getdoc(value) or "").split("\n\n", maxsplit=1)[0].replace("\n", " ")
            returned = _annotation(inspect.signature(getter).return_annotation).replace("|", "\\|")
            yield f"| `{key}` | `{returned}` | {meaning} |"
        yield ""
    for key, value in members:
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(function):
            yield f"#### {name}.{key}\n"
            yield from _function(function, key)


def _members(kind: type) -> list[tuple[str, Any]]:
    """Return the public members that the class defines, then those of the classes of this package above it."""
    members: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("indextables"):
            own = {name: value for name, value in vars(base).items() if not name.startswith("_")}
            members |= {name: value for name, value in own.items() if name not in members}
    return list(members.items())


def _function(function: Callable[..., Any], name: str) -> Iterator[str]:
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name not in {"self", "cls"}]
    yield _code(f"{name}()", list(_parameters(parameters)), _annotation(signature.return_annotation))
    yield from _doc(function)


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    is_keyword_only = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_keyword_only = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            yield "*"
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else stars
        text = f"{stars}{parameter.name}: {_annotation(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            text += f" = {_default(parameter.default)}"
        yield text


def _code(head: str, parts: list[str], returned: str | None = None) -> str:
    """Lay out a signature or the fields of a class: on one line if it fits, else one line for each part.

    >>> print(_code("count()", ["query: str"], "int"))
    ```text
    count(query: str) -> int
    ```
    <BLANKLINE>
    """
    if returned is None:
        lines = [head, *(f"    {part}" for part in parts)]
    else:
        opening, arrow = head.removesuffix(")"), f") -> {returned}"
        one_line = f"{opening}{', '.join(parts)}{arrow}"
        several = [opening, *(f"    {part}," for part in parts), arrow]
        lines = [one_line] if len(one_line) <= 100 else several
    return "\n".join(["```text", *lines, "```", ""])


def _annotation(annotation: object) -> str:
    if annotation is inspect.Signature.empty:
        return "None"
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(value: object) -> str:
    if isinstance(value, enum.Enum):
        return str(value)
    return getattr(value, "__name__", None) or repr(value)


def _doc(value: object) -> Iterator[str]:
    """Yield a docstring as Markdown, its examples as blocks of code."""
    text = inspect.getdoc(value)
    if text is None or (inspect.isclass(value) and text.startswith(f"{value.__name__}(")):
        return  # a dataclass without a docstring has its signature there
    for block in text.split("\n\n"):
        if block.startswith((">>>", "...")):
            yield f"```pycon\n{block}\n```\n"
        else:
            yield f"{block}\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(None if PAGE.read_text() == page() else "docs/api.md is out of date: run `make docs`")
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
