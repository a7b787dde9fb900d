"""Searches of a version: ranked, by many terms, by likeness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.split import Snippet
from indextables.table.arguments import to_columns, to_names
from indextables.table.handle.rows import TableRows
from indextables.table.handle.totals import TableTotals
from indextables.table.scans import ScanRequest

if TYPE_CHECKING:
    from indextables.table.answers import Hits, SearchPlan


class TableSearches(TableRows, TableTotals):
    """The part of a handle that searches."""

    def search(
        self,
        query: str,
        *,
        limit: int | None = 10,
        offset: int = 0,
        after: str | pa.Table | None = None,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        snippet: str | Snippet | None = None,
        explain: bool = False,
    ) -> pa.Table:
        """Return the best matches, best first, with `_score`, and with `_snippet` of the column that `snippet` names.

        `query` is in the query language; words without a field are looked for in every text and string column.
        `limit=None` returns every match. `snippet` is the name of a text column, or an `indextables.Snippet` that also
        says how much of it to show, and how.

        There are two ways to the pages after the first. `offset` skips that many of the best matches. `after` goes on
        after the last row of a page: it takes the page, or the text that `indextables.page_token` returns for it, which
        any process can use with the same version, query and `where`. Equal scores always come in the same order, so
        pages of one version neither repeat nor miss a row, whatever is appended in between.

        `explain=True` adds `_explanation`: the parts of each score, whose sum by `math.fsum` is exactly the score.
        `indextables.score_text` makes text of them.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"id": range(5), "message": ["disk full"] * 5})
        >>> _ = it.write("memory://doc-pages", rows, text=["message"])
        >>> table = it.open("memory://doc-pages")
        >>> [table.search("disk", limit=2, offset=n).column("id").to_pylist() for n in (0, 2, 4)]
        [[0, 1], [2, 3], [4]]
        >>> page = table.search("disk", limit=2)
        >>> table.search("disk", limit=2, after=page).column("id").to_pylist()
        [2, 3]
        """
        from indextables.table.answers import SearchArguments, search_table

        arguments = SearchArguments(
            query,
            where,
            limit=limit,
            offset=offset,
            after=after,
            columns=columns,
            snippet=snippet,
            explain=explain,
        )
        return search_table(self, arguments)

    def search_many(
        self,
        terms: Iterable[str | None] | pa.Array | pa.ChunkedArray,
        *,
        column: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
    ) -> pa.Table:
        """Return the rows that any of many terms finds in a column, each row with each term that finds it.

        A term is text to look for, not a query: a word or phrase in a column that is indexed as text, a whole value in
        other columns. The result has the column `_term`; a row that two terms find is there twice. Rows are in no
        particular order, and have no score. Nulls and repetitions among the terms are ignored. All terms are looked up
        in one pass over the splits.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"id": [1, 2, 3], "message": ["disk full on db1", "login from db1", "all well"]})
        >>> _ = it.write("memory://doc-many", rows, text=["message"])
        >>> found = it.open("memory://doc-many").search_many(["db1", "disk full"], column="message", columns=["id"])
        >>> sorted(found.to_pylist(), key=str)
        [{'id': 1, '_term': 'db1'}, {'id': 1, '_term': 'disk full'}, {'id': 2, '_term': 'db1'}]
        """
        from indextables.table.answers import (
            TermsTask,
            check_terms,
            run_terms_task,
            terms_schema,
            to_terms,
        )

        (searched,) = to_names([column], "column")
        distinct = to_terms(terms)
        check_terms(self._snapshot, searched, distinct, self._settings)
        plan = self._plan(ScanRequest(to_columns(columns, self._snapshot.schema), self._where(where)))
        schema = terms_schema(self._snapshot.schema, plan.tasks[0].request)
        tasks = [TermsTask(task, searched, distinct) for task in plan.tasks]
        return pa.Table.from_batches(
            [batch for task in tasks for batch in run_terms_task(task)], schema=schema
        )

    def more_like(
        self,
        like: str | Mapping[str, Any],
        *,
        on: Sequence[str] | None = None,
        limit: int | None = 10,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        snippet: str | Snippet | None = None,
    ) -> pa.Table:
        """Return the rows that are most like a text, or like a row of the table, best first, with `_score`.

        They are found by the 25 words that set the text apart: those that it has often and few rows have. A row is a
        dictionary, as `search(...).to_pylist()` has them; rows with the same values in all of its columns are not
        returned. `on` names the text and string columns to compare, all text columns by default. The other arguments
        and the result are those of `search`.

        >>> import indextables as it, pyarrow as pa
        >>> texts = ["disk full on db1", "login ok", "disk slow on db1", "login failed"]
        >>> _ = it.write("memory://doc-like", pa.table({"id": range(4), "message": texts}), text=["message"])
        >>> table = it.open("memory://doc-like")
        >>> table.more_like("a full disk", columns=["id"]).column("id").to_pylist()
        [0, 2]
        >>> row = table.to_arrow(where="id = 1").to_pylist()[0]
        >>> table.more_like(row, columns=["id"]).column("id").to_pylist()
        [3]
        """
        from indextables.table.answers import more_like

        return more_like(self, like, on=on, limit=limit, columns=columns, where=where, snippet=snippet)

    def hits(
        self,
        query: str,
        *,
        limit: int = 20,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        snippet: str | Snippet | None = None,
        time: str | None = None,
    ) -> Hits:
        """Return the best matches as something to look at: marked snippets, and a histogram over time.

        `snippet` is the text column to show, the first one by default. `time` is the column of the histogram, the
        first one of timestamps by default, one with a time zone before one without. The rows are those of `search`.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"id": [1, 2, 3], "message": ["disk full", "login ok", "disk slow"]})
        >>> _ = it.write("memory://doc-hits", rows, text=["message"])
        >>> hits = it.open("memory://doc-hits").hits("disk", limit=1)
        >>> hits
        <indextables.Hits 'disk': the best 1 of 2 rows>
        >>> hits.arrow.column("_snippet").to_pylist()
        ['<b>disk</b> full']
        """
        from indextables.table.answers import find_hits

        return find_hits(
            self, query, limit=limit, columns=columns, where=where, snippet=snippet, time_column=time
        )

    def explain(self, query: str | None = None, *, where: str | None = None) -> SearchPlan:
        """Return which splits a search or a scan reads, what skips the others, and what would make it faster.

        No split is opened for it. Printed, it is text.

        >>> import indextables as it, pyarrow as pa
        >>> rows = pa.table({"day": ["mon", "tue"], "message": ["disk full", "login ok"]})
        >>> _ = it.write("memory://doc-explain", rows, text=["message"], partition_by=["day"])
        >>> plan = it.open("memory://doc-explain").explain("disk", where="day = 'mon'")
        >>> plan.splits, plan.splits_read, plan.skipped_by
        (2, 1, {'partition values': 1})
        """
        from indextables.table.answers import explain_search

        return explain_search(self, query, where)
