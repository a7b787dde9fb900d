"""Commands of IndexTables for Scala that this release does not have. Each is an error that says what to do instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from indextables.spark.sql.tokens import Token

PRODUCT: Final = ("INDEXTABLES", "TANTIVY4SPARK")
"""The two words for this package, one as good as the other."""

_COMPANION: Final = (
    "companion indexes of Delta, Parquet and Iceberg tables are not supported. Read that table with Spark and write "
    'its rows with format("indextables")'
)
_ROOTS: Final = (
    "table roots belong to companion indexes, which are not supported: a table here holds its own rows"
)
_PROFILER: Final = (
    "there is no profiler. EXPLAIN shows what a scan evaluates, Spark's UI how long its tasks ran, and docs/metrics.md "
    "the metrics of OpenTelemetry"
)
_PREWARM_JOBS: Final = (
    "there are no prewarm jobs to list or to wait for: nothing is prewarmed in the background"
)
_SKIPPING: Final = (
    "the statistics that skip files are part of the log. INVALIDATE INDEXTABLES TRANSACTION LOG CACHE drops what is "
    "cached of it"
)
_FIGURES: Final = (
    "the figures count from the start of a process and are not reset: compare them before and after"
)

_REFUSED: Final[dict[tuple[str, ...], str]] = {
    ("BUILD", "", "COMPANION"): _COMPANION,
    ("SET", "", "TABLE", "ROOT"): _ROOTS,
    ("UNSET", "", "TABLE", "ROOT"): _ROOTS,
    ("DESCRIBE", "", "TABLE", "ROOTS"): _ROOTS,
    ("ENABLE", "", "PROFILER"): _PROFILER,
    ("DISABLE", "", "PROFILER"): _PROFILER,
    ("DESCRIBE", "", "PROFILER"): _PROFILER,
    ("RESET", "", "PROFILER"): _PROFILER,
    ("WAIT", "FOR", "", "PREWARM", "JOBS"): _PREWARM_JOBS,
    ("DESCRIBE", "", "PREWARM", "JOBS"): _PREWARM_JOBS,
    ("INVALIDATE", "", "DATA", "SKIPPING", "CACHE"): _SKIPPING,
    ("FLUSH", "", "DATA", "SKIPPING", "STATS"): _FIGURES,
}
"""The first words of such a command."""
_SPELLINGS: Final = {"": PRODUCT, "DESCRIBE": ("DESCRIBE", "DESC")}
"""The words that each of these stands for in `_REFUSED`."""


def refusal(tokens: Sequence[Token]) -> str | None:
    """Return why a command is refused, and what to do instead; None if it is not one of these.

    >>> from indextables.spark.sql.tokens import tokenize
    >>> refusal(tokenize("disable tantivy4spark profiler")).partition(".")[0]
    'there is no profiler'
    """
    for words, reason in _REFUSED.items():
        if len(tokens) > len(words) and all(
            token.is_word(*_SPELLINGS.get(word, (word,))) for token, word in zip(tokens, words, strict=False)
        ):
            return reason
    return None
