"""The Spark face: `spark.read.format("indextables")`, search operators in SQL, and how a session gets them."""

from indextables.spark._configure import configure, jar_path

__all__ = ["configure", "jar_path"]
