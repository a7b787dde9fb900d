"""Spark support: `spark.read.format("indextables")`, search operators in SQL, and the set-up of a session."""

from indextables.spark._configure import configure, jar_path

__all__ = ["configure", "jar_path"]
