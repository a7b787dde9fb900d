"""Planning on large tables, compared with deltalake, pyiceberg and plain Parquet."""
