"""Splits, the data files of a table: rows in Parquet and their Tantivy index in one container.

- `container`: the layout of the file, its members and their checksums
- `index`: fields, words and the builder of the Tantivy index
- `index_cache`: indexes on local disk, extracted and verified
- `query`: the query language
- `search`: planning, searching, scores and snippets of one split
- `foreign`: splits of other writers
- `merge`: several splits become one
"""

from indextables.split.assembly import FinishedSplit
from indextables.split.container import Component, components, open_bundle
from indextables.split.deleted_rows import DeltaLogRef, RestoredRows, load_deleted_rows, store_delta_log
from indextables.split.index import RankingStatistics, placed_words, tokens
from indextables.split.index_cache import (
    CacheLooks,
    CacheUsage,
    FlushedEntries,
    cache_usage,
    flush_entries,
    forget_open_indexes,
)
from indextables.split.merge import MergedSplit, MergeSource, merge_splits
from indextables.split.output import RowRequest, output_field
from indextables.split.query import check_text_query, clause_text
from indextables.split.reader import BLOOM_SKIPS, SplitReader, open_split
from indextables.split.search import (
    EXPLANATION_TYPE,
    NO_HITS,
    Corpus,
    Hits,
    PossibleScores,
    Snippet,
    Weighting,
    positive_text_queries,
)
from indextables.split.writer import SplitWriter

__all__ = [
    "BLOOM_SKIPS",
    "EXPLANATION_TYPE",
    "NO_HITS",
    "CacheLooks",
    "CacheUsage",
    "Component",
    "Corpus",
    "DeltaLogRef",
    "FinishedSplit",
    "FlushedEntries",
    "Hits",
    "MergeSource",
    "MergedSplit",
    "PossibleScores",
    "RankingStatistics",
    "RestoredRows",
    "RowRequest",
    "Snippet",
    "SplitReader",
    "SplitWriter",
    "Weighting",
    "cache_usage",
    "check_text_query",
    "clause_text",
    "components",
    "flush_entries",
    "forget_open_indexes",
    "load_deleted_rows",
    "merge_splits",
    "open_bundle",
    "open_split",
    "output_field",
    "placed_words",
    "positive_text_queries",
    "store_delta_log",
    "tokens",
]
