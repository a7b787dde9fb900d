"""Rows like a text or like another row: a search for the words that set the text apart.

A word counts by how often the text has it, and by how few rows of the table do: tf-idf with the statistics of all
splits, as a search ranks with them. The best words become a query in the query language.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import InputError
from indextables.predicates import TRUE, Predicate
from indextables.schema import MappedField
from indextables.split import clause_text, placed_words, tokens
from indextables.table.arguments import parse_condition, to_columns, to_count, to_names
from indextables.table.scans import OpenReaders, ScanRequest, SplitLeases, plan_scan

if TYPE_CHECKING:
    from indextables.split import Snippet
    from indextables.table.handle import TableSearches

MAX_WORDS: Final = 25
"""The words of a query, as in other search engines."""

_MAX_CHARS: Final = 1_000_000
_MAX_CONSIDERED: Final = 5000
"""Of a longer text, only the words that it has most often are looked up."""

_MAX_WORD_CHARS: Final = 200


@dataclass(frozen=True)
class _Word:
    """A word of the index, how the text writes it, and how often it has it."""

    column: MappedField
    word: str
    written: str
    frequency: int


@dataclass(frozen=True)
class Example:
    """A text or a row that others should be like. `values` is the row itself, which is no answer; None for a text."""

    texts: dict[str, list[str]]
    values: dict[str, Any] | None


def more_like(
    table: TableSearches,
    like: str | Mapping[str, Any],
    *,
    on: Sequence[str] | None,
    limit: int | None,
    columns: Sequence[str] | None,
    where: str | None,
    snippet: str | Snippet | None,
) -> pa.Table:
    """Return the rows that are most like a text or a row. See `Table.more_like`."""
    checked, count = _check(table, like, on), to_count(limit, "limit", "rows")
    output = to_columns(columns, table.snapshot.schema)
    query = like_query(table, checked, parse_condition(None, where, table.snapshot.schema, table.settings))
    if query is None:
        empty = table.search("*", limit=0, columns=output, where=where, snippet=snippet)
        return empty.replace_schema_metadata(None)
    if checked.values is None:
        return table.search(query, limit=count, columns=output, where=where, snippet=snippet)
    names = list(dict.fromkeys([*output, *checked.values]))
    pages: list[pa.Table] = []
    num_rows, size, after = 0, None if count is None else count + 1, None
    while True:
        page = table.search(query, limit=size, after=after, columns=names, where=where, snippet=snippet)
        others = page.filter(pa.array(_differs(page, checked.values), pa.bool_()))
        pages.append(others)
        num_rows += others.num_rows
        if size is None or count is None or page.num_rows < size or num_rows >= count:
            break
        size, after = 2 * size, page
    rows = pa.concat_tables([page.replace_schema_metadata(None) for page in pages]).slice(0, count)
    return rows.select([name for name in rows.column_names if name in output or name not in names])


def like_query(table: TableSearches, like: Example, predicate: Predicate = TRUE) -> str | None:
    """Return the query for the words that set a text apart; None if no row of the table has one of its words."""
    words = _words(table, like)
    documents, frequencies = _statistics(table, words, predicate)

    def weight(word: _Word) -> float:
        rows = frequencies[word.column.name, word.word]
        return word.frequency * math.log1p((documents - rows + 0.5) / (rows + 0.5))

    # A word of the row that no other row has finds nothing else: it comes last.
    least = 1 if like.values is None else 2
    present = [word for word in words if frequencies[word.column.name, word.word]]
    present.sort(
        key=lambda word: (
            frequencies[word.column.name, word.word] < least, -weight(word), word.column.name, word.word
        )
    )  # fmt: skip
    return " OR ".join(clause_text(word.column.name, word.written) for word in present[:MAX_WORDS]) or None


def _check(table: TableSearches, like: str | Mapping[str, Any], on: Sequence[str] | None) -> Example:
    mapping, schema = table.snapshot.mapping, table.snapshot.schema
    usable = [field for field in mapping.fields if field.kind in ("text", "string")]
    if on is None:
        columns = [field.name for field in usable if field.kind == "text"]
    else:
        columns = [schema.field(name).name for name in to_names(on, "on")]
        for name in columns:
            if all(field.name != name for field in usable):
                raise InputError(f"on has {name!r}, which is indexed neither as text nor as a string")
    if isinstance(like, str):
        if not columns:
            raise InputError(f"{table.uri} has no text column; name string columns with on")
        return Example({name: [like] for name in columns}, None)
    if not isinstance(like, Mapping) or not all(isinstance(name, str) for name in like):
        raise InputError(f"like is a {type(like).__name__}; it takes a text, or a row as a dictionary")
    values: dict[str, Any] = {}
    for name, value in like.items():
        if not name.startswith("_") or name in schema.names:
            field = schema.field(name)
            try:
                values[field.name] = pa.scalar(value, field.arrow_type).as_py()
            except (pa.ArrowException, ValueError, TypeError, OverflowError) as reason:
                raise InputError(
                    f"like has {value!r:.100} as {field.name!r}, a {field.type}: {reason}"
                ) from None
    texts = {name: _texts(values[name]) for name in columns if values.get(name) is not None}
    if not any(name in values for name in columns):
        raise InputError(
            f"like has none of the columns {', '.join(map(repr, columns))}; name columns that it has with on"
        )
    return Example(texts, values)


def _texts(value: Any) -> list[str]:
    return [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]


def _words(table: TableSearches, like: Example) -> list[_Word]:
    """Return the words of the texts that a query can name, those that they have most often first."""
    words: list[_Word] = []
    for name, texts in like.texts.items():
        column = table.snapshot.mapping.get(name)
        if column is not None:
            words += _words_of(column, [text.encode("utf-8", "replace").decode() for text in texts])
    words.sort(key=lambda word: -word.frequency)
    return words[:_MAX_CONSIDERED]


def _words_of(column: MappedField, texts: Sequence[str]) -> list[_Word]:
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    left = _MAX_CHARS
    for text in texts:
        if column.kind == "string":
            counts[text] += 1
            written[text] = text
            continue
        for word in placed_words(text[:left], column.tokenizer):
            counts[word.word] += 1
            written.setdefault(word.word, text[word.start : word.end])
        left = max(0, left - len(text))
    return [
        _Word(column, word, written[word], count)
        for word, count in counts.items()
        if len(written[word]) <= _MAX_WORD_CHARS and _is_same(written[word], word, column)
    ]


def _is_same(written: str, word: str, column: MappedField) -> bool:
    """Return True if a query for the word, as the text writes it, looks for exactly this word."""
    if any(character < " " or character == "\x7f" for character in written):
        return False  # the query language has no control characters
    return column.kind == "string" or [found for _, found in tokens(written, column.tokenizer)] == [word]


def _statistics(
    table: TableSearches, words: Sequence[_Word], predicate: Predicate
) -> tuple[int, dict[tuple[str, str], int]]:
    """Return the number of rows of the splits that are searched, and of those that have each word."""
    frequencies: dict[tuple[str, str], int] = {(word.column.name, word.word): 0 for word in words}
    plan = plan_scan(table.uri, table.snapshot, ScanRequest((), predicate), table.settings)
    first, documents = plan.tasks[0], 0
    with ExitStack() as stack:
        most = Settings(first.options).get(keys.MAX_OPEN_SPLITS)
        readers = OpenReaders(SplitLeases(first), most, stack)
        for ref in [ref for task in plan.tasks for ref in task.splits]:
            with readers.use(ref) as reader:
                documents += reader.num_rows
                for word, count in reader.frequencies(frequencies).items():
                    frequencies[word] += count
    return documents, frequencies


def _differs(page: pa.Table, row: Mapping[str, Any]) -> list[bool]:
    """Return for each row of a page whether it differs from a row in one of its columns."""

    def is_nan(value: Any) -> bool:
        return isinstance(value, float) and math.isnan(value)

    different = [False] * page.num_rows
    for name, value in row.items():
        for at, other in enumerate(page.column(name).to_pylist()):
            different[at] = different[at] or not (other == value or (is_nan(other) and is_nan(value)))
    return different
