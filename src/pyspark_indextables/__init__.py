"""Found by Spark through its name: registers the format "indextables" in every session."""

from indextables.spark.source import IndexTablesDataSource as DefaultSource

__all__ = ["DefaultSource"]
