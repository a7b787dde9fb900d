"""Snippets: HTML fragments of text with the matching words in <b>."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import tantivy

from indextables.predicates import TextQuery
from indextables.split.index import engine_call, engine_errors
from indextables.split.search.index_search import IndexSearch


class Highlighter:
    """Makes the snippet of a row from the first text column in which a word matches.

    `column` restricts it to one column; `max_chars` is the length of a snippet.
    """

    def __init__(
        self, search: IndexSearch, queries: list[TextQuery], column: str | None, max_chars: int
    ) -> None:
        text_columns = [
            field
            for query in queries
            for field in search.bound(query).columns
            if (field.kind, field.spark_type, field.root) == ("text", "string", None)
        ]
        columns = [field for field in text_columns if column is None or field.name.lower() == column.lower()]
        merged = search.any_of(queries)
        self._generators: dict[str, tuple[str, tantivy.SnippetGenerator]] = {}
        self._bundle = search.bundle
        for field in dict.fromkeys(columns):
            stored = search.fields.get(field)
            if stored is None:
                continue  # a column that was added later, whose words match nothing here
            name = stored.name
            with engine_errors(self._bundle):
                generator = tantivy.SnippetGenerator.create(search.searcher, merged, search.schema, name)
                generator.set_max_num_chars(max_chars)
            self._generators[field.name] = (name, generator)

    @property
    def columns(self) -> list[str]:
        """The columns that snippets are made from, in this order."""
        return list(self._generators)

    @engine_call
    def snippets(self, columns: Mapping[str, pa.Array], rows: int) -> list[str | None]:
        """Return the snippet of each row, or None where no word matches."""
        if not self._generators:
            return [None] * rows
        texts = [columns[name].to_pylist() for name in self._generators]
        generators = list(self._generators.values())
        return [_snippet(row, generators) for row in zip(*texts, strict=True)]


def _snippet(
    row: tuple[str | None, ...], generators: list[tuple[str, tantivy.SnippetGenerator]]
) -> str | None:
    for text, (name, generator) in zip(row, generators, strict=True):
        if text:
            document = tantivy.Document()
            document.add_text(name, text)
            snippet = generator.snippet_from_doc(document)
            if snippet.highlighted():
                return str(snippet.to_html())
    return None
