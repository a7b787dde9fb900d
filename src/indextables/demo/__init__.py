"""A sample data set of log lines for the demo, the benchmarks and tests. It is the same on every machine."""

from indextables.demo.logs import (
    BROAD_WORD,
    CHUNK_ROWS,
    LOG_SCHEMA,
    RARE_WORD,
    log_batch,
    log_dataframe,
    log_table,
)
from indextables.demo.session import local_session

__all__ = [
    "BROAD_WORD",
    "CHUNK_ROWS",
    "LOG_SCHEMA",
    "RARE_WORD",
    "local_session",
    "log_batch",
    "log_dataframe",
    "log_table",
]
