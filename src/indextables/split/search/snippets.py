"""Fragments of text with the words that matched in <b>, as HTML."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import tantivy

from indextables.predicates import TextQuery
from indextables.split.index import IndexFields, engine_call, engine_errors
from indextables.split.search.index_search import IndexSearch


class Highlighter:
    """Finds, for a row, the first text column in which the queries highlight something."""

    def __init__(
        self, search: IndexSearch, queries: list[TextQuery], column: str | None, max_chars: int
    ) -> None:
        touched = [
            field for query in queries for field in search.bound(query).columns if field.kind == "text"
        ]
        chosen = [field for field in touched if column is None or field.name.lower() == column.lower()]
        merged = search.any_of(queries)
        fields = IndexFields(search.mapping)
        self._generators: dict[str, tuple[str, tantivy.SnippetGenerator]] = {}
        self._bundle = search.bundle
        for field in dict.fromkeys(chosen):
            name = fields.of(field).name
            with engine_errors(self._bundle):
                generator = tantivy.SnippetGenerator.create(search.searcher, merged, search.schema, name)
                generator.set_max_num_chars(max_chars)
            self._generators[field.name] = (name, generator)

    @property
    def columns(self) -> list[str]:
        return list(self._generators)

    @engine_call
    def snippets(self, columns: Mapping[str, pa.Array], rows: int) -> list[str | None]:
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
