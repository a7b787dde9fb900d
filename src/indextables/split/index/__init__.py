"""The Tantivy index of a split: its fields, words, row ids and ranking statistics, building it, and engine errors."""

from indextables.split.index.builder import META, MIN_HEAP_BYTES, BuiltIndex, IndexBuilder, built_index
from indextables.split.index.engine import engine_call, engine_errors, is_engine_failure
from indextables.split.index.fields import (
    MAX_CUT_BYTES,
    MAX_TERM_BYTES,
    NULLS,
    ROW,
    UNINDEXED,
    IndexFields,
    analyzer,
    register_tokenizers,
    sortable_float,
)
from indextables.split.index.lengths import longest, shortest, stored_lengths
from indextables.split.index.ranking import RankingStatistics
from indextables.split.index.row_runs import RowRun, RowRuns, new_base
from indextables.split.index.string_values import strings
from indextables.split.index.tokenizers import TextTokenizer, tokenizer
from indextables.split.index.values import addresses, entry_terms, wide_term
from indextables.split.index.word_places import PlacedWord, placed_words
from indextables.split.index.words import bytes_as_written, cut_words, tokens

__all__ = [
    "MAX_CUT_BYTES",
    "MAX_TERM_BYTES",
    "META",
    "MIN_HEAP_BYTES",
    "NULLS",
    "ROW",
    "UNINDEXED",
    "BuiltIndex",
    "IndexBuilder",
    "IndexFields",
    "PlacedWord",
    "RankingStatistics",
    "RowRun",
    "RowRuns",
    "TextTokenizer",
    "addresses",
    "analyzer",
    "built_index",
    "bytes_as_written",
    "cut_words",
    "engine_call",
    "engine_errors",
    "entry_terms",
    "is_engine_failure",
    "longest",
    "new_base",
    "placed_words",
    "register_tokenizers",
    "shortest",
    "sortable_float",
    "stored_lengths",
    "strings",
    "tokenizer",
    "tokens",
    "wide_term",
]
