"""Tables: open, write, read and search them, in this process or in distributed tasks."""

from indextables.split import Snippet
from indextables.table.aggregates import ColumnStats
from indextables.table.aggregation import (
    COUNT_ROWS,
    Aggregate,
    Function,
    GroupKey,
    Measure,
    is_supported,
    result_fields,
)
from indextables.table.alterations import Alteration, alter_table
from indextables.table.api import open_table, write_table
from indextables.table.append_rules import check_partitioning
from indextables.table.bucket_keys import BucketKeys, NumberBuckets, Range, RangeBuckets, TimeBuckets
from indextables.table.changes import ChangeSet
from indextables.table.conditions import ANY_FIELDS, parse_condition
from indextables.table.driver_answers import answer_on_driver
from indextables.table.driver_totals import may_open, sums_as_doubles
from indextables.table.handle import Table
from indextables.table.hits import Hits, bucket_width, text_columns
from indextables.table.inspection import (
    DISK_CACHE_SCHEMA,
    ENVIRONMENT_SCHEMA,
    STORAGE_SCHEMA,
    FlushedCaches,
    data_skipping_stats,
    disk_cache_rows,
    disk_cache_stats,
    environment,
    environment_rows,
    flush_caches,
    skipping_rows,
    storage_rows,
    storage_stats,
)
from indextables.table.leases import SPLITS_SEARCHED
from indextables.table.many_terms import TERM, TermsTask, check_terms, run_terms_task, terms_schema, to_terms
from indextables.table.newest import newest_rows
from indextables.table.overview import Overview, find_overview
from indextables.table.paging import page_token
from indextables.table.plain_values import plain_rows
from indextables.table.prewarming import (
    DEFAULT_THREADS,
    MAX_THREADS,
    Prewarmed,
    PrewarmTask,
    plan_prewarm,
    run_prewarm_task,
)
from indextables.table.replacements import Replacement
from indextables.table.row_deletes import (
    RowChange,
    TaskDeletes,
    commit_deletes,
    delete_where,
    discard_deletes,
    plan_delete,
    repeat_after_merges,
    run_delete_task,
    whole_files,
)
from indextables.table.row_updates import (
    STATEMENTS,
    RowUpdatePlan,
    UpdatedRows,
    abort_row_updates,
    commit_row_updates,
    run_update_task,
)
from indextables.table.scan import (
    ROWS_FETCHED,
    ScanPlan,
    ScanRequest,
    ScanTask,
    SplitRef,
    check_predicate,
    plan_scan,
    scan_schema,
)
from indextables.table.scan_tasks import run_scan_task
from indextables.table.score_lines import score_text
from indextables.table.search_plan import SearchPlan
from indextables.table.skipping import (
    SKIPPING_SCHEMA,
    figures_in,
    record_scan,
    skipping_counts,
    skipping_figures,
    skipping_table,
)
from indextables.table.top_rows import EXPLANATION, needs_scores, with_corpus
from indextables.table.version_differences import (
    FileDifference,
    file_differences,
    row_differences,
)
from indextables.table.write import (
    TaskResult,
    WriteMode,
    WritePlan,
    abort_write,
    build_write_plan,
    commit_write,
    distribute_rows,
    find_snapshot,
    parse_mode,
    plan_write,
    run_write_task,
)

__all__ = [
    "ANY_FIELDS",
    "COUNT_ROWS",
    "DEFAULT_THREADS",
    "DISK_CACHE_SCHEMA",
    "ENVIRONMENT_SCHEMA",
    "EXPLANATION",
    "MAX_THREADS",
    "ROWS_FETCHED",
    "SKIPPING_SCHEMA",
    "SPLITS_SEARCHED",
    "STATEMENTS",
    "STORAGE_SCHEMA",
    "TERM",
    "Aggregate",
    "Alteration",
    "BucketKeys",
    "ChangeSet",
    "ColumnStats",
    "FileDifference",
    "FlushedCaches",
    "Function",
    "GroupKey",
    "Hits",
    "Measure",
    "NumberBuckets",
    "Overview",
    "PrewarmTask",
    "Prewarmed",
    "Range",
    "RangeBuckets",
    "Replacement",
    "RowChange",
    "RowUpdatePlan",
    "ScanPlan",
    "ScanRequest",
    "ScanTask",
    "SearchPlan",
    "Snippet",
    "SplitRef",
    "Table",
    "TaskDeletes",
    "TaskResult",
    "TermsTask",
    "TimeBuckets",
    "UpdatedRows",
    "WriteMode",
    "WritePlan",
    "abort_row_updates",
    "abort_write",
    "alter_table",
    "answer_on_driver",
    "bucket_width",
    "build_write_plan",
    "check_partitioning",
    "check_predicate",
    "check_terms",
    "commit_deletes",
    "commit_row_updates",
    "commit_write",
    "data_skipping_stats",
    "delete_where",
    "discard_deletes",
    "disk_cache_rows",
    "disk_cache_stats",
    "distribute_rows",
    "environment",
    "environment_rows",
    "figures_in",
    "file_differences",
    "find_overview",
    "find_snapshot",
    "flush_caches",
    "is_supported",
    "may_open",
    "needs_scores",
    "newest_rows",
    "open_table",
    "page_token",
    "parse_condition",
    "parse_mode",
    "plain_rows",
    "plan_delete",
    "plan_prewarm",
    "plan_scan",
    "plan_write",
    "record_scan",
    "repeat_after_merges",
    "result_fields",
    "row_differences",
    "run_delete_task",
    "run_prewarm_task",
    "run_scan_task",
    "run_terms_task",
    "run_update_task",
    "run_write_task",
    "scan_schema",
    "score_text",
    "skipping_counts",
    "skipping_figures",
    "skipping_rows",
    "skipping_table",
    "storage_rows",
    "storage_stats",
    "sums_as_doubles",
    "terms_schema",
    "text_columns",
    "to_terms",
    "whole_files",
    "with_corpus",
    "write_table",
]
