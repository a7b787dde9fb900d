"""IndexTables: search tables for Spark, and for plain Python."""
