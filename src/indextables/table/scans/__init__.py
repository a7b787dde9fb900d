"""Scans: plans, tasks, ranking, open splits, and answers on the driver."""

from indextables.table.scans.best_rows import (
    EXPLANATION,
    OpenReaders,
    Ranks,
    fetch_ranked,
    needs_scores,
    top_rows,
    with_corpus,
)
from indextables.table.scans.driver_answers import answer_on_driver
from indextables.table.scans.driver_totals import may_open, sums_as_doubles
from indextables.table.scans.leases import REQUESTS, SPLITS_SEARCHED, SplitLeases
from indextables.table.scans.open_readers import reader_cache
from indextables.table.scans.paging import PageIdentity, page_token, token_of, with_token
from indextables.table.scans.prewarming import (
    DEFAULT_THREADS,
    MAX_THREADS,
    Prewarmed,
    PrewarmTask,
    plan_prewarm,
    run_prewarm_task,
    total_prewarmed,
)
from indextables.table.scans.scan import (
    ROWS_FETCHED,
    ScanPlan,
    ScanRequest,
    ScanTask,
    SplitRef,
    check_predicate,
    count_from_log,
    count_rows,
    plan_scan,
    scan_schema,
    split_hits,
    split_refs,
    split_rows,
    split_values,
)
from indextables.table.scans.scan_tasks import run_scan_task
from indextables.table.scans.score_lines import score_text
from indextables.table.scans.skipping import (
    SKIPPING_SCHEMA,
    figures_in,
    record_scan,
    skipping_counts,
    skipping_figures,
    skipping_table,
)

__all__ = [
    "DEFAULT_THREADS",
    "EXPLANATION",
    "MAX_THREADS",
    "REQUESTS",
    "ROWS_FETCHED",
    "SKIPPING_SCHEMA",
    "SPLITS_SEARCHED",
    "OpenReaders",
    "PageIdentity",
    "PrewarmTask",
    "Prewarmed",
    "Ranks",
    "ScanPlan",
    "ScanRequest",
    "ScanTask",
    "SplitLeases",
    "SplitRef",
    "answer_on_driver",
    "check_predicate",
    "count_from_log",
    "count_rows",
    "fetch_ranked",
    "figures_in",
    "may_open",
    "needs_scores",
    "page_token",
    "plan_prewarm",
    "plan_scan",
    "reader_cache",
    "record_scan",
    "run_prewarm_task",
    "run_scan_task",
    "scan_schema",
    "score_text",
    "skipping_counts",
    "skipping_figures",
    "skipping_table",
    "split_hits",
    "split_refs",
    "split_rows",
    "split_values",
    "sums_as_doubles",
    "token_of",
    "top_rows",
    "total_prewarmed",
    "with_corpus",
    "with_token",
]
