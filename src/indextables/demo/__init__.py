"""A made-up but realistic log data set, the same on every machine: for trying things out and for measuring."""

from indextables.demo.logs import BROAD_WORD, LOG_SCHEMA, RARE_WORD, log_batch, log_dataframe, log_table

__all__ = ["BROAD_WORD", "LOG_SCHEMA", "RARE_WORD", "log_batch", "log_dataframe", "log_table"]
