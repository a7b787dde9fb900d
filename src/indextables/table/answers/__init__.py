"""What a handle answers: searches, like rows, many terms, figures of a column, views of them."""

from indextables.table.answers.aggregates import (
    ColumnStats,
    check_values,
    column_stats,
    histogram,
    top_values,
)
from indextables.table.answers.around import RowPlace, rows_around
from indextables.table.answers.hits import (
    Hits,
    bucket_width,
    find_hits,
    text_columns,
    time_columns,
    to_polars,
)
from indextables.table.answers.likeness import more_like
from indextables.table.answers.many_terms import (
    TERM,
    TermsTask,
    check_terms,
    run_terms_task,
    terms_schema,
    to_terms,
)
from indextables.table.answers.newest import newest_rows
from indextables.table.answers.notebook_views import table_view
from indextables.table.answers.overview import Overview, find_overview
from indextables.table.answers.search_plan import SearchPlan, explain_search
from indextables.table.answers.searching import SearchArguments, best_rows, search_table

__all__ = [
    "TERM",
    "ColumnStats",
    "Hits",
    "Overview",
    "RowPlace",
    "SearchArguments",
    "SearchPlan",
    "TermsTask",
    "best_rows",
    "bucket_width",
    "check_terms",
    "check_values",
    "column_stats",
    "explain_search",
    "find_hits",
    "find_overview",
    "histogram",
    "more_like",
    "newest_rows",
    "rows_around",
    "run_terms_task",
    "search_table",
    "table_view",
    "terms_schema",
    "text_columns",
    "time_columns",
    "to_polars",
    "to_terms",
    "top_values",
]
